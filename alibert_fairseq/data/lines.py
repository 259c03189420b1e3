"""What datasets share: lengths of samples, and the tokens of lines that follow each other."""

from collections.abc import Sequence

import numpy as np
import torch
from fairseq.data import ConcatDataset
from fairseq.data.indexed_dataset import MMapIndexedDataset
from torch import Tensor


class Sized:
    """Answers fairseq's questions about lengths from `_sizes`, (N,) tokens a sample; to be named before a dataset."""

    _sizes: np.ndarray

    def __len__(self):
        return len(self._sizes)

    @property
    def sizes(self):
        return self._sizes

    def size(self, index):
        return self._sizes[index]

    num_tokens = size


def tokens_between(lines: Sequence, first: int, last: int, skipped: int = 0, count: int | None = None) -> Tensor:
    """(T,) int64, `count` tokens, or all, of the lines `first` to `last`, after those that are skipped.

    A data-bin is read once for all lines.
    """
    if hasattr(lines, "between"):
        return lines.between(first, last, skipped, count)
    if isinstance(lines, ConcatDataset):
        (part, begin), (other, end) = map(lines._get_dataset_and_sample_index, (first, last))
        if part == other:
            return tokens_between(lines.datasets[part], begin, end, skipped, count)
    if not isinstance(lines, MMapIndexedDataset):
        return part_of(torch.cat([lines[line] for line in range(first, last + 1)]), skipped, count)
    index = lines._index  # its lines lie one behind the other in the file
    if count is None:
        count = int(index.sizes[first : last + 1].sum()) - skipped
    offset = int(index._pointers[first]) + skipped * np.dtype(index.dtype).itemsize
    return torch.from_numpy(np.frombuffer(lines._bin_buffer, index.dtype, count, offset).astype(np.int64))


def part_of(tokens: Tensor, skipped: int, count: int | None) -> Tensor:
    """So many of them, or all, after those that are skipped."""
    return tokens[skipped : None if count is None else skipped + count]
