"""Which documents of a corpus were there before: the same words, or nearly the same by MinHash as one that is kept.

The band keys of all documents are compared a band at a time, some 50 bytes a document in the memory of each process;
pairs that share one are compared by their signatures. A bucket of many documents is thinned out in rounds: what is left
of it is compared again.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.executors.base import Engine
from preprocess.deduplication.hashes import Keys
from preprocess.deduplication.minhash import Settings, candidates, crowded, keep_first, once, similar
from preprocess.documents.text_keys import is_new

PAIRS_AT_ONCE = 100_000  # 100 MB of signatures
ROUNDS = 8  # of crowded buckets: a round leaves of equal documents one in `neighbours`, and mostly ends the search


def find_same(corpus: Keys) -> np.ndarray:
    """(documents,) whether one of the same words was there before."""
    keys = corpus.keys()
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: the first of the same comes first
    seen = np.empty(len(keys), bool)
    seen[order] = ~is_new(*keys[order].T)
    return seen


def find_near(
    corpus: Keys, same: np.ndarray, settings: Settings, engine: Engine, logs: Path
) -> tuple[np.ndarray, np.ndarray]:
    """The documents to drop, in order, and for each the one kept that it is nearly the same as; `same` are left out.

    Every pair that was found in some round counts in `keep_first`, which begins anew with each round. Rounds after the
    first are for crowded buckets. The memory of the pairs, 16 bytes each, is bounded by bands times neighbours a
    document; of the leaflets it is one a document.
    """
    pairs, gone = np.empty((0, 2), np.int64), same
    for number in range(ROUNDS):
        search = FindNear(corpus, settings, number)
        save(search.gone, gone)
        engine.run("documents", search, range(settings.bands), logs)
        new = pairs[:0]
        for band in range(settings.bands):  # one of them beside the pairs in memory
            new = once(np.concatenate([new, load(search.done(band))]))
        if number and not len(new):
            break
        pairs = once(np.concatenate([pairs, new]))
        dropped, kept = keep_first(pairs, lambda some: _alike(corpus, settings, some))
        gone = same.copy()
        gone[dropped] = True
        if not any(load(search.crowd(band)).size for band in range(settings.bands)):
            break
        engine = Engine(engine.workers)  # of this machine: what is left is little, and jobs have a queue before them
    return dropped, kept


def _alike(corpus: Keys, settings: Settings, pairs: np.ndarray) -> np.ndarray:
    """Whether the documents of each pair are nearly the same, (pairs)."""
    alike = [np.empty(0, bool)]
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        first, second = pairs[start : start + PAIRS_AT_ONCE].T
        alike.append(similar(corpus.signatures(first), corpus.signatures(second)) >= settings.threshold)
    return np.concatenate(alike)


@dataclass(frozen=True)
class FindNear:
    """Find the pairs of one band that are nearly the same, among the documents that are not gone.

    The first round compares all; each later one those of crowded buckets, for what lay between them may be gone.
    """

    corpus: Keys
    settings: Settings
    round: int

    @property
    def gone(self) -> Path:
        """(documents,) whether they are left out of this round."""
        return self.corpus.directory / f"gone-{self.round}.npy"

    def done(self, band: int) -> Path:
        """(pairs, 2) the numbers of the documents; written last."""
        return self.corpus.directory / f"near-{self.round}-{band:03d}.npy"

    def crowd(self, band: int) -> Path:
        """(2, entries) the keys of crowded buckets, and the numbers of their documents."""
        return self.corpus.directory / f"crowd-{band:03d}.npy"

    def __call__(self, band: int) -> None:
        gone = load(self.gone)
        if self.round:
            keys, numbers = load(self.crowd(band))
            numbers = numbers.astype(np.int64)
            left = ~gone[numbers]
            keys, numbers = keys[left], numbers[left]
        else:
            numbers = np.flatnonzero(~gone)
            keys = self.corpus.band(band)[numbers]
            crowd = crowded(keys, self.settings)
            save(self.crowd(band), np.stack([keys[crowd], numbers[crowd].astype(np.uint64)]))
        pairs = candidates(keys, numbers, self.settings)
        save(self.done(band), pairs[_alike(self.corpus, self.settings, pairs)])
