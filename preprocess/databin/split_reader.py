"""A split of a data-bin read without fairseq: sizes of lines, ids, and the places of documents.

Shapes: L lines, T tokens in ids, D documents.
"""

from pathlib import Path

import numpy as np

from preprocess.databin.fairseq_writer import HEADER, check_split, read_header


def line_sizes(prefix: Path) -> np.ndarray:
    """(L,) int32, the size of each line in ids, mapped. Raises InputError as check_split does."""
    check_split(prefix)
    index = Path(f"{prefix}.idx")
    _, lines = read_header(index)
    if not lines:  # an empty file cannot be mapped
        return np.zeros(0, np.int32)
    return np.memmap(index, np.int32, mode="r", offset=HEADER.size, shape=(lines,))


def token_ids(prefix: Path, mode: str = "r") -> np.ndarray:
    """(T,) the ids of all lines, end to end, mapped. Raises InputError as check_split does."""
    check_split(prefix)
    dtype, _ = read_header(Path(f"{prefix}.idx"))
    data = Path(f"{prefix}.bin")
    return np.memmap(data, dtype, mode=mode) if data.stat().st_size else np.zeros(0, dtype)  # type: ignore[call-overload]


def documents_in(sizes: np.ndarray) -> np.ndarray:
    """(D, 2) int64: first line and the line after the last; lines of at most one token stand between them."""
    text = np.concatenate(([False], sizes > 1, [False]))
    return np.flatnonzero(text[1:] != text[:-1]).reshape(-1, 2)


def document_places(prefix: Path) -> np.ndarray:
    """(D, 2) int64: first token of each document of a split, and the end of its last line, which is no part of it."""
    sizes = line_sizes(prefix)
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return ends[documents_in(sizes)] - [0, 1]
