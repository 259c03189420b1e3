"""Joins the lines of a paragraph. The hyphen at the end of a line goes if it only divides a word, as in
"hospita-/lisation", and stays if the word is written with it, as in "peut-/être".

What the document writes elsewhere decides first, then the compounds of French in french_compounds.py.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from preprocess.readers.pdf.french_compounds import COMPOUNDS

SOFT = "\u00ad"
HYPHENS = ("-", "\u2010", "\u2011")
HYPHEN = "[-\u2010\u2011]"
LONGEST = 100  # characters of a word
WORD = rf"[^\W_]+(?:{HYPHEN}[^\W_]+)*"
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzαβγδ")  # alone before a hyphen, but for é, which may begin a word
WORDS = re.compile(WORD)
LAST = re.compile(rf"({WORD}){HYPHEN}\Z")
FIRST = re.compile(WORD)


class LineJoiner:
    """Joins lines of a document, of which `lines` are all: they show how it writes its words."""

    def __init__(self, lines: Iterable[str]):
        self._lines = lines

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words inside lines, in lower case; most documents have no hyphen at the end of a line."""
        return frozenset(word for line in self._lines for word in WORDS.findall(line.lower()))

    def join(self, lines: Sequence[str]) -> str:
        """The lines as one, with single spaces."""
        text = ""
        for line in lines:
            line = line.strip()
            text = self._joined(text, line) if text and line else text or line
        return " ".join(text.replace(SOFT, "").split(" "))

    def _joined(self, text: str, line: str) -> str:
        if text.endswith(SOFT):
            return text.rstrip(SOFT) + line
        before, after = last_divided(text), FIRST.match(line)
        if not before or not after:
            return f"{text} {line}"
        return (text if self._keeps_hyphen(before[1], after[0]) else text[:-1]) + line

    def _keeps_hyphen(self, before: str, after: str) -> bool:
        """Whether "before-after" is written so inside a line too."""
        if not (before[-1].islower() and after[0].islower()) or before in LETTERS:
            return True  # 12-14, IRM-TEP, Saint-Étienne, COVID-19, e-santé
        before, after = before.lower(), after.lower()
        divided, compound = before + after in self._words, f"{before}-{after}" in self._words
        if divided != compound:
            return compound
        return any(rule.before.fullmatch(before) and rule.after.fullmatch(after) for rule in COMPOUNDS)


def divides_word(line: str) -> bool:
    """Whether the line ends inside a word."""
    return line.endswith(SOFT) or bool(last_divided(line))


def last_divided(line: str) -> re.Match | None:
    """The word before the hyphen at the end of a line."""
    return LAST.search(line, max(0, len(line) - LONGEST)) if line.endswith(HYPHENS) else None
