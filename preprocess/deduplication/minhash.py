"""Which documents are nearly the same: MinHash signatures, keys of their bands, pairs to check, groups to thin out.

A document is the set of its shingles, each `words` neighbouring words. The Jaccard similarity J of two documents is the
share of their shingles that both have. A slot of their signatures agrees with probability J, so the share of slots that
agree estimates J with a standard deviation of sqrt(J (1 - J) / permutations) at most (Broder 1997). They share the key
of a band with probability J^rows, and are compared with probability 1 - (1 - J^rows)^bands. A copy with the share e of
its words replaced keeps q = (1 - e)^words of its shingles, and J = q / (2 - q). With the defaults:

    copy with 5 % replaced, J 0.75:    compared 0.9997, estimated at the threshold or above 0.9998
    one word of 20 replaced, J 0.71:   compared 0.998, estimated at the threshold or above 0.995
    J 0.40:                            compared 0.27, estimated at the threshold or above 10^-7
    J 0.20:                            compared 0.01

All are pure functions of arrays, for shards to be worked on apart: `signatures` and `band_keys` of any documents,
`candidates` of any range of keys, `similar` of any pairs, and at the end `keep_first` of all pairs that were found.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rensa import RMinHash

from preprocess.documents.shards import divided
from preprocess.documents.text_keys import is_new

DOCUMENTS_A_CALL = 200  # rensa gives 256 and more to threads of its own, which hang in a process forked after that
CHARACTERS_A_CALL = 1 << 20  # the arrays of a call stay at some 30 MB
CACHED_WORDS = 1 << 18  # some 60 MB; 5,605 leaflets have 140,000 different words among 14 million
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio, odd: every place in a shingle counts differently


@dataclass(frozen=True)
class Settings:
    """What makes two documents near-duplicates. docs/results/near_duplicates.md has the measures behind each value."""

    words: int = 3  # a shingle: J 0.75 for a copy with 5 % replaced; 5 words leave 0.63, and 0.52 for one word of 20
    bands: int = 30  # with 5 rows: 0.996 of the pairs of J 0.70 are compared, 0.94 at the threshold, 0.01 at J 0.20
    rows: int = 5  # slots a band: 4 compare twice as many leaflets, 25 bands of 6 miss 4 % of the pairs of J 0.70
    threshold: float = 0.62  # copies with 5 % edited lie above it, leaflets of different substances below
    neighbours: int = 10  # of its bucket that a document is compared with: work grows with documents, not squared
    seed: int = 1  # of the permutations

    @property
    def permutations(self) -> int:
        """Slots of a signature, 4 bytes each."""
        return self.bands * self.rows


def signatures(texts: Iterable[str], settings: Settings) -> np.ndarray:
    """The MinHash signature of every text, (documents, permutations) uint32, by rensa's R-MinHash.

    Texts without any word have equal signatures. Only the texts of one call of rensa are in memory.
    """
    rows = [np.empty((0, settings.permutations), np.uint32)]
    shortest = CHARACTERS_A_CALL // DOCUMENTS_A_CALL  # so that a call has no more than DOCUMENTS_A_CALL texts
    for part in divided(texts, lambda text: max(len(text), shortest), CHARACTERS_A_CALL):
        hashes, counts = shingles(part, settings.words)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, ends, settings.permutations, settings.seed)
        rows.append(np.array(matrix.to_rows(), np.uint32))
    return np.concatenate(rows)


def shingles(texts: list[str], words: int) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of the shingles, text after text, (shingles) uint64, and how many each text has, (documents) int64.

    A text of fewer words than a shingle is one shingle, a text without words has none.
    """
    hashes = [np.fromiter(map(word_hash, text.split()), np.uint64) for text in texts]
    hashes = [part[part != 0] for part in hashes]
    lengths = np.array([len(part) for part in hashes])
    flat, length = np.concatenate(hashes), np.repeat(lengths, lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))  # words to the end of the text, this one too
    sums = np.zeros(len(flat), np.uint64)
    for place in range(words):
        later = np.zeros_like(flat)
        later[: len(flat) - place] = flat[place:]
        sums = sums * MULTIPLIER + np.where(left > place, later, 0)
    starts = (left >= words) | (left == length)
    return _mix(sums[starts]), np.maximum(lengths - words + 1, np.minimum(lengths, 1))


@lru_cache(CACHED_WORDS)
def word_hash(chunk: str) -> int:
    """64 bits of what stands between two spaces: its letters and digits, lower-cased; 0 when it has none.

    Punctuation counts nowhere, for copies differ in it: spaces before a colon, the two apostrophes, bullets. In
    compatibility form (NFKC) ligatures and accents are spelled one way.
    """
    word = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", chunk).lower()))
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little") if word else 0


def band_keys(signature: np.ndarray, settings: Settings) -> np.ndarray:
    """A 64-bit key for every band of every signature, (documents, bands) uint64; no two bands share a key.

    Two of 10^9 different keys are equal by chance with a probability of 0.03, which costs one needless comparison.
    """
    slots = signature.reshape(len(signature), settings.bands, settings.rows).astype(np.uint64)
    keys = np.tile(np.arange(1, settings.bands + 1, dtype=np.uint64) * MULTIPLIER, (len(signature), 1))
    for row in range(settings.rows):
        keys = _mix(keys ^ slots[:, :, row])
    return keys


def candidates(keys: np.ndarray, documents: np.ndarray, settings: Settings) -> np.ndarray:
    """The pairs to check among the documents of equal keys, (pairs, 2), the lower number first, each pair once.

    `keys` (entries) uint64 and the numbers of their `documents` (entries) come in any order; every entry of a key must
    be among them. Each document of a bucket is paired with the next `neighbours` of it, never with more. So equal
    documents give a chain, which `keep_first` follows; others of a `crowded` bucket come nearer to each other when what
    lay between them is dropped.
    """
    order = np.lexsort((documents, keys))
    keys, documents = keys[order], documents[order]
    pairs = [np.empty((0, 2), documents.dtype)]
    for step in range(1, settings.neighbours + 1):
        same = keys[step:] == keys[:-step]
        pairs.append(np.column_stack([documents[:-step][same], documents[step:][same]]))
    return once(np.concatenate(pairs))


def similar(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The estimated Jaccard similarity of every row of one array of signatures with that row of the other, (pairs)."""
    return np.count_nonzero(first == second, axis=1) / first.shape[1]


def crowded(keys: np.ndarray, settings: Settings) -> np.ndarray:
    """Whether an entry's bucket is so long that `candidates` does not pair all documents of it, (entries) bool."""
    ordered, most = np.sort(keys), settings.neighbours + 1
    return np.isin(keys, ordered[most:][ordered[most:] == ordered[:-most]])


def keep_first(pairs: np.ndarray, alike: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The documents to drop, in order, and for each the one kept that it is nearly the same as.

    Greedy in order of reading: a document is dropped when an earlier one that is kept is nearly the same. `pairs`
    (pairs, 2) are nearly the same, the lower number first; `alike` tells of any pairs whether they are. Each round
    keeps the first document of every group that the pairs connect, drops what is like it, and goes on with the pairs of
    the rest: what was dropped connects nothing any more. Memory grows with the pairs.
    """
    compared_and_gone = [pairs[:0]]
    while len(pairs):
        numbers, ends = np.unique(pairs, return_inverse=True)
        ends = ends.reshape(-1, 2)  # numpy 2 keeps the shape of `pairs`, numpy 1 flattens
        first = _first_of_group(ends, len(numbers))
        others = np.flatnonzero(first != np.arange(len(numbers)))
        compared = np.column_stack([numbers[first[others]], numbers[others]])
        gone = alike(compared)
        compared_and_gone.append(compared[gone])
        rest = np.zeros(len(numbers), bool)
        rest[others[~gone]] = True
        pairs = pairs[rest[ends].all(axis=1)]
    kept, dropped = np.concatenate(compared_and_gone).T
    order = np.argsort(dropped)
    return dropped[order], kept[order]


def _first_of_group(ends: np.ndarray, count: int) -> np.ndarray:
    """For each of `count` documents the lowest that the pairs `ends` (pairs, 2) connect it with, (count)."""
    from scipy.sparse import coo_matrix  # here, so that `--help` is quick
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(ends), bool), ends.T), (count, count))
    _, groups = connected_components(graph, directed=False)
    _, first = np.unique(groups, return_index=True)
    return first[groups]


def once(pairs: np.ndarray) -> np.ndarray:
    """The different ones of the pairs (pairs, 2), sorted."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return pairs[is_new(*pairs.T)]


def _mix(numbers: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: a bijection of 64 bits of which every bit depends on every bit."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
