"""Which documents of a corpus were there before: the same words, or nearly the same by MinHash as one that is kept.

Both are found in ranges of sorted keys. For nearly the same, the documents that share a key of a band are compared by
their signatures; the pairs that are alike lie sorted on the disk, and are then read in order of the documents. A few
bytes a document are in memory, and 60 where all share one key.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.executors.base import Engine
from preprocess.deduplication.hashes import Keys
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.deduplication.minhash import LATER, Settings, alike_in_buckets, keep_first
from preprocess.deduplication.repeated_lines import FindRepeated

ENTRIES_AT_ONCE = 1 << 18  # of a band: some 15 MB
PAIRS_AT_ONCE = 1 << 19  # some 15 MB
SAMPLES = 256  # of the pairs that are in memory at once, by which their edges are chosen
END = np.uint64(2**64 - 1)  # after all pairs
ROUNDS = 8  # most corpora need two
OUT, IN, AGAIN = np.arange(3, dtype=np.uint8)  # what a document is in a round of the search


def find_same(corpus: Keys, engine: Engine, logs: Path) -> np.ndarray:
    """(documents,) whether one of the same words was there before."""
    parts = tuple(corpus.file(part, "documents") for part in range(len(corpus.parts)))
    find = FindRepeated(parts, corpus.directory / "same", most=1)
    ranges = find.ranges()
    engine.run("copies", find, ranges, logs)
    same = np.zeros(corpus.documents, bool)
    for keys in ranges:
        part, document, _ = load(find.done(keys)).T
        same[np.array(corpus.starts)[part] + document] = True
    return same


def find_near(corpus: Keys, same: np.ndarray, settings: Settings, engine: Engine, logs: Path) -> np.ndarray:
    """(documents,) whether an earlier document that stays is nearly the same; those that are `same` are left out.

    A document leaves a bucket with the first one that it is like. When that one is dropped itself, the document may
    stay, and is then compared again with all that stay: in another round.
    """
    ranges = KeyRange.divide(corpus.documents, ENTRIES_AT_ONCE)
    together = max(1, ENTRIES_AT_ONCE // max(1, corpus.documents))  # bands, whose files are then opened once
    bands = [range(settings.bands)[first : first + together] for first in range(0, settings.bands, together)]
    items = [(some, keys) for some in bands for keys in ranges]
    found: list[Path] = []
    state = np.where(same, OUT, AGAIN)
    for number in range(ROUNDS):
        search = FindNear(corpus, settings, number)
        save(search.state, state)
        engine.run("documents", search, items, logs)
        new = [search.done(item) for item in items]
        if number and not any(len(load(file)) for file in new):
            break
        found += new
        dropped, stay = keep_first(pairs_in(found), len(state))
        state = np.where(same | dropped, OUT, IN)
        state[stay] = AGAIN
        if not len(stay):
            break
        engine = Engine(engine.workers)  # of this machine: what is left is little, and jobs have a queue before them
    return dropped


def pairs_in(files: list[Path]) -> Iterator[np.ndarray]:
    """Stream the pairs of sorted files in order, some PAIRS_AT_ONCE at a time, those of a later document together.

    One file is open at a time, for there may be more than a process may open.
    """
    step = max(1, PAIRS_AT_ONCE // SAMPLES)
    sample = np.sort(np.concatenate([np.array(load(file)[::step]) for file in files]))
    edges = np.unique(sample[:: PAIRS_AT_ONCE // step] >> LATER << LATER)  # where a later document begins
    cuts = [np.searchsorted(load(file), np.append(edges[1:], END)) for file in files]
    starts = np.zeros(len(files), np.int64)
    for ends in np.transpose(cuts)[: len(edges)]:
        parts = zip(files, starts.tolist(), ends.tolist(), strict=True)
        yield np.unique(np.concatenate([np.array(load(file)[start:end]) for file, start, end in parts if start < end]))
        starts = ends


@dataclass(frozen=True)
class FindNear:
    """Find the pairs of some bands and a range of their keys that are nearly the same, among documents not out.

    The first round compares all; each later one the buckets in which a document is to be compared again.
    """

    corpus: Keys
    settings: Settings
    round: int

    @property
    def state(self) -> Path:
        """(documents,) OUT, IN or AGAIN."""
        return self.corpus.directory / f"state-{self.round}.npy"

    def done(self, item: tuple[range, KeyRange]) -> Path:
        """(pairs,) sorted."""
        bands, keys = item
        return self.corpus.directory / f"near-{self.round}-{bands.start:03d}-to-{bands.stop:03d}-{keys}.npy"

    def __call__(self, item: tuple[range, KeyRange]) -> None:
        keys, documents = self.corpus.bands(*item)
        state = load(self.state)[documents]
        chosen = (state != OUT) & np.isin(keys, keys[state == AGAIN])
        signed = partial(self.corpus.signatures, settings=self.settings)
        save(self.done(item), alike_in_buckets(keys[chosen], documents[chosen], signed, self.settings))
