"""The common n-grams: their numbers, to look them up."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load
from alibert_common.files import written_whole
from preprocess.anonymity.ngrams import PartWords


@dataclass(frozen=True)
class CommonNgrams:
    """Those of `n` words: their numbers in a file, ascending."""

    n: int
    numbers: Path

    def write(self, ranges: Sequence[Path]) -> None:
        """Join files of numbers, one range in memory at a time."""
        with written_whole(self.numbers, "wb") as joined:
            for path in ranges:
                joined.write(load(path).tobytes())

    def among(self, words: PartWords) -> np.ndarray:
        """(W,) for each word of a part, whether a common n-gram begins there."""
        common, ngrams = np.zeros(len(words.first), bool), words.ngrams(self.n)
        if self.numbers.stat().st_size:
            own, sought = np.memmap(self.numbers, "<u8", "r"), words.numbers(ngrams, self.n)
            common[ngrams] = own[np.minimum(np.searchsorted(own, sought), len(own) - 1)] == sought
        return common
