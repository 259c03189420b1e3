"""The common n-grams: their numbers, to look them up, and the proof, which names a place of each of so many patients.

A proof is a file of rows of uint64, little-endian: the length of an n-gram in tokens, then its places, each in tokens
from the begin of the text. Shapes: E n-grams.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load
from alibert_common.files import written_whole
from preprocess.anonymity.ngrams import PartWords


def entry(patients: int) -> np.dtype:
    """What is found of a common n-gram: its number, and its row of the proof."""
    return np.dtype([("hash", "<u8"), ("row", "<u8", (1 + patients,))])


@dataclass(frozen=True)
class CommonNgrams:
    """Those of `n` words: their numbers in a file, ascending, and the proof. The numbers are written last."""

    n: int
    numbers: Path
    proof: Path

    def write(self, ranges: Sequence[Path]) -> None:
        """Join files of entries, one range of numbers in memory at a time."""
        for file, column in ((self.proof, "row"), (self.numbers, "hash")):
            with written_whole(file, "wb") as joined:
                for path in ranges:
                    joined.write(np.ascontiguousarray(load(path)[column]).tobytes())

    def among(self, words: PartWords) -> np.ndarray:
        """(W,) for each word of a part, whether a common n-gram begins there."""
        common, ngrams = np.zeros(len(words.first), bool), words.ngrams(self.n)
        if self.numbers.stat().st_size:
            own, sought = np.memmap(self.numbers, "<u8", "r"), words.numbers(ngrams, self.n)
            common[ngrams] = own[np.minimum(np.searchsorted(own, sought), len(own) - 1)] == sought
        return common
