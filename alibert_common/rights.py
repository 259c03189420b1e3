"""Who may read an output: its owner alone, unless the user says otherwise.

Outputs hold the text of patients, so files get mode 0600 and folders 0700. Models are for colleagues: what is `shared`
gets the rights that the umask leaves. With the environment variable ALIBERT_SHARED set, everything is shared.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path


def opener(shared: bool = False) -> Callable[[str, int], int]:
    """Return an opener for `open`, with which a new file gets these rights."""
    return lambda path, flags: os.open(path, flags, _rights(0o666, shared))


def make_folder(path: Path, shared: bool = False) -> None:
    """Make a folder, and the folders above it that are missing. Raises NotADirectoryError where a file has its name."""
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if not path.is_dir():
        make_folder(path.parent, shared)
        path.mkdir(mode=_rights(0o777, shared), exist_ok=True)


def set_rights(directory: Path, shared: bool = False) -> None:
    """Give a folder and all in it the rights of new ones: safetensors gives some to the owner alone."""
    for path in (directory, *directory.rglob("*")):
        if not path.is_symlink():
            path.chmod(_rights(0o777 if path.is_dir() else 0o666, shared))


def _rights(mode: int, shared: bool) -> int:
    os.umask(mask := os.umask(0o077))
    return mode & ~(mask if shared or os.environ.get("ALIBERT_SHARED") else mask | 0o077)
