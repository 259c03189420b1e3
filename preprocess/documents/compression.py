"""Compressed files read as what they hold; a file that is damaged or cut short is never taken for a whole one."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import zstandard

from alibert_common.errors import InputError
from alibert_common.input_log import InputLog

CHUNK = 1 << 20
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


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
    with (log or InputLog()).open(path) as stored:
        try:
            with FORMS[path.suffix](stored) if path.suffix in FORMS else stored as handle:
                yield handle
        except DAMAGE as error:
            raise InputError(f"{path}: damaged or cut short ({error}); get the file again.") from None
