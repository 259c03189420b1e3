"""Pieces of real texts, copies of them with some words edited, and how similar they are; for near_duplicates.py.

Similarities are computed from the words themselves, without any hashing.
"""

import unicodedata
from functools import lru_cache
from pathlib import Path

from preprocess.documents.document import read_documents

LEAFLETS = "fr_raw/bdpm_notices.txt"
SOURCES = (LEAFLETS, "fr_raw/pamj_cas_cliniques.txt", "fr_raw/tico19_fr.txt", "fr_general/eltec_fra_romans.txt")
LENGTHS = (10, 20, 50, 200, 1_000, 5_000, 20_000, 100_000)  # words
PIECES = 100  # of a source and a length
EDITS = ("replace", "delete", "insert")
COPIES = {
    "exact": (0.0, EDITS), "2 %": (0.02, EDITS), "5 %": (0.05, EDITS), "5 %, replaced only": (0.05, ("replace",)),
    "10 %": (0.1, EDITS), "15 %": (0.15, EDITS), "20 %": (0.2, EDITS), "30 %": (0.3, EDITS), "50 %": (0.5, EDITS),
}  # fmt: skip


def edited(words: list[str], rate: float, kinds: tuple[str, ...], corpus: list[str], rng) -> list[str] | None:
    """A copy with that share of the words edited, rounded down; None where that is less than one word."""
    count = int(rate * len(words))
    if rate and not count:
        return None
    copy = [[word] for word in words]
    for place in rng.choice(len(words), count, replace=False):
        kind, other = kinds[rng.integers(len(kinds))], corpus[rng.integers(len(corpus))]
        copy[place] = {"replace": [other], "delete": [], "insert": [words[place], other]}[kind]
    return [word for part in copy for word in part]


def words_of(text: str) -> list[str]:
    """What white space separates, punctuation that stands alone left out: it is no word to edit."""
    return [word for word in text.split() if any(map(str.isalnum, word))]


def plant(data: Path, half: int, rng, pieces: int = PIECES) -> tuple[list[str], list[tuple[int, int, str, int]]]:
    """The texts, and (number of the original, number of the copy, its name in COPIES, words of the original).

    `half` 0 takes the first, third... document of each source, 1 the others; `pieces` of a source and a length.
    """
    sources = [[words_of(document.text) for document in read_documents([data / name])][half::2] for name in SOURCES]
    corpus = [word for source in sources for words in source[:: max(1, len(source) // 40)] for word in words]
    texts: list[str] = []
    planted = []
    for length in LENGTHS:
        for source in sources:
            long_enough = [words for words in source if len(words) >= length]
            for number in rng.permutation(len(long_enough))[:pieces]:
                start = rng.integers(len(long_enough[number]) - length + 1)
                words, original = long_enough[number][start : start + length], len(texts)
                texts.append(" ".join(words))
                for name, (rate, kinds) in COPIES.items():
                    copy = edited(words, rate, kinds, corpus, rng)
                    if copy is not None:
                        planted.append((original, len(texts), name, length))
                        texts.append(" ".join(copy))
    return texts, planted


@lru_cache(600)
def shingle_set(text: str, words: int) -> set[tuple[str, ...]]:
    """The shingles as words, without any hashing."""
    plain = ("".join(filter(str.isalnum, unicodedata.normalize("NFKC", word).lower())) for word in text.split())
    found = [word for word in plain if word]
    return set(zip(*(found[place:] for place in range(words)), strict=False)) or {tuple(found)}


def jaccard(first: str, second: str, words: int) -> float:
    """The share of the shingles of both that both have."""
    a, b = shingle_set(first, words), shingle_set(second, words)
    return len(a & b) / len(a | b)
