"""Lines of a data-bin whose tokens are read as other numbers, for example as the number of their document.

A view has the sizes of the lines, so blocks, pairs, rows and mixes cut and order it as they do the lines. Each number
of a sample then says something of the token at that place.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from fairseq.data import ConcatDataset, FairseqDataset
from fairseq.data.indexed_dataset import MMapIndexedDataset
from torch import Tensor

from alibert_fairseq.data.lines import Sized, tokens_between

# (ids (T,), place of the first in the .bin) to the numbers to read in their place, (T,) int64.
Reading: TypeAlias = Callable[[Tensor, int], Tensor]
# The path of a split without its ending, to the reading of its tokens; None: as they are.
Readings: TypeAlias = Callable[[str], Reading | None]


class TokenView(Sized, FairseqDataset):
    """The lines of one split, read as `reading` says."""

    def __init__(self, lines: MMapIndexedDataset, reading: Reading):
        super().__init__()
        self.lines, self.reading, self._sizes = lines, reading, lines.sizes
        self.width = np.dtype(lines._index.dtype).itemsize

    def between(self, first: int, last: int, skipped: int = 0, count: int | None = None) -> Tensor:
        """(T,) numbers of the lines `first` to `last`, as `tokens_between` says."""
        place = int(self.lines._index._pointers[first]) // self.width + skipped
        return self.reading(tokens_between(self.lines, first, last, skipped, count), place)

    def __getitem__(self, index):
        return self.between(index, index)


def viewed(lines, path: str, readings: Readings):
    """The lines of a split, or of `path`, `path`1, ... end to end, read as `readings` say."""
    if isinstance(lines, ConcatDataset):
        return ConcatDataset([viewed(part, f"{path}{n or ''}", readings) for n, part in enumerate(lines.datasets)])
    reading = readings(path)
    return lines if reading is None else TokenView(lines, reading)


class DocumentNumbers:
    """A reading: -1 - n in the place of each token of document n. Separators of documents stay as they are."""

    def __init__(self, places: np.ndarray, first: int = 0):
        """places: (D, 2) of `document_places`; first: the number of the first document."""
        self.starts, self.ends, self.first = np.ascontiguousarray(places[:, 0]), places[:, 1], first

    def __call__(self, tokens: Tensor, place: int) -> Tensor:
        at = np.arange(place, place + len(tokens))
        document = self.starts.searchsorted(at, side="right") - 1
        inside = (document >= 0) & (at < self.ends[document])
        return torch.from_numpy(np.where(inside, -1 - self.first - document, tokens.numpy()))
