"""Files as every stage reads and writes them: one clear sentence on bad input, outputs whole or not at all."""

import errno
import hashlib
import io
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, NamedTuple

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# What the operating system refuses and a user can mend.
REMEDIES = {
    errno.ENOSPC: "free some space and run the command again",
    errno.EDQUOT: "free some of your quota and run the command again",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f`) and run the command again",
    errno.EACCES: "check the permissions of this path",
    errno.EPERM: "check the permissions of this path",
    errno.EROFS: "choose an output on a file system that can be written",
    errno.ENOENT: "check that this path exists",
    errno.ENOTDIR: "check that every parent of this path is a directory",
    errno.EEXIST: "check that every parent of the output is a directory",
    errno.EISDIR: "give the path of a file, not of a directory",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class InputError(ValueError):
    """The user's input cannot be used. The message is one sentence: the file, the place in it, and the remedy."""


def exit_with_sentence(main: Callable[[], None]) -> None:
    """Run a command's `main`; on bad input print its one sentence on stderr and exit with status 2.

    A command that is terminated, or whose terminal closes, ends as on Ctrl-C: nothing that it began goes on without it.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # else nohup has it ignored, or a caller its own way
            signal.signal(number, signal.default_int_handler)
    try:
        main()
    except InputError as error:
        sys.exit(_say(error))
    except KeyboardInterrupt:
        print("stopped; give the same command again", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        sys.exit(_say(describe_os_error(error)))


def describe_os_error(error: OSError) -> str:
    """One sentence for the operating system's refusals a user can mend: full disk, no permission, missing path."""
    remedy = REMEDIES.get(error.errno, "see the operating system's documentation")
    return f"{error.filename or 'output'}: {error.strerror}; {remedy}; no output was left half-written."


def _say(message: object) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2


def readable(path: object) -> str:
    """A path that can be written as UTF-8: bytes of it that are none are spelt \\xe9."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class HashedFile(io.RawIOBase):
    """A file that knows how many of its bytes were read and their SHA-256, without a second pass over it."""

    def __init__(self, path: os.PathLike, tell: Callable[[int], None]):
        self.file = open(path, "rb", buffering=0)
        self.tell_read = tell  # of bytes, as they are read
        self.bytes_read = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
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

    def __init__(self):
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


@contextmanager
def written_whole(path: os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Open a file that appears under `path` only when the block ends without an error.

    Writes beside `path`, flushes to the disk, then renames. On any error the partial file is removed and what stood
    under `path` before is left as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the path of the file to write.")
    # A number of a process is another one's on another node.
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with open(aside, mode, **text) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(aside, path)
    except OSError as error:
        error.filename = path if error.filename in (None, str(aside)) else error.filename
        raise
    finally:
        aside.unlink(missing_ok=True)


class Marker(NamedTuple):
    """What an older output of a command is known by: a file of it, and a text inside that file; `sometimes` are the
    files, as patterns, that only some of its outputs have."""

    file: str
    text: str
    sometimes: tuple[str, ...] = ()

    @classmethod
    def of_command(cls, name: str) -> "Marker":
        """The manifest.json of `python -m preprocess.<name>`."""
        return cls("manifest.json", f'"command": "{name}"')

    def is_in(self, directory: Path) -> bool:
        """Whether the directory is such an output."""
        file = directory / self.file
        return file.is_file() and self.text in file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def directory_written_whole(path: os.PathLike, marker: Marker) -> Iterator[Path]:
    """Yield an empty directory that takes the place of `path` only when the block ends without an error.

    An older output under `path` is known by its `marker`; any other directory that is not empty is refused with
    InputError, so that a mistyped `--output` never removes a user's files. So is, at the end, an older output with
    files that the new one does not have, but for those of `marker.sometimes`: who put them there is not known.
    """
    path = Path(path)
    refuse_foreign(path, marker)
    aside = _make_aside(path)
    try:
        yield aside
        refuse_others(path, files_in(aside), "this output does not have", marker.sometimes)
        _open_to_others(aside)
        flush_to_disk(aside)
        take_place(aside, path)
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(aside)):
            error.filename = path
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def refuse_foreign(path: Path, marker: Marker) -> None:
    """Raise InputError when `path` cannot be replaced: a file, the working directory, another command's output."""
    if path.is_file():
        raise InputError(f"{path}: is a file; give the path of a directory to write.")
    if path.is_dir() and (path.resolve() == Path.cwd() or os.path.ismount(path)):
        raise InputError(f"{path}: the working directory or a mount point cannot be replaced; name a folder inside it.")
    if path.is_dir() and any(path.iterdir()) and not marker.is_in(path):
        raise InputError(
            f"{path}: holds other files than an older output of this command, and they would be replaced; "
            f"choose a new directory."
        )


def files_in(directory: Path) -> dict[str, int]:
    """{name from the directory on: bytes} of all files in it, in the order of their names; a link is a file of the size
    of what it leads to, one to nothing of -1."""
    found = sorted(path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(directory).as_posix(): path.stat().st_size if path.exists() else -1 for path in found}


def refuse_others(path: Path, own: Collection[str], why: str, patterns: Iterable[str] = ()) -> None:
    """Raise InputError when the directory `path`, which is to be replaced, holds files that are none of its `own` and
    match none of the `patterns`."""
    others = [name for name in files_in(path) if name not in own and not any(fnmatch(name, one) for one in patterns)]
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise InputError(
            f"{path}: holds {readable(others[0])}{more}, which {why} and which would be removed; move it elsewhere, "
            "or choose another --output."
        )


def _make_aside(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    except OSError as error:
        error.filename = path  # the user does not know the name of the partial directory
        raise


def flush_to_disk(directory: Path) -> None:
    """Return when every file of the directory is on the disk."""
    for file in directory.rglob("*"):
        if file.is_file():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())


def take_place(new: Path, path: Path) -> None:
    """Rename `new` to `path`; what stood there is removed only once the new directory is in its place."""
    old = Path(f"{new}.old")
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)  # of a command that was killed here
        os.rename(path, old)
    try:
        os.rename(new, path)
    except OSError:
        if old.exists():
            os.rename(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _open_to_others(directory: Path) -> None:
    """Give it all the rights that the umask leaves: mkdtemp and safetensors give some to the owner alone, which would
    hide a model from the colleagues it is meant for."""
    os.umask(mask := os.umask(0))
    for path in (directory, *directory.rglob("*")):
        if not path.is_symlink():
            path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
