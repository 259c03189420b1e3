"""The n-grams that enough patients have, found part by part, then range by range of their numbers.

A part gives, of each different n-gram, the places where its first `patients` different patients have it. The places of
all parts then come together for one range of numbers at a time. So the memory is that of a part or a range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.anonymity.common import CommonNgrams, entry
from preprocess.anonymity.ngrams import Ngrams, hashes, ngrams_of
from preprocess.anonymity.token_text import Part, TokenText
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.documents.text_keys import is_new
from preprocess.tokenizer.word_starts import words_of

AT_ONCE = 1 << 21  # places of a range; a process takes some 100 bytes for each
PLACE = np.dtype([("hash", "<u8"), ("place", "<u8"), ("tokens", "<u4")])


class ReadPart:
    """The words and n-grams of a part. Shapes: T tokens, W words, G n-grams."""

    def __init__(self, text: TokenText, part: Part, n: int):
        self.ids, self.begin = text.read(part)  # (T,) and the place of the first
        words = words_of(self.ids != text.end, text.starts[self.ids])
        self.first, self.sizes = words.first, np.diff(words.ends)  # (W,) place of the first token, number of tokens
        self._hashes = hashes(self.ids, self.first, self.sizes)  # (W,)
        unknowns = np.concatenate([[0], np.cumsum(self.ids == text.unknown)])
        self.known = unknowns[self.first + self.sizes] == unknowns[self.first]  # (W,) no token is the unknown one
        self.ngrams = ngrams_of(words, n)

    def hashes(self, ngrams: Ngrams) -> np.ndarray:
        """(G,) uint64: the numbers of n-grams of the part."""
        return hashes(self._hashes, *ngrams)

    def common(self, words: CommonNgrams) -> np.ndarray:
        """(W,) whether a word is common; none with an unknown token is, for nobody knows how many patients have it."""
        return self.known & words.hold(self.hashes(Ngrams.single(len(self.first))))


@dataclass(frozen=True)
class FindNgrams:
    """Write the places of the n-grams of a part, at most `patients` of each, sorted by their numbers.

    Those with a word that is not among `words`, or with an unknown token, are left out.
    """

    text: TokenText
    folder: Path
    n: int
    patients: int
    words: CommonNgrams | None = None

    def done(self, part: Part) -> Path:
        """The only file that it writes."""
        return self.folder / f"{self.n}-{part}.npy"

    def __call__(self, part: Part) -> None:
        read = ReadPart(self.text, part, self.n)
        kept = read.ngrams.all_of(read.common(self.words) if self.words else read.known)
        ngrams = Ngrams(*(values[kept] for values in read.ngrams))
        tokens = np.concatenate([[0], np.cumsum(read.sizes)])
        places = np.empty(len(ngrams.first), PLACE)
        places["hash"], places["place"] = read.hashes(ngrams), read.begin + read.first[ngrams.first]
        places["tokens"] = tokens[ngrams.first + ngrams.sizes] - tokens[ngrams.first]
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
    number, patients = places["hash"], text.patients_at(places["place"])
    order = np.lexsort((patients, number))  # stable: equal rows stay in order
    first = np.sort(order[is_new(number[order], patients[order])])
    rows = first[np.argsort(number[first], kind="stable")]
    begins = np.flatnonzero(is_new(number[rows]))
    rank = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    return rows[rank < most]
