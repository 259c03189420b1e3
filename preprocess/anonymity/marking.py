"""Which tokens a model may learn: `SPLIT.predictable` beside the .bin, a bit for each token, the first one highest.

A token is predictable when every n-gram of its line that holds it is common. The end of a line is as the word before
it, and one between documents is predictable. Shapes: T tokens, W words, G n-grams of a part.
"""

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.files import read_json, write_json, write_text, written_whole
from preprocess.anonymity.common import CommonNgrams
from preprocess.anonymity.counting import ReadPart
from preprocess.anonymity.token_text import Part, TokenText

ENDING = ".predictable"


@dataclass
class Marked:
    """How many words, n-grams and tokens there are, and how many are common or predictable; ends of lines apart."""

    words: int = 0
    common_words: int = 0
    ngrams: int = 0
    common_ngrams: int = 0
    tokens: int = 0
    predictable_tokens: int = 0

    def __add__(self, other: "Marked") -> "Marked":
        return Marked(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class MarkPart:
    """Write for each token of a part whether it is predictable, and the counts."""

    text: TokenText
    folder: Path
    n: int
    words: CommonNgrams
    ngrams: CommonNgrams

    def bits(self, part: Part) -> Path:
        """(T,) bool."""
        return self.folder / f"{part}.npy"

    def done(self, part: Part) -> Path:
        """The counts; written last."""
        return self.folder / f"{part}.json"

    def __call__(self, part: Part) -> None:
        read = ReadPart(self.text, part, self.n)
        common_words = read.common(self.words)
        common = read.ngrams.all_of(common_words) & self.ngrams.hold(read.hashes(read.ngrams))
        words = ~read.ngrams.covered(~common, len(read.first))
        save(self.bits(part), of_tokens(words, read.first, read.ids == self.text.end))
        found = (read.first, common_words.nonzero()[0], common, common.nonzero()[0])
        tokens = (int(sizes.sum()) for sizes in (read.sizes, read.sizes[words]))
        write_json(self.done(part), asdict(Marked(*map(len, found), *tokens)))


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
        prefix = self.mark.text.prefixes[split]
        with written_whole(Path(f"{prefix}{ENDING}"), "wb") as file:
            for block in self._whole_bytes(split):
                file.write(np.packbits(block).tobytes())
        write_text(self.done(split), "")

    def _whole_bytes(self, split: int) -> Iterator[np.ndarray]:
        """The bits of the split in blocks of whole bytes, but for the last."""
        left = np.empty(0, bool)
        for part in self.mark.text.parts():
            if part.split == split:
                left = np.concatenate([left, load(self.mark.bits(part))])
                whole = len(left) // 8 * 8
                yield left[:whole]
                left = left[whole:]
        yield left


def total(mark: MarkPart) -> Marked:
    """The counts of all parts."""
    return sum((Marked(**read_json(mark.done(part))) for part in mark.text.parts()), Marked())
