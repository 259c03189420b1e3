"""Arrays on the disk: written whole, read in parts."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from alibert_common.files import written_whole


def save(path: Path, array: np.ndarray) -> None:
    """Write an array, whole.

    numpy writes to a file by itself and reports a full disk without its errno, so it gets the `write` of the file only.
    """
    with written_whole(path, "wb") as handle:
        np.save(SimpleNamespace(write=handle.write), array)


def load(path: Path) -> np.ndarray:
    """The array, mapped: parts are read when they are used, and the file stays open as long as the array exists."""
    try:
        return np.load(path, mmap_mode="r")
    except ValueError:  # an empty file cannot be mapped
        return np.load(path)
