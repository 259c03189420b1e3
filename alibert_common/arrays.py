"""Arrays on the disk: written whole, read in parts."""

from pathlib import Path

import numpy as np

from alibert_common.files import written_whole


def save(path: Path, array: np.ndarray) -> None:
    """Write an array, whole."""
    with written_whole(path, "wb") as handle:
        np.save(handle, array)


def load(path: Path) -> np.ndarray:
    """The array, of which only what is looked at is read from the disk. Its file stays open as long as it is there."""
    try:
        return np.load(path, mmap_mode="r")
    except ValueError:  # nothing can be mapped of an empty one
        return np.load(path)
