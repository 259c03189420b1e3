"""The n-grams that enough patients have, found part by part, then range by range of their numbers.

The n-grams of one word are found first, then those of two common words, then those of two common n-grams of two words.
A part gives, of each different n-gram, the places where its first `patients` different patients have it. The places of
all parts then come together for one range of numbers at a time. So the memory is that of a part or a range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.anonymity.common import CommonNgrams, entry
from preprocess.anonymity.ngrams import GOLDEN, PartWords
from preprocess.anonymity.token_text import Part, TokenText
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.documents.text_keys import is_new

AT_ONCE = 1 << 20  # places of a range; a process takes some 100 bytes for each
PLACE = np.dtype([("hash", "<u8"), ("place", "<u8"), ("tokens", "<u4")])


@dataclass(frozen=True)
class FindNgrams:
    """Write the places of the n-grams of a part, at most `patients` of each, sorted by their numbers.

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
        places = np.empty(len(ngrams), PLACE)
        places["hash"], places["place"] = words.numbers(ngrams, self.n), words.begin + words.first[ngrams]
        places["tokens"] = words.ends[ngrams + self.n - 1] - words.first[ngrams]
        save(self.done(part), places[of_patients(places, self.text, self.patients)])


@dataclass(frozen=True)
class FindCommon:
    """Write the n-grams of a range that `patients` have, with a place of each of the first so many patients."""

    text: TokenText
    parts: Sequence[Path]  # files of FindNgrams
    output: Path  # what its files' names begin as
    patients: int

    def ranges(self) -> list[KeyRange]:
        """Ranges of some AT_ONCE places."""
        return KeyRange.divide(sum(len(load(part)) for part in self.parts), AT_ONCE)

    def done(self, keys: KeyRange) -> Path:
        """The only file that it writes."""
        return Path(f"{self.output}-{keys}.npy")

    def __call__(self, keys: KeyRange) -> None:
        found = [np.empty(0, PLACE)]
        for path in self.parts:
            stored = load(path)
            found.append(np.array(stored[keys.slice_of(stored["hash"])]))
        places = np.concatenate(found)
        rows = places[of_patients(places, self.text, self.patients)]
        begins = np.flatnonzero(is_new(rows["hash"]))
        common = begins[np.diff(begins, append=len(rows)) == self.patients]
        entries = np.empty(len(common), entry(self.patients))
        entries["hash"], entries["row"][:, 0] = rows["hash"][common], rows["tokens"][common]
        entries["row"][:, 1:] = rows["place"][common[:, None] + np.arange(self.patients)]
        save(self.done(keys), entries)


def of_patients(places: np.ndarray, text: TokenText, most: int) -> np.ndarray:
    """The first place of each patient of each number, at most `most` of a number: sorted by it, then as they are."""
    order = np.argsort(places["hash"], kind="stable")
    number, patients = places["hash"][order], text.patients_at(places["place"])[order]
    new = is_new(number, patients)  # most documents of a patient stand together
    order, number, patients = order[new], number[new], patients[new]
    # Two patients whose pairs are equal, once in 2^64, are counted as one: too few.
    first = np.sort(np.unique(number * GOLDEN ^ patients, return_index=True)[1])
    begins = np.flatnonzero(is_new(number[first]))
    rank = np.arange(len(first)) - np.repeat(begins, np.diff(begins, append=len(first)))
    return order[first[rank < most]]
