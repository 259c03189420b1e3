"""Which tokens a model may learn: `SPLIT.predictable` beside the .bin.

A token is predictable when every n-gram of its line that holds it is common. The end of a line is as the word before
it, and one between documents is predictable. Shapes: T tokens, W words of a part.
"""

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.files import read_json, write_json, write_text
from preprocess.anonymity.common import CommonNgrams
from preprocess.anonymity.ngrams import PartWords
from preprocess.anonymity.token_text import Part, TokenText
from preprocess.databin.predictable import written_bits


@dataclass
class Marked:
    """How many words and tokens there are, and how many are common or predictable; ends of lines are not counted."""

    words: int = 0
    common_words: int = 0
    predictable_words: int = 0
    tokens: int = 0
    predictable_tokens: int = 0

    def __add__(self, other: "Marked") -> "Marked":
        return Marked(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class MarkPart:
    """Write for each token of a part whether it is predictable, and the counts."""

    text: TokenText
    folder: Path
    common: Sequence[CommonNgrams]  # of 1, 2, ... words

    def bits(self, part: Part) -> Path:
        """(T,) bool."""
        return self.folder / f"{part}.npy"

    def done(self, part: Part) -> Path:
        """The counts; written last."""
        return self.folder / f"{part}.json"

    def __call__(self, part: Part) -> None:
        words = PartWords(self.text, part)
        predictable = predictable_words(words.left, [common.among(words) for common in self.common])
        sizes = words.ends - words.first
        save(self.bits(part), of_tokens(predictable, words.first, words.line_ends))
        found = (
            len(sizes),
            self.common[0].among(words).sum(),
            predictable.sum(),
            sizes.sum(),
            sizes[predictable].sum(),
        )
        write_json(self.done(part), asdict(Marked(*map(int, found))))


def predictable_words(left: np.ndarray, common: Sequence[np.ndarray]) -> np.ndarray:
    """(W,) whether all n-grams of the line that hold a word are common.

    left: (W,) words up to the end of the line; common: for n = 1, 2, ..., (W,) whether a common n-gram begins there.
    The longest n-grams decide, and in a line of fewer words all of it: they hold the shorter ones, and no more patients
    have them.
    """
    begins_line = np.concatenate([[True], left[:-1] == 1])[: len(left)]
    rare_begins, rare_ends = np.zeros((2, len(left) + 1), np.int64)
    for n, own in enumerate(common, 1):
        decides = left >= n if n == len(common) else begins_line & (left == n)
        rare = np.flatnonzero(decides & ~own)
        rare_begins[rare] += 1
        rare_ends[rare + n] += 1
    return np.cumsum(rare_begins - rare_ends)[:-1] == 0


def of_tokens(words: np.ndarray, first: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(T,) bool, from (W,) bool of the words that begin at `first`; ends: (T,) bool, the ends of lines."""
    tokens = np.ones(len(ends), bool)
    if len(first):
        tokens[first[0] :] = np.repeat(words, np.diff(first, append=len(ends)))
    tokens[1:] |= ends[1:] & ends[:-1]
    return tokens


@dataclass(frozen=True)
class JoinMarks:
    """Write the bits of a split, a part in memory at a time."""

    mark: MarkPart
    folder: Path

    def done(self, split: int) -> Path:
        """An empty file, written last."""
        return self.folder / f"{split}.joined"

    def __call__(self, split: int) -> None:
        with written_bits(self.mark.text.prefixes[split]) as file:
            for part in self.mark.text.parts():
                if part.split == split:
                    file.add(load(self.mark.bits(part)))
        write_text(self.done(split), "")


def total(mark: MarkPart) -> Marked:
    """The counts of all parts."""
    return sum((Marked(**read_json(mark.done(part))) for part in mark.text.parts()), Marked())
