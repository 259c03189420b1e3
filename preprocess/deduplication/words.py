"""Hashes of the words of texts, calculated from their letters by numpy, for many texts at once."""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np

PLANE = 0x10000  # characters that are looked up in a table
LONGEST = 1 << 18  # characters that are hashed together: arrays of some 12 MB
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio, odd: every place counts differently
ONE = np.uint64(1)


def word_hashes(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of the words, text after text, (words) uint64, and how many each text has, (texts) int64.

    Spaces part the words, and no other white space. A word is the letters and digits between two spaces, lower-cased.
    Punctuation counts nowhere, for copies differ in it: spaces before a colon, the two apostrophes, bullets. In
    compatibility form (NFKC) ligatures and accents are spelled one way. A long text is hashed piece by piece.
    """
    if len(texts) != 1 or len(texts[0]) <= LONGEST:
        return _hashed_together(texts)
    pieces = [_hashed_together([piece])[0] for piece in _cut_at_spaces(texts[0])]
    hashes = np.concatenate(pieces)
    return hashes, np.array([len(hashes)])


def _cut_at_spaces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find(" ", start + LONGEST)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _hashed_together(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    numbers, in_word, ends = _numbers(texts)
    if len(odd := np.flatnonzero(numbers & ONE)):
        texts = texts.copy()
        for text in set(np.searchsorted(ends, odd, side="right").tolist()):
            texts[text] = _normalized(texts[text])
        numbers, in_word, ends = _numbers(texts)
    letters = np.flatnonzero(numbers > ONE)
    word = in_word[letters]
    first = np.flatnonzero(np.diff(word, prepend=-1))
    lengths = np.diff(first, append=len(word))
    powers = np.cumprod(np.full(lengths.max(initial=0), MULTIPLIER))
    place = np.arange(len(word)) - np.repeat(first, lengths)
    terms = numbers[letters] * powers[place]
    hashes = np.add.reduceat(terms, first) if len(first) else terms
    return mixed(hashes), np.diff(np.searchsorted(letters[first], ends), prepend=0)


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: a bijection of 64 bits of which every bit depends on every bit."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _numbers(texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(characters,) the number of every character and that of its chunk between spaces; (texts,) where they end."""
    codes = np.frombuffer(" ".join([*texts, ""]).encode("utf-32-le", "surrogatepass"), "<u4")
    ends = np.cumsum([len(text) + 1 for text in texts], dtype=np.int64)
    numbers = _letters().take(codes, mode="clip")
    if len(rare := np.flatnonzero(codes >= PLANE)):
        different, which = np.unique(codes[rare], return_inverse=True)
        numbers[rare] = _numbered(different.tolist())[which]
    return numbers, np.cumsum(codes == ord(" "), dtype=np.int32), ends


def _normalized(text: str) -> str:
    chunks = text.split(" ")
    return " ".join(unicodedata.normalize("NFKC", chunk).replace(" ", "") for chunk in chunks)


@cache
def _letters() -> np.ndarray:
    return _numbered(range(PLANE + 1))


def _numbered(codes: Iterable[int]) -> np.ndarray:
    """The number of every character that is a letter or a digit, the same for capitals; 0 for what is neither.

    It is odd where a text is to be normalized first: the character spells several letters, or an accent of another.
    """
    found = []
    for code in codes:
        normal = unicodedata.normalize("NFKC", chr(code))
        letters = list(filter(str.isalnum, normal.lower()))
        is_odd = len(letters) > 1 or any(map(unicodedata.combining, normal))
        found.append((ord(letters[0]) << 1 if len(letters) == 1 else 0) | is_odd)
    numbers = np.array(found, np.uint64)
    return np.where(numbers > ONE, mixed(numbers & ~ONE) & ~ONE | numbers & ONE, numbers)
