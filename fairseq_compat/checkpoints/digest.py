"""Checkpoints with a digest behind them: one that is not as it was written is known before anything in it is read.

The file is what torch writes, then SEAL, then the SHA-256 of all bytes before SEAL. torch and stock fairseq read it as
any other: they look for the end of a zip archive in the last 64 kB of a file. Checkpoints without a digest, those of
stock fairseq, are read as ever. It tells damage, not malice: anybody can compute a digest.
"""

import hashlib
import os
import zlib
from typing import IO
from zipfile import BadZipFile, ZipFile

SEAL = b"SHA-256:"
LENGTH = len(SEAL) + hashlib.sha256().digest_size
MARK = "sealed by fairseq_compat"  # among what is saved: such a checkpoint without a digest has lost its end
ZIP_BEGINS, ZIP_ENDS, ZIP_END_LENGTH = b"PK", b"PK\x05\x06", 22  # torch writes no comment behind the last record
PICKLE_BEGINS = b"\x80"  # files of torch before 1.6, and foreign ones: torch judges them
CHUNK = 1 << 24


class SealingFile:
    """A file being written from its start to its end, and the digest of what was written. torch's writer never goes
    back."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        """All of it."""
        self.file.write(data)
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """What torch calls at its end."""
        self.file.flush()

    def seal(self) -> None:
        """Write the digest, and everything to the disk."""
        self.file.write(SEAL + self.digest.digest())
        self.file.flush()
        os.fsync(self.file.fileno())


def has_digest(file: IO[bytes]) -> bool:
    """Whether a digest stands at the end of an open file, right or wrong."""
    return _tail(file, LENGTH).startswith(SEAL)


def damage(file: IO[bytes]) -> str | None:
    """What is wrong with an open file as far as its bytes tell, None if nothing. Nothing in it is unpickled."""
    seal = _tail(file, LENGTH)
    if seal.startswith(SEAL):
        size = file.seek(0, os.SEEK_END) - LENGTH
        return None if _digest(file, size) == seal[len(SEAL) :] else "its bytes are not those that were written"
    file.seek(0)
    begin = file.read(len(ZIP_BEGINS))
    if begin.startswith(PICKLE_BEGINS) and len(begin) > 1:
        return None
    if begin != ZIP_BEGINS:
        return "its beginning is not that of a checkpoint" if begin else "it is empty"
    if not _tail(file, ZIP_END_LENGTH).startswith(ZIP_ENDS):
        return "its end is missing, or something else stands there"
    try:
        with ZipFile(file) as archive:
            pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            marked = any(MARK.encode() in archive.read(name) for name in pickles)
    except (BadZipFile, zlib.error, RuntimeError, OSError, ValueError, EOFError) as error:
        return str(error) or type(error).__name__
    return "its digest is missing" if marked else None


def _digest(file: IO[bytes], size: int) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(min(size, CHUNK)):
        digest.update(chunk)
        size -= len(chunk)
    return digest.digest()


def _tail(file: IO[bytes], length: int) -> bytes:
    """The last bytes of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - length))
    return file.read(length)
