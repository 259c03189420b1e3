"""The n-grams that enough patients have, found part by part, then range by range of their numbers.

The n-grams of one word are found first, then those of two common words, then those of two common n-grams of two words.
A part gives, of each different n-gram, the first `patients` different patients who have it. Those of all parts then
come together for one range of numbers at a time. So the memory is that of a part or a range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.anonymity.common import CommonNgrams
from preprocess.anonymity.ngrams import PartWords
from preprocess.anonymity.token_text import Part, TokenText
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.documents.text_keys import is_new

AT_ONCE = 1 << 20  # owners of a range; a process takes some 100 bytes for each
OWNER = np.dtype([("ngram", "<u8"), ("patient", "<u8")])


@dataclass(frozen=True)
class FindNgrams:
    """Write who has the n-grams of a part, at most `patients` of each, sorted by their numbers.

    Left out are n-grams that hold one that is not among the `shorter` ones, and words with an unknown token: nobody
    knows how many patients have them.
    """

    text: TokenText
    folder: Path
    patients: int
    n: int = 1
    shorter: CommonNgrams | None = None  # those of n - 1 words; None: words are counted

    def done(self, part: Part) -> Path:
        """The only file that it writes."""
        return self.folder / f"{self.n}-{part}.npy"

    def __call__(self, part: Part) -> None:
        words = PartWords(self.text, part)
        ngrams = words.ngrams(self.n)
        if self.shorter is None:
            ngrams = ngrams[words.known[ngrams]]
        else:
            common = self.shorter.among(words)
            ngrams = ngrams[common[ngrams] & common[ngrams + 1]]
        owners = np.empty(len(ngrams), OWNER)
        owners["ngram"] = words.numbers(ngrams, self.n)
        owners["patient"] = self.text.patients_at(words.begin + words.first[ngrams])
        save(self.done(part), different(owners, self.patients))


@dataclass(frozen=True)
class FindCommon:
    """Write the n-grams of a range that `patients` have."""

    parts: Sequence[Path]  # files of FindNgrams
    output: Path  # what its files' names begin as
    patients: int

    def ranges(self) -> list[KeyRange]:
        """Ranges of some AT_ONCE owners."""
        return KeyRange.divide(sum(len(load(part)) for part in self.parts), AT_ONCE)

    def done(self, keys: KeyRange) -> Path:
        """The only file that it writes."""
        return Path(f"{self.output}-{keys}.npy")

    def __call__(self, keys: KeyRange) -> None:
        found = [np.empty(0, OWNER)]
        for path in self.parts:
            stored = load(path)
            found.append(np.array(stored[keys.slice_of(stored["ngram"])]))
        ngrams = different(np.concatenate(found), self.patients)["ngram"]
        begins = np.flatnonzero(is_new(ngrams))
        save(self.done(keys), ngrams[begins[np.diff(begins, append=len(ngrams)) == self.patients]])


def different(owners: np.ndarray, most: int) -> np.ndarray:
    """The different owners, sorted, and at most `most` of an n-gram."""
    owners = owners[np.lexsort((owners["patient"], owners["ngram"]))]
    owners = owners[is_new(owners["ngram"], owners["patient"])]
    begins = np.flatnonzero(is_new(owners["ngram"]))
    rank = np.arange(len(owners)) - np.repeat(begins, np.diff(begins, append=len(owners)))
    return owners[rank < most]
