"""Bad input is one sentence, text is read as it stands, outputs appear whole or not at all."""

import errno
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# What a user can mend, with how; any other OSError is a bug and keeps its traceback.
REMEDIES = {
    errno.ENOSPC: "free some space and run the command again",
    errno.EDQUOT: "free some of your quota and run the command again",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f`) and run the command again",
    errno.EACCES: "check the permissions of this path",
    errno.EPERM: "check the permissions of this path",
    errno.EROFS: "choose an output on a file system that can be written",
    errno.ENOENT: "check that this path exists",
    errno.ENOTDIR: "check that every parent of this path is a directory",
    errno.EEXIST: "choose an output that is not a file",
    errno.EISDIR: "give the path of a file, not of a directory",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class InputError(ValueError):
    """The user's input cannot be used. The message is one sentence: the file, the place in it, and the remedy."""


def exit_with_sentence(main: Callable[[], None]) -> None:
    """Run a command's `main`; on bad input print its one sentence on stderr and exit with status 2."""
    try:
        main()
    except InputError as error:
        sys.exit(_say(str(error)))
    except KeyboardInterrupt:
        print("stopped; give the same command again", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        sys.exit(_say(f"{error.filename or 'output'}: {error.strerror}; {REMEDIES[error.errno]}."))


def _say(sentence: str) -> int:
    print(f"error: {sentence}", file=sys.stderr)
    return 2


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, every character kept (line ends and a byte order mark too: offsets count them).

    Raises InputError naming the line and the byte of the first character that is not UTF-8.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path.")
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, error.start - raw.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{path}, line {line}: byte {byte} (0x{raw[error.start]:02x}) is not UTF-8; convert the file, "
            "for example with iconv -f latin1 -t utf-8."
        ) from None


def read_json(file: Path) -> dict:
    """An object. Raises InputError for a file that is not JSON."""
    try:
        content = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise InputError(f"{file}, line {error.lineno}: is not JSON ({error.msg}); make it anew.") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: holds no JSON object; make it anew.")
    return content


def files_of(path: Path, *suffixes: str) -> list[Path]:
    """The file itself, or the files of a folder that end in one of `suffixes`, at any depth, sorted; no hidden ones."""
    if path.is_file():
        return [path]
    found = (file for file in path.rglob("*") if file.suffix in suffixes)
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))


def named(arguments: list[str], option: str, default_names: bool) -> dict[str, Path]:
    """{name: path} of NAME=PATH; with default_names a PATH alone is named as its last part.

    With default_names, what is there is a path, though it has a = in it: outputs of changed settings have (epochs=3).

    Raises InputError for a name that is missing or there twice.
    """
    found: dict[str, Path] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if default_names and (not equals or Path(argument).exists()):
            name, path = Path(argument).resolve().name, argument
        if not name or not path:
            raise InputError(f"{option} {argument}: write NAME=PATH.")
        if name in found:
            raise InputError(f"{option} {argument}: {name!r} is there twice; write NAME=PATH with another name.")
        found[name] = Path(path)
    return found


@contextmanager
def written_whole(path: Path, mode: str = "w") -> Iterator[IO]:
    """Open a file that appears under `path` only when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the path of the file to write.")
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(aside, mode, encoding=None if "b" in mode else "utf-8") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(aside, path)
    except OSError as error:
        error.filename = str(path) if error.filename in (None, str(aside)) else error.filename
        raise
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def directory_written_whole(path: Path) -> Iterator[Path]:
    """Yield an empty directory that takes the place of `path` only when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    try:
        yield aside
        _open_to_others(aside)
        _flush_to_disk(aside)
        _take_place(aside, path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _open_to_others(directory: Path) -> None:
    """Give it all the rights that the umask leaves: mkdtemp and safetensors give some to the owner alone, which would
    hide a model from the colleagues it is meant for."""
    os.umask(mask := os.umask(0))
    for path in (directory, *directory.rglob("*")):
        if not path.is_symlink():
            path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Waits until nobody else who asked for it is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"{folder}: another command is writing it; waiting for its end", flush=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks


def _flush_to_disk(directory: Path) -> None:
    for file in directory.rglob("*"):
        if file.is_file():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())


def _take_place(new: Path, path: Path) -> None:
    """Rename `new` to `path`; what stood there is removed only once the new directory is in its place."""
    old = Path(f"{new}.old")
    if path.exists():
        path.rename(old)
    try:
        new.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def write_json(path: Path, content: object) -> None:
    """Write `content` as indented JSON, whole or not at all."""
    with written_whole(path) as handle:
        json.dump(content, handle, ensure_ascii=False, indent=2)
        handle.write("\n")
