"""Which documents are nearly the same: MinHash signatures, keys of their bands, pairs to check.

A document is the set of its shingles, each `words` neighbouring words. The Jaccard similarity J of two documents is the
share of their shingles that both have. A slot of their signatures agrees with probability J, so the share of slots that
agree estimates J with a standard deviation of sqrt(J (1 - J) / permutations) at most (Broder 1997). They share the key
of a band with probability J^rows, and are compared with probability 1 - (1 - J^rows)^bands. A copy with the share e of
its words replaced keeps q = (1 - e)^words of its shingles, and J = q / (2 - q). With the defaults:

    copy with 5 % replaced, J 0.75:    compared 0.9997, estimated at the threshold or above 0.9998
    one word of 20 replaced, J 0.71:   compared 0.998, estimated at the threshold or above 0.995
    J 0.40:                            compared 0.27, estimated at the threshold or above 10^-7
    J 0.20:                            compared 0.01

All are functions of arrays, for parts of a corpus to be worked on apart: `signatures` and `band_keys` of any documents,
`alike_in_buckets` of any range of keys, and at the end `keep_first` of all pairs that were found. A pair is one number,
the later document times 2^32 plus the earlier one, so sorted pairs are in the order of the later document.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from rensa import RMinHash

from preprocess.deduplication.words import MULTIPLIER, mixed, word_hashes
from preprocess.documents.shards import divided
from preprocess.documents.text_keys import is_new

DOCUMENTS_A_CALL = 200  # rensa gives 256 and more to threads of its own, which hang in a process forked after that
CHARACTERS_A_CALL = 1 << 17  # the arrays of a call stay at some 6 MB
LATER = np.uint64(32)  # bits of a pair before the later document
EARLIER = np.uint64(2**32 - 1)  # the bits of the earlier one
SIGNATURES_AT_ONCE = 1 << 15  # 20 MB
PAIRS_A_CALL = 1 << 12  # their signatures stay in the processor's cache


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
    """The MinHash signature of every text, (texts, permutations) uint32, by rensa's R-MinHash.

    Spaces part the words of a text. Texts without any word have equal signatures. Only the texts of one call of rensa
    are in memory.
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
    """The hashes of the shingles, text after text, (shingles) uint64, and how many each text has, (texts) int64.

    A text of fewer words than a shingle is one shingle, a text without words has none.
    """
    flat, lengths = word_hashes(texts)
    length = np.repeat(lengths, lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))  # words to the end of the text, this one too
    sums = np.zeros(len(flat), np.uint64)
    for place in range(words):
        later = np.zeros_like(flat)
        later[: len(flat) - place] = flat[place:]
        sums = sums * MULTIPLIER + np.where(left > place, later, 0)
    starts = (left >= words) | (left == length)
    return mixed(sums[starts]), np.maximum(lengths - words + 1, np.minimum(lengths, 1))


def band_keys(signature: np.ndarray, settings: Settings) -> np.ndarray:
    """A 64-bit key for every band of every signature, (documents, bands) uint64; no two bands share a key.

    Two of 10^9 different keys are equal by chance with a probability of 0.03, which costs one needless comparison.
    """
    slots = signature.reshape(len(signature), settings.bands, settings.rows).astype(np.uint64)
    keys = np.tile(np.arange(1, settings.bands + 1, dtype=np.uint64) * MULTIPLIER, (len(signature), 1))
    for row in range(settings.rows):
        keys = mixed(keys ^ slots[:, :, row])
    return keys


def similar(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The estimated Jaccard similarity of every row of one array of signatures with that row of the other, (pairs)."""
    return np.count_nonzero(first == second, axis=1) / first.shape[1]


def alike_in_buckets(
    keys: np.ndarray, documents: np.ndarray, signed: Callable[[np.ndarray], np.ndarray], settings: Settings
) -> np.ndarray:
    """The pairs that are alike among the documents of equal keys, (pairs,) uint64, sorted.

    `keys` (entries) uint64 come in any order, the `documents` (entries) uint64 of a key in theirs; every entry of a key
    must be among them. `signed` gives the signatures of documents. The first document of a bucket is compared with all
    others, and leaves it with those that are like it; then the next first one, `neighbours` times at most. So a bucket
    of equal documents costs one comparison a document, and any other not more than `neighbours`. The signatures of
    SIGNATURES_AT_ONCE documents are in memory; the first ones of a bucket that is longer are held for its rest.
    """
    order = np.argsort(keys, kind="stable")
    keys, documents = keys[order], documents[order]
    new = is_new(keys)
    alone = new & np.append(new[1:], True)[: len(new)]
    keys, documents = keys[~alone], documents[~alone]
    found, held = [documents[:0]], documents[:0]
    for start in range(0, len(keys), SIGNATURES_AT_ONCE):
        some = slice(start, start + SIGNATURES_AT_ONCE)
        buckets = np.concatenate([np.repeat(keys[start], len(held)), keys[some]])
        numbers = np.concatenate([held, documents[some]])
        pairs, firsts = _compare(buckets, signed(numbers), settings)
        found += [numbers[later] << LATER | numbers[earlier] for earlier, later in pairs]
        if some.stop < len(keys):
            held = numbers[firsts[buckets[firsts] == keys[some.stop]]]
    return np.unique(np.concatenate(found))


def _compare(
    keys: np.ndarray, signature: np.ndarray, settings: Settings
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """The earlier and later places of sorted keys whose signatures are alike, and the places of the first ones."""
    pairs, firsts = [], []
    left = np.arange(len(keys))
    for _ in range(settings.neighbours):
        starts = is_new(keys[left])
        firsts.append(left[starts])
        first, later = left[starts][np.cumsum(starts) - 1][~starts], left[~starts]
        alike = np.empty(len(later), bool)
        for start in range(0, len(later), PAIRS_A_CALL):
            some = slice(start, start + PAIRS_A_CALL)
            alike[some] = similar(signature[first[some]], signature[later[some]]) >= settings.threshold
        pairs.append((first[alike], later[alike]))
        left = later[~alike]
        if not len(left):
            break
    return pairs, np.sort(np.concatenate(firsts))


def keep_first(pairs: Iterable[np.ndarray], documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of the documents to drop, (documents) bool, and the numbers of those that stay with an earlier like.

    Greedy in order of reading: a document is dropped when an earlier one that stays is like it. So one that stays with
    an earlier like, is like a document that is dropped. `pairs` come in order, those of a later document together.
    """
    dropped = bytearray(documents)
    stay = [np.empty(0, np.uint64)]
    earlier, later = int(EARLIER), int(LATER)
    for some in pairs:
        for pair in some.tolist():
            if not dropped[pair & earlier]:
                dropped[pair >> later] = 1
        numbers = np.unique(some >> LATER)
        stay.append(numbers[~np.frombuffer(dropped, bool)[numbers]])
    return np.frombuffer(dropped, bool), np.concatenate(stay)


def kept_for(pairs: np.ndarray, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the documents that are dropped, in order, and for each the first that stays and is like it."""
    earlier, later = (pairs & EARLIER).astype(np.int64), (pairs >> LATER).astype(np.int64)
    stays = ~dropped[earlier]
    numbers, first = np.unique(later[stays], return_index=True)
    return numbers, earlier[stays][first]
