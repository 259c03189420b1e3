"""Ranges of 64-bit keys, of which one process reads its share of every part of a corpus.

The keys of a part lie sorted on the disk. Keys are hashes, so ranges of equal width hold about equally many, unless
one key is that of many.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KeyRange:
    """The keys from `number` to the next of `count` ranges of equal width."""

    number: int
    count: int

    @classmethod
    def divide(cls, entries: int, at_once: int) -> list["KeyRange"]:
        """Ranges of some `at_once` of that many entries."""
        count = -(-entries // at_once)
        return [cls(number, count) for number in range(count)]

    def slice_of(self, keys: np.ndarray) -> slice:
        """Where sorted keys, (entries) uint64, lie in the range; only a few of them are read."""
        edges = [number * 2**64 // self.count for number in (self.number, self.number + 1)]
        first, last = (np.searchsorted(keys, np.uint64(edge)) if edge < 2**64 else len(keys) for edge in edges)
        return slice(int(first), int(last))

    def __str__(self) -> str:
        return f"{self.number:05d}-of-{self.count:05d}"
