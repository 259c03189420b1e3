"""What a word looks like: its form, its shape and its affixes, and the forms of its neighbours.

`features` names them, for the CRF. `hashed_features` has numbers in their place, for the tagger: its folder then holds
no word of the training text.
"""

from collections import Counter
from functools import lru_cache
from itertools import groupby, pairwise
from zlib import crc32

import numpy as np

AFFIXES = (1, 2, 3, 4)  # letters at either end of a word: medical stems and suffixes are that long (-ite, -ose, -émie)
NEIGHBOURS = (-2, -1, 1, 2)
CHARACTERS = 20  # of a word that the tagger reads: half of them from its begin, half from its end
OWN, LOWER = 3 + 2 * len(AFFIXES), 1  # columns of `hashed_features`: those of the word alone, and its lower case
OFTEN = (0, 0, *(crc32(b"often=%d" % power) for power in (2, 3, 4)))  # of a word that stands 2 ** (power - 1) times
CODES = 1024  # numbers that stand for characters; 0 is none


def features(words: list[str]) -> list[list[str]]:
    """Of every word of a sentence: itself, in lower case, its shape and affixes; the first three of its neighbours."""
    own = [_own(word) for word in words]
    of_words = []
    for place, word in enumerate(words):
        names = ["bias", *own[place], *_affixes(word)]
        for step in NEIGHBOURS:
            if 0 <= place + step < len(words):
                names += [f"{step:+d} {feature}" for feature in own[place + step]]
            else:
                names.append(f"{step:+d} outside")
        of_words.append(names)
    return of_words


def _own(word: str) -> list[str]:
    return [f"word={word}", f"lower={word.lower()}", f"shape={shape(word)}"]


def _affixes(word: str) -> list[str]:
    first = [f"{length} first={word[:length].lower()}" for length in AFFIXES]
    return first + [f"{length} last={word[-length:].lower()}" for length in AFFIXES]


def shape(word: str) -> str:
    """Capitals X, other letters x, digits 0, the rest as it is; of a run of one kind, one."""
    kinds = ("X" if sign.isupper() else "x" if sign.isalpha() else "0" if sign.isdigit() else sign for sign in word)
    return "".join(kind for kind, _ in groupby(kinds))


def sentences(text: str, words: list[tuple[int, int]], by_line: bool) -> list[tuple[int, int]]:
    """Ranges of words, end excluded: lines, or the whole text."""
    if not words:
        return []
    breaks = [
        number
        for number, ((_, end), (start, _)) in enumerate(pairwise(words), start=1)
        if by_line and "\n" in text[end:start]
    ]
    return list(pairwise([0, *breaks, len(words)]))


@lru_cache(maxsize=100_000)
def _hashed(word: str) -> tuple[int, ...]:
    return tuple(crc32(name.encode()) for name in _own(word) + _affixes(word))


def hashed_features(words: list[str]) -> np.ndarray:
    """(words, features) uint32, the features of `features` as numbers, always in the same columns."""
    columns = [np.array(list(map(_hashed, words)), dtype=np.uint64).reshape(len(words), 3 + 2 * len(AFFIXES))]
    own = columns[0][:, :3]
    for step in NEIGHBOURS:
        beside = np.zeros_like(own)  # outside of the sentence
        inside = slice(max(0, -step), max(0, len(words) - max(0, step)))
        beside[inside] = own[inside.start + step : inside.stop + step]
        columns.append((beside + np.uint64(7919 * (step + 3))) * np.uint64(2654435761) % np.uint64(1 << 32))
    return np.concatenate(columns, axis=1).astype(np.uint32)


def how_often(words: list[str]) -> np.ndarray:
    """(words,) uint32: that a word, in upper or lower case, stands in its document from 2, 4 or 8 times on; 0: once."""
    lower = [word.lower() for word in words]
    times = Counter(lower)
    return np.array([OFTEN[min(4, times[word].bit_length())] for word in lower], dtype=np.uint32)


@lru_cache(maxsize=100_000)
def characters(word: str) -> tuple[int, ...]:
    """CHARACTERS numbers, 0 behind a short word."""
    half = CHARACTERS // 2
    seen = word if len(word) <= CHARACTERS else word[:half] + word[-half:]
    codes = [ord(sign) % (CODES - 1) + 1 for sign in seen]
    return tuple(codes + [0] * (CHARACTERS - len(codes)))
