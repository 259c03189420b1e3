"""Rows of several whole sequences, so that next to nothing of a batch is padding."""

from bisect import bisect_left, insort

import numpy as np
import torch
from fairseq.data import BaseWrapperDataset

from alibert_fairseq.data.lines import Sized

OPEN_ROWS = 64  # rows that a sequence is tried in
PACKING = 2  # sets the order of packing apart from other random numbers of (seed, epoch)


class Packed(Sized, BaseWrapperDataset):
    """Rows of at most `room` tokens. Which sequences share one depends on (seed, epoch) alone; `fixed`: on the seed.

    A sequence keeps its own <s>. `numbers` says which tokens of a row belong together: a model must let none of them
    see the others, and count positions anew.
    """

    def __init__(self, sequences, room: int, seed: int, epoch: int = 1, fixed: bool = False):
        super().__init__(sequences)
        self.room, self.seed, self.fixed = room, seed, fixed
        self.set_epoch(epoch)

    def set_epoch(self, epoch):
        super().set_epoch(epoch)
        sizes = np.asarray(self.dataset.sizes)
        order = np.random.default_rng((self.seed, 0 if self.fixed else epoch, PACKING)).permutation(len(sizes))
        rows = packed_rows(sizes, order, self.room)
        self.members = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        self.ends = np.cumsum([len(row) for row in rows])
        self._sizes = np.array([int(sizes[row].sum()) for row in rows])

    def _row(self, index) -> np.ndarray:
        return self.members[self.ends[index - 1] if index else 0 : self.ends[index]]

    def __getitem__(self, index):
        return torch.cat([self.dataset[int(member)] for member in self._row(index)])

    def numbers(self, index) -> np.ndarray:
        """(T,) from 0, the sequence of the row that each token is of."""
        lengths = np.asarray(self.dataset.sizes)[self._row(index)]
        return np.repeat(np.arange(len(lengths)), lengths)


def packed_rows(sizes: np.ndarray, order: np.ndarray, room: int) -> list[np.ndarray]:
    """Members of each row: in this order, each sequence goes to the fullest of OPEN_ROWS rows that has room for it."""
    rows: list[list[int]] = []
    left: list[tuple[int, int]] = []  # (tokens that still fit, number of the row), sorted
    for member in order.tolist():
        size = int(sizes[member])
        place = bisect_left(left, (size, -1))
        if place < len(left):
            room_left, row = left.pop(place)
        else:
            room_left, row = room, len(rows)
            rows.append([])
        rows[row].append(member)
        insort(left, (room_left - size, row))
        if len(left) > OPEN_ROWS:
            left.pop(0)  # the fullest
    return [np.array(row, dtype=np.int64) for row in rows]
