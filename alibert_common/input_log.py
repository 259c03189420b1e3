"""The input files of a stage: how much was read, and the SHA-256 of each."""

import hashlib
import io
import os
from collections.abc import Callable
from typing import IO, Any

from alibert_common.errors import readable


class HashedFile(io.RawIOBase):
    """A file that knows how many of its bytes were read and their SHA-256, without a second pass over it."""

    def __init__(self, path: os.PathLike, tell: Callable[[int], None]):
        self.file = open(path, "rb", buffering=0)
        self.tell_read = tell  # of bytes, as they are read
        self.bytes_read = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.file.readinto(buffer)
        self.bytes_read += count
        self.tell_read(count)
        self.digest.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        self.file.close()
        super().close()


class InputLog:
    """The input files read so far, for progress bars and for the `inputs` part of a manifest."""

    def __init__(self) -> None:
        self.files: dict[str, HashedFile] = {}
        self.bytes_read = 0  # so far, all files together

    def open(self, path: os.PathLike) -> IO[bytes]:
        """Open a file for one reading from start to end; a second reading of the same path replaces the first."""
        self.files[str(path)] = HashedFile(path, self._count)
        return io.BufferedReader(self.files[str(path)], buffer_size=1 << 20)  # 1 MB: few calls, little memory

    def _count(self, count: int) -> None:
        self.bytes_read += count

    def manifest(self) -> list[dict]:
        """`{"path", "bytes", "sha256"}` of every file, in the order of reading; call when all are read to their end."""
        return [
            {"path": readable(path), "bytes": file.bytes_read, "sha256": file.digest.hexdigest()}
            for path, file in self.files.items()
        ]
