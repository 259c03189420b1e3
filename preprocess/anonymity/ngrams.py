"""The words of a part of the text, and numbers that stand for n-grams, which are `n` words of a line side by side.

Shapes: T tokens of the part, W words, G n-grams. An n-gram is named by its first word.
"""

import numpy as np

from preprocess.anonymity.token_text import Part, TokenText
from preprocess.tokenizer.word_starts import words_of

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64, Steele, Lea and Flood 2014
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


class PartWords:
    """The words of a part."""

    def __init__(self, text: TokenText, part: Part):
        ids, self.begin = text.read(part)  # (T,) and the place of the first
        self.line_ends = ids == text.end  # (T,)
        words = words_of(~self.line_ends, text.starts[ids])
        self.first, self.left = words.first, words.left  # (W,) first token; words up to the end of the line
        self.ends = self.first + np.diff(words.ends)  # (W,) behind the last token
        self._hashes = hashes(ids, self.first, self.ends - self.first)  # (W,)
        self.known = ids[self.first] != text.unknown  # (W,) an unknown token always starts a word

    def ngrams(self, n: int) -> np.ndarray:
        """(G,) the first word of each n-gram."""
        return np.flatnonzero(self.left >= n)

    def numbers(self, ngrams: np.ndarray, n: int) -> np.ndarray:
        """(G,) uint64: alike for like n-grams of n words."""
        return hashes(self._hashes, ngrams, np.full(len(ngrams), n))


def hashes(values: np.ndarray, first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """uint64 for each run of `sizes` values, at least one, that begins at `first`: alike for like runs.

    Two different runs have the same number with a probability of 2^-64. They would then count as one, which
    preprocess.check_anonymity finds: it counts the ids themselves.
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
