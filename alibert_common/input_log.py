"""The input files of a stage: how much was read, and the SHA-256 of each."""

import hashlib
import io
import os
from typing import IO, Any

from alibert_common.errors import readable


class HashedFile(io.FileIO):
    """A file that knows how many of its bytes were read and their SHA-256, without a second pass over it."""

    read = io.RawIOBase.read  # type: ignore[assignment]  # this and the next call readinto
    readall = io.RawIOBase.readall

    def __init__(self, path: os.PathLike, log: "InputLog"):
        super().__init__(path)
        self.log, self.bytes_read, self.digest = log, 0, hashlib.sha256()

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self.bytes_read += count
        self.log.bytes_read += count
        self.digest.update(memoryview(buffer)[:count])
        return count


class InputLog:
    """The input files read so far, for progress bars and for the `inputs` part of a manifest."""

    def __init__(self) -> None:
        self.files: dict[str, HashedFile] = {}
        self.bytes_read = 0  # so far, all files together

    def open(self, path: os.PathLike) -> IO[bytes]:
        """Open a file for one reading from start to end; a second reading of the same path replaces the first."""
        self.files[str(path)] = HashedFile(path, self)
        return io.BufferedReader(self.files[str(path)], buffer_size=1 << 20)  # 1 MB: few calls, little memory

    def manifest(self) -> list[dict]:
        """`{"path", "bytes", "sha256"}` of every file, in the order of reading; call when all are read to their end."""
        return [
            {"path": readable(path), "bytes": file.bytes_read, "sha256": file.digest.hexdigest()}
            for path, file in self.files.items()
        ]
