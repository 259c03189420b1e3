"""Arrays in files: a file appears complete or not at all, and its parts are read when they are used."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from alibert_common.files import written_whole


def save(path: Path, array: np.ndarray) -> None:
    """Write an array to a file that appears complete or not at all.

    numpy gets only the `write` of the file: with the file itself, it reports a full disk without an errno.
    """
    with written_whole(path, "wb") as handle:
        np.save(SimpleNamespace(write=handle.write), array)


def load(path: Path) -> np.ndarray:
    """Map the array into memory. Parts are read when they are used; the file stays open as long as the array exists."""
    try:
        return np.load(path, mmap_mode="r")
    except ValueError:  # an empty file cannot be mapped
        return np.load(path)
