"""The n-grams of lines, and numbers that stand for them.

The n-grams of a line are each `n` words side by side, or all its words where it has fewer. Every shorter run of words
of the line is inside one of them. So what is true of all patients of an n-gram is true of its words.
Shapes: T tokens, W words, G n-grams.
"""

from typing import NamedTuple

import numpy as np

from preprocess.tokenizer.word_starts import Words

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64, Steele, Lea and Flood 2014
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


class Ngrams(NamedTuple):
    """The n-grams of a text, by the numbers of their words."""

    first: np.ndarray  # (G,)
    sizes: np.ndarray  # (G,) words

    @classmethod
    def single(cls, words: int) -> "Ngrams":
        """Each of so many words alone."""
        return cls(np.arange(words), np.ones(words, np.int64))

    def all_of(self, words: np.ndarray) -> np.ndarray:
        """(G,) whether all words of each are among these, (W,) bool."""
        before = np.concatenate([[0], np.cumsum(words)])
        return before[self.first + self.sizes] - before[self.first] == self.sizes

    def covered(self, some: np.ndarray, words: int) -> np.ndarray:
        """(W,) of so many words, those in an n-gram of `some`, (G,) bool."""
        begins, ends = (np.bincount(at[some], minlength=words + 1) for at in (self.first, self.first + self.sizes))
        return np.cumsum(begins - ends)[:-1] > 0


def ngrams_of(words: Words, n: int) -> Ngrams:
    """The n-grams of all lines, in their order."""
    begins_line = np.concatenate([[True], words.left[:-1] == 1])[: len(words.left)]
    first = np.flatnonzero((words.left >= n) | begins_line)
    return Ngrams(first, np.minimum(words.left[first], n))


def hashes(values: np.ndarray, first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """uint64 for each run of `sizes` values, at least one, that begins at `first`: alike for like runs.

    Two different runs have the same number with a probability of 2^-64. They would then count as one, which
    preprocess.check_anonymity finds: it compares the ids themselves.
    """
    found = np.zeros(len(first), np.uint64)
    longer = np.arange(len(first))
    for step in range(int(sizes.max(initial=0))):
        longer = longer[sizes[longer] > step]
        found[longer] = _mixed(found[longer] * GOLDEN + values[first[longer] + step].astype(np.uint64) + np.uint64(1))
    return found


def _mixed(numbers: np.ndarray) -> np.ndarray:
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        numbers = (numbers ^ numbers >> shift) * factor
    return numbers ^ numbers >> SHIFTS[2]
