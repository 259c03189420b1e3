"""The words and subwords of a training text: of how many patients each is, and which are names.

Shapes: V ids, D documents.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from fairseq.data import Dictionary

from alibert_fairseq.audit.texts import Split
from alibert_fairseq.data.dictionary import special_ids, subword_ids
from preprocess.anonymity.ngrams import hashes
from preprocess.databin.split_reader import token_ids
from preprocess.pseudonymisation.persons.name_lists import WORDS, name_lists
from preprocess.pseudonymisation.words import folded
from preprocess.tokenizer.word_starts import starts_by, word_mark, words_of

MOST = 64  # patients that are told apart; more are "64 or more"
FEW = (2, 5, 10)


@dataclass(frozen=True)
class Vocabulary:
    """The ids of a data-bin: their symbols, which are subwords, which are no text, and which start a word."""

    symbols: list[str]
    subwords: np.ndarray  # ids
    special: np.ndarray  # ids
    starts: np.ndarray  # (V,) bool
    mark: str  # by which the tokenizer tells where words start

    @classmethod
    def of(cls, dictionary: Dictionary) -> "Vocabulary":
        """That of a data-bin. Raises InputError where nothing shows where words start."""
        symbols, subwords = [dictionary[number] for number in range(len(dictionary))], subword_ids(dictionary)
        mark = word_mark([symbols[number] for number in subwords])
        return cls(symbols, subwords, np.array(special_ids(dictionary)), starts_by(mark, symbols), mark)

    def words(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(first token, number of tokens) of each word of a text; the parts of a word lie side by side."""
        found = words_of(~np.isin(ids, self.special), self.starts[ids])
        return found.first, np.diff(found.ends)


def is_name(word: str) -> bool:
    """Whether a word is a first name or a surname of the shipped lists, and no other word."""
    lists = name_lists()
    return folded(word) not in WORDS and (lists.is_last(word) or lists.is_first(word))


def is_number(word: str) -> bool:
    """Whether a word has three digits or more."""
    return sum(sign.isdigit() for sign in word) >= 3


def documents_of(splits: Iterable[Split]) -> Iterator[tuple[int, np.ndarray]]:
    """(patient, ids) of each real document."""
    for split in splits:
        ids = token_ids(split.prefix)
        for number in np.flatnonzero(~split.left_out).tolist():
            first, end = split.places[number].tolist()
            yield int(split.patients[number]), np.asarray(ids[first:end])


def patients_of_pieces(splits: Iterable[Split], size: int) -> np.ndarray:
    """(V,) how many patients have each id, MOST where there are more."""
    return _patients(((patient, np.unique(ids)) for patient, ids in documents_of(splits)), size)


def patients_of_words(splits: Iterable[Split], vocabulary: Vocabulary, wanted: Collection[int]) -> dict[int, int]:
    """{hash of a word: how many patients have it}, MOST where there are more. The hash is that of its ids."""
    keys = np.array(sorted(wanted), np.uint64)

    def found() -> Iterator[tuple[int, np.ndarray]]:
        for patient, ids in documents_of(splits):
            own = np.unique(hashes(ids, *vocabulary.words(ids)))
            yield patient, np.searchsorted(keys, own[np.isin(own, keys)])

    return dict(zip(keys.tolist(), _patients(found(), len(keys)).tolist(), strict=True))


def _patients(found: Iterable[tuple[int, np.ndarray]], size: int) -> np.ndarray:
    """(size,) how many patients have each number below `size`, MOST where there are more."""
    patients, counts = defaultdict[int, set[int]](set), np.zeros(size, np.int64)
    for patient, own in found:
        for number in own[counts[own] < MOST].tolist():
            patients[number].add(patient)
            counts[number] = len(patients[number])
    return counts


@dataclass(frozen=True)
class PieceFigures:
    """The subwords of a tokenizer: how many come from few patients, and which are names."""

    subwords: int
    unused: int
    fewer_than: dict[int, int]  # patients: subwords that fewer have, unused ones not counted
    names: list[tuple[str, int]]  # whole words that are names, with their patients, the rarest first


def piece_figures(vocabulary: Vocabulary, patients: np.ndarray) -> PieceFigures:
    """The figures of a tokenizer's subwords; patients: (V,) of `patients_of_pieces`."""
    counts = patients[vocabulary.subwords]
    names = list[tuple[str, int]]()
    for number in vocabulary.subwords[vocabulary.starts[vocabulary.subwords]].tolist():
        word = vocabulary.symbols[number].removeprefix(vocabulary.mark)
        if is_name(word):
            names.append((word, int(patients[number])))
    fewer = {few: int(((counts > 0) & (counts < few)).sum()) for few in FEW}
    names.sort(key=lambda one: (one[1], one[0]))
    return PieceFigures(len(counts), int((counts == 0).sum()), fewer, names)
