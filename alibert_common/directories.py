"""Output directories that appear whole or not at all, and never replace what a user put there."""

import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError, readable
from alibert_common.rights import make_folder, set_rights


class Marker(NamedTuple):
    """What identifies an older output of a command: a file, and a text inside it.

    `sometimes` holds patterns of files that only some outputs have.
    """

    file: str
    text: str
    sometimes: tuple[str, ...] = ()

    @classmethod
    def of_command(cls, name: str) -> "Marker":
        """Return the marker of `python -m preprocess.<name>`, in its manifest.json."""
        return cls("manifest.json", f'"command": "{name}"')

    def is_in(self, directory: Path) -> bool:
        """Return whether the directory is such an output."""
        file = directory / self.file
        return file.is_file() and self.text in file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def directory_written_whole(path: os.PathLike, marker: Marker | None = None, shared: bool = False) -> Iterator[Path]:
    """Yield an empty directory that takes the place of `path` only when the block ends without an error.

    `marker` identifies an older output, which is replaced. InputError refuses any other directory that is not empty, so
    a mistyped `--output` never removes a user's files. It also refuses an older output with files that the new one
    lacks, except those of `marker.sometimes`. Without a marker any directory is replaced. rights.py explains `shared`.
    """
    path = Path(path).resolve() if Path(path).is_symlink() else Path(path)  # a link stays, as on clusters' scratch
    if marker:
        refuse_foreign(path, marker)
    make_folder(path.parent, shared)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        aside.mkdir(mode=0o700)
        yield aside
        if marker:
            refuse_others(path, files_in(aside), "this output does not have", marker.sometimes)
        set_rights(aside, shared)
        flush_to_disk(aside)
        take_place(aside, path)
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(aside)):
            error.filename = path  # the user does not know the name of the partial directory
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
            "choose a new directory."
        )


def files_in(directory: Path) -> dict[str, int]:
    """Return {relative name: size} of all files of a directory, sorted. A link has the size of its target, or -1."""
    files = sorted(path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(directory).as_posix(): path.stat().st_size if path.exists() else -1 for path in files}


def refuse_others(path: Path, own: Collection[str], why: str, patterns: Iterable[str] = ()) -> None:
    """Raise InputError when `path`, which will be replaced, holds files that are not in `own` and match no pattern."""
    others = [
        name for name in files_in(path) if name not in own and not any(fnmatch(name, pattern) for pattern in patterns)
    ]
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise InputError(
            f"{path}: holds {readable(others[0])}{more}, which {why} and which would be removed; move it elsewhere, "
            "or choose another --output."
        )


def flush_to_disk(directory: Path) -> None:
    """Write every file of the directory to the disk, and wait for that."""
    for file in directory.rglob("*"):
        if file.is_file():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())


def take_place(new: Path, path: Path) -> None:
    """Rename `new` to `path`, then remove the older directory."""
    old = Path(f"{new}.old")
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)  # left by a killed command
        os.rename(path, old)
    try:
        os.rename(new, path)
    except OSError:
        if old.exists():
            os.rename(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)
