"""Which lines of a text hold a word or a number that a rule begins with: the slower patterns look at no others."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.words import folded

# What remains of an ASCII text: letters, line ends, and 0 for each digit. All else parts words.
_KEPT = bytes(
    code if chr(code).islower() or chr(code) == "\n" else ord("0") if chr(code).isdigit() else ord(" ")
    for code in range(256)
)

# Numbers of any length.
NUMBERS = frozenset(b"0" * length for length in range(1, 25)) | {b"0er"}


def words_of(*texts: str) -> frozenset[bytes]:
    """The words of texts as clues: "C.H.U." is the words c, h and u; 75013 is 00000."""
    return frozenset(_plain(folded(" ".join(texts))).split())


def _plain(low: str) -> bytes:
    return low.encode("ascii", "replace").translate(_KEPT)


class Clues:
    """A text, the same in lower case without accents, and the words of its lines."""

    def __init__(self, text: str):
        self.text, self.low = text, folded(text)
        self.line_words: list[tuple[int, int, set[bytes]]] = []
        start = 0
        for line in _plain(self.low).split(b"\n"):
            self.line_words.append((start, start + len(line), set(line.split())))
            start += len(line) + 1

    def lines(self, words: frozenset[bytes]) -> Iterator[tuple[int, int]]:
        """Where the lines are that hold one of the words."""
        for start, end, there in self.line_words:
            if not words.isdisjoint(there):
                yield start, end

    def matches(self, pattern: re.Pattern, words: frozenset[bytes]) -> Iterator[re.Match]:
        """The matches of a pattern in the lines that hold one of the words. No match goes beyond a line."""
        for start, end in self.lines(words):
            yield from pattern.finditer(self.text, start, end)
