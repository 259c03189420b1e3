"""Ids that are unique in their source: the second document of an id gets a number.

Groups of files are read in parallel. Each counts its ids and writes down their keys. A group that has ids of earlier
groups is then read again and continues their numbers (`earlier_ids`). So the ids do not depend on the grouping.
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.documents.document import Document
from preprocess.documents.text_keys import is_new

KEYS_AT_ONCE = 10_000_000  # 500 MB of memory


class UniqueIds:
    """How often each id was met so far, by source: some 100 bytes of memory a document.

    `before`, (2, ids) uint64, are keys and counts of earlier documents. A key is 8 bytes of a hash: of 10^8 ids two
    have the same with a probability of 3 in 10,000; then one of them gets a number too.
    """

    def __init__(self, before: np.ndarray | Sequence[Sequence[int]] = ((), ())):
        self.before = dict(zip(*map(np.ndarray.tolist, map(np.asarray, before)), strict=True))
        self.counts: dict[int, int] = {}

    def make_unique(self, document: Document) -> bool:
        """Make the id unique in the document's source: "7" met again is "7-2". Returns whether it had to be changed."""
        given = document.id
        while met := self._count(document.source, document.id):
            document.id += f"-{met + 1}"
        return document.id != given

    def _count(self, source: str, name: str) -> int:
        """How often the id was met before this time."""
        hashed = blake2b(f"{source}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        key = int.from_bytes(hashed, "big")
        met = self.counts.get(key, 0)
        self.counts[key] = met + 1
        return met + self.before.get(key, 0)

    def save(self, path: Path) -> None:
        """Write the counts, sorted by key: (2, ids) uint64."""
        table = np.array([np.fromiter(part, np.uint64) for part in (self.counts.keys(), self.counts.values())])
        save(path, table[:, np.argsort(table[0])])


def earlier_ids(groups: Sequence[Path]) -> list[np.ndarray]:
    """The keys of each group that groups before it have, and how often these met them: (2, keys) uint64.

    `UniqueIds.save` wrote the files. No more than KEYS_AT_ONCE keys are in memory, besides those that are returned.
    """
    earlier: list[list[np.ndarray]] = [[] for _ in groups]
    parts = sum(load(path).shape[1] for path in groups) // KEYS_AT_ONCE + 1
    for low, high in pairwise((part << 64) // parts for part in range(parts + 1)):
        tables = [_between(path, low, high - 1) for path in groups]
        keys, counts = np.concatenate(tables, axis=1)
        group = np.repeat(np.arange(len(groups)), [table.shape[1] for table in tables])
        order = np.argsort(keys, kind="stable")  # of equal keys, those of the earlier group come first
        keys, counts, group = keys[order], counts[order], group[order]
        before = np.cumsum(counts) - counts
        first = np.flatnonzero(is_new(keys))
        before -= np.repeat(before[first], np.diff(first, append=len(keys)))
        again = np.flatnonzero(before)
        again = again[np.argsort(group[again], kind="stable")]
        ends = np.searchsorted(group[again], np.arange(len(groups) + 1))
        for number, (start, end) in enumerate(pairwise(ends)):
            some = again[start:end]
            earlier[number].append(np.stack([keys[some], before[some]]))
    return [np.concatenate(tables, axis=1) for tables in earlier]


def _between(path: Path, low: int, high: int) -> np.ndarray:
    """The columns of a group whose keys lie from `low` to `high`; copied, for a mapped file stays open."""
    table = load(path)
    start, end = np.searchsorted(table[0], np.uint64(low), "left"), np.searchsorted(table[0], np.uint64(high), "right")
    return np.array(table[:, start:end])
