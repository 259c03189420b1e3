"""Names and numbers of documents, masked and filled in: does the model find more of the rare ones than a reference?

All tokens of a word are masked together, and the first guess counts for each of them. The reference has not read the
documents, so what it finds is what the sentence tells.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from alibert_fairseq.audit.rates import Rate, share_interval
from alibert_fairseq.audit.texts import Text
from alibert_fairseq.audit.vocabulary import MOST, Vocabulary, is_name, is_number
from alibert_fairseq.audit.word_scores import WordScorer, in_batches
from preprocess.anonymity.ngrams import hashes

KINDS: dict[str, Callable[[str], bool]] = {"name": is_name, "number": is_number}
CASES = 500  # of each kind at most
# How many patients have the word: from, to.
FREQUENCIES = ((1, 1), (2, 4), (5, 9), (10, MOST))


class Case(NamedTuple):
    """A word of a document."""

    kind: str
    row: np.ndarray  # (T,) ids
    places: np.ndarray  # of the word's tokens
    word: int  # hash of its ids


class Found(NamedTuple):
    """How often words of a kind and a frequency were filled in."""

    kind: str
    frequency: tuple[int, int]
    cases: int
    audited: Rate
    reference: Rate


def cases_of(texts: Sequence[Text], vocabulary: Vocabulary, tokenizer: Tokenizer, seed: int) -> list[Case]:
    """The names and numbers of members, at most CASES of each kind."""
    generator, known = np.random.default_rng((seed, 5)), dict[int, str | None]()
    cases: dict[str, list[Case]] = {kind: [] for kind in KINDS}
    for row in (row for text in texts if text.member for row in text.rows):
        first, sizes = (part[1:-1] for part in vocabulary.words(row))  # the ends of a row may cut a word
        for start, size, word in zip(first.tolist(), sizes.tolist(), hashes(row, first, sizes).tolist(), strict=True):
            if word not in known:
                known[word] = _kind(tokenizer.decode(row[start : start + size].tolist()).strip())
            if kind := known[word]:
                cases[kind].append(Case(kind, row, np.arange(start, start + size), word))
    for kind, several in cases.items():
        if len(several) > CASES:
            cases[kind] = [several[place] for place in np.sort(generator.choice(len(several), CASES, replace=False))]
    return [case for several in cases.values() for case in several]


def _kind(word: str) -> str | None:
    return next((kind for kind, belongs in KINDS.items() if belongs(word)), None)


def filled_in(scorer: WordScorer, cases: Sequence[Case]) -> np.ndarray:
    """(cases,) bool: whether the first guess is right for every token of the word."""
    hits = list[bool]()
    for part in in_batches([len(case.row) for case in cases]):
        some = cases[part]
        scores = scorer.log_probabilities([case.row for case in some], [case.places for case in some])
        guesses = np.split(scores.argmax(-1).numpy(), np.cumsum([len(case.places) for case in some])[:-1])
        hits += [bool((own == case.row[case.places]).all()) for own, case in zip(guesses, some, strict=True)]
    return np.array(hits, bool)


def by_frequency(
    cases: Sequence[Case], patients: dict[int, int], audited: np.ndarray, reference: np.ndarray
) -> list[Found]:
    """The hits by kind and number of patients; patients: of `patients_of_words`."""
    found = []
    for kind in KINDS:
        for low, high in FREQUENCIES:
            chosen = [n for n, case in enumerate(cases) if case.kind == kind and low <= patients[case.word] <= high]
            hits = [share_interval(int(model[chosen].sum()), len(chosen)) for model in (audited, reference)]
            found.append(Found(kind, (low, high), len(chosen), *hits))
    return found
