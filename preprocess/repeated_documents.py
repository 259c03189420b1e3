"""Which documents of a corpus in shards were there before: the same words, or nearly the same by MinHash.

Every shard's documents become a key, a signature and the keys of its bands. The band keys of all shards are compared a
band at a time, 16 bytes a document in memory; pairs that share one are compared by their signatures. Some 700 bytes a
document lie on the disk meanwhile.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preprocess.arrays import load, save
from preprocess.near_duplicates import Settings, band_keys, candidates, keep_first, signatures, similar
from preprocess.shards import shard_name
from preprocess.text_keys import key_array

KEPT, SAME, NEAR = 0, 1, 2  # what becomes of a document
PAIRS_AT_ONCE = 100_000  # 100 MB of signatures


@dataclass(frozen=True)
class Corpus:
    """The keys of all documents, numbered from 0 in order of reading. `starts` are the first numbers of the shards."""

    directory: Path
    starts: tuple[int, ...]

    @classmethod
    def of(cls, directory: Path, shards: int) -> "Corpus":
        """What `save_keys` wrote for every shard."""
        counts = [len(load(directory / f"{shard_name(shard)}.documents.npy")) for shard in range(shards)]
        return cls(directory, tuple(np.cumsum([0, *counts]).tolist()))

    @property
    def same(self) -> Path:
        """For every document, whether one of the same words was there before."""
        return self.directory / "same.npy"

    @property
    def fates(self) -> Path:
        """For every document KEPT, SAME or NEAR; written last."""
        return self.directory / "fates.npy"

    def keys(self) -> np.ndarray:
        """(documents, 2)"""
        return np.concatenate([load(path) for path in self._files("documents")])

    def band(self, band: int) -> np.ndarray:
        """(documents,) the keys of one band."""
        return np.concatenate([load(path)[band] for path in self._files("bands")])

    def signatures(self, documents: np.ndarray) -> np.ndarray:
        """(documents, permutations) of these documents."""
        shards = np.searchsorted(self.starts, documents, side="right") - 1
        stored = {shard: load(self.directory / f"{shard_name(shard)}.signatures.npy") for shard in np.unique(shards)}
        rows = np.empty((len(documents), next(iter(stored.values())).shape[1]), np.uint32)
        for shard, signed in stored.items():
            rows[shards == shard] = signed[documents[shards == shard] - self.starts[shard]]
        return rows

    def _files(self, kind: str) -> Iterator[Path]:
        return (self.directory / f"{shard_name(shard)}.{kind}.npy" for shard in range(len(self.starts) - 1))


def save_keys(directory: Path, shard: int, texts: list[str], settings: Settings | None) -> None:
    """Write the keys of a shard's documents; those for nearly the same ones too, with `settings`."""
    if settings:
        signed = signatures(texts, settings)
        save(directory / f"{shard_name(shard)}.signatures.npy", signed)
        save(directory / f"{shard_name(shard)}.bands.npy", np.ascontiguousarray(band_keys(signed, settings).T))
    save(directory / f"{shard_name(shard)}.documents.npy", key_array(texts))


def find_same(corpus: Corpus) -> None:
    """Write `corpus.same`."""
    save(corpus.same, _seen_before(corpus.keys()))


def _seen_before(keys: np.ndarray) -> np.ndarray:
    """(documents,) whether an earlier one has the same key. `keys`: (documents, 2)."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: the first of the same comes first
    ordered = keys[order]
    seen = np.zeros(len(keys), bool)
    seen[order[1:]] = (ordered[1:] == ordered[:-1]).all(1)
    return seen


@dataclass(frozen=True)
class FindNear:
    """Find the pairs of one band that are nearly the same; copies of the same words are left out."""

    corpus: Corpus
    settings: Settings

    def output(self, band: int) -> Path:
        """(pairs, 2) the numbers of the documents."""
        return self.corpus.directory / f"near-{band:03d}.npy"

    def __call__(self, band: int) -> None:
        if self.output(band).exists():
            return
        numbers = np.flatnonzero(~load(self.corpus.same))
        pairs = candidates(self.corpus.band(band)[numbers], numbers, self.settings)
        near = [pairs[:0]]
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            part = pairs[start : start + PAIRS_AT_ONCE]
            alike = similar(self.corpus.signatures(part[:, 0]), self.corpus.signatures(part[:, 1]))
            near.append(part[alike >= self.settings.threshold])
        save(self.output(band), np.concatenate(near))


def decide(corpus: Corpus, near: Iterable[Path]) -> None:
    """Write `corpus.fates`: of documents that are the same, or nearly, the first is kept."""
    fates = np.where(load(corpus.same), SAME, KEPT).astype(np.uint8)
    pairs = [load(path) for path in near]
    if pairs:
        dropped, _ = keep_first(np.concatenate(pairs))
        fates[dropped] = NEAR
    save(corpus.fates, fates)
