"""Reading and writing files the way every stage does it: one clear sentence on bad input, outputs whole or not at all."""

import errno
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Callable, Iterator


class InputError(ValueError):
    """The user's input cannot be used. The message is one sentence: the file, the place in it, and the remedy."""


def exit_with_sentence(main: Callable[[], None]) -> None:
    """Run a command's `main`; on bad input print its one sentence on stderr and exit with status 2."""
    try:
        main()
    except InputError as error:
        sys.exit(_say(error))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOTDIR):
            raise
        sys.exit(_say(describe_os_error(error)))


def describe_os_error(error: OSError) -> str:
    """One sentence for the operating system's refusals a user can mend: full disk, no permission, missing path."""
    remedy = {
        errno.ENOSPC: "free some space and run the command again",
        errno.EDQUOT: "free some of your quota and run the command again",
        errno.EACCES: "check the permissions of this path",
        errno.EROFS: "choose an output on a file system that can be written",
        errno.ENOENT: "check that this path exists",
        errno.ENOTDIR: "check that every parent of this path is a directory",
    }.get(error.errno, "see the operating system's documentation")
    return f"{error.filename or 'output'}: {error.strerror}; {remedy}; nothing was left half-written."


def _say(message: object) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2


@contextmanager
def written_whole(path: os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Open a file that appears under `path` only when the block ends without an error.

    Writes beside `path`, flushes to the disk, then renames. On any error the partial file is removed and what stood
    under `path` before is left as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(aside, mode, encoding=None if "b" in mode else "utf-8", newline=None if "b" in mode else "\n") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(aside, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def directory_written_whole(path: os.PathLike) -> Iterator[Path]:
    """Yield an empty directory that takes the place of `path` only when the block ends without an error."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    try:
        yield aside
        os.chmod(aside, 0o777 & ~_umask())
        if path.exists():
            shutil.rmtree(path)
        os.replace(aside, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
