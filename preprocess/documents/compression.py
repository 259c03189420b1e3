"""Compressed files read as what they hold; a file that is damaged or cut short is never taken for a whole one."""

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard

from alibert_common.errors import InputError
from alibert_common.input_log import InputLog

CHUNK = 1 << 20
HEADER = 18  # bytes that a frame header has at most
SKIPPABLE, REPEATED = b"\x2a\x4d\x18", 1  # the magic number of a skippable frame, without its first byte; a block type
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


class FirstBytes(io.RawIOBase):
    """What is left of an open file, up to `size` bytes."""

    def __init__(self, handle: IO[bytes], size: int):
        self.handle, self.left = handle, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self.handle.read(min(len(buffer), self.left))
        buffer[: len(data)] = data
        self.left -= len(data)
        return len(data)


class ZstandardFile(io.RawIOBase):
    """The bytes of zstandard frames, one after the other. Raises EOFError for a last frame that is cut short, which the
    library's own reader takes for the end."""

    def __init__(self, handle: IO[bytes]):
        self.handle = handle
        self.frame = zstandard.ZstdDecompressor().decompressobj()
        self.begun = False
        self.ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while not self.ready:
            rest = self.frame.unused_data if self.frame.eof else b""
            if self.frame.eof:
                self.frame, self.begun = zstandard.ZstdDecompressor().decompressobj(), False
            data = rest or self.handle.read(CHUNK)
            if not data:
                if self.begun:
                    raise EOFError("its last frame has no end")
                return 0
            self.begun = True
            self.ready = memoryview(self.frame.decompress(data))
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


FORMS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".zst": lambda handle: io.BufferedReader(ZstandardFile(handle), CHUNK),
}


def bare(path: Path) -> Path:
    """The path without the ending of a compression: notes.jsonl of notes.jsonl.gz."""
    return path.with_suffix("") if path.suffix in FORMS else path


@contextmanager
def open_bytes(path: Path, log: InputLog | None = None) -> Iterator[IO[bytes]]:
    """The file's bytes, decompressed as its name says; damage raises InputError in the block that reads it."""
    with (log or InputLog()).open(path) as stored, _unpacked(path, stored) as handle:
        yield handle


@contextmanager
def open_part(path: Path, start: int, end: int | None = None) -> Iterator[IO[bytes]]:
    """The same from one stored byte to another, or to the end; of zstandard, a frame begins at both."""
    with open(path, "rb", CHUNK) as stored:
        stored.seek(start)
        part = stored if end is None else io.BufferedReader(FirstBytes(stored, end - start), CHUNK)
        with _unpacked(path, part) as handle:
            yield handle


@contextmanager
def _unpacked(path: Path, stored: IO[bytes]) -> Iterator[IO[bytes]]:
    try:
        with FORMS[path.suffix](stored) if path.suffix in FORMS else stored as handle:
            yield handle
    except DAMAGE as error:
        raise InputError(f"{path}: damaged or cut short ({error}); get the file again.") from None


def frames(path: Path) -> list[tuple[int, int]]:
    """The first byte and the end of each frame of a zstandard file; none where something else is in it, or it is cut
    short. Nothing is decompressed: only headers are read, 3 bytes for a block of some 128 KB of text.

    https://www.rfc-editor.org/rfc/rfc8878#section-3
    """
    found, start, size = list[tuple[int, int]](), 0, path.stat().st_size
    with open(path, "rb") as stored:
        while start < size:
            end = _end_of_frame(stored.fileno(), start, size)
            if not start < end <= size:
                return []
            found.append((start, end))
            start = end
    return found


def _end_of_frame(file: int, start: int, size: int) -> int:
    """The place behind a frame, which is behind the end of the file if it is cut short; 0 for what is no frame."""
    head = os.pread(file, HEADER, start)
    if head[1:4] == SKIPPABLE and head[0] >> 4 == 5:
        return start + 8 + int.from_bytes(head[4:8], "little")
    try:
        place = start + zstandard.frame_header_size(head)
        checksum = 4 * zstandard.get_frame_parameters(head).has_checksum
    except zstandard.ZstdError:
        return 0
    last = False
    while not last and place < size:
        block = int.from_bytes(os.pread(file, 3, place), "little")
        last, kind = bool(block & 1), block >> 1 & 3
        place += 3 + (1 if kind == REPEATED else block >> 3)
    return place + checksum if last else size + 1
