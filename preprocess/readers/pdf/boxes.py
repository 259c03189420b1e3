"""Boxes of text on a page, in points, y from above: words, runs of words, and lines of a layout."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from preprocess.readers.markup.xml_text import LOWERED, NUMBER, RAISED

NEAR = 0.45  # of the height: a wider gap may part two columns
SMALL = 0.85  # of the height: what is smaller may be an index
PADDING = 0.2  # of the height: what the space between two paragraphs has more
SHIFT = 0.3  # of the height: lines differ by more


class Word(NamedTuple):
    """A word, or a part of one with a height of its own."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    order: int  # in which it was drawn
    spaced: bool = True  # whether a space is before it


class Run(NamedTuple):
    """Words of one line that stand near each other."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    order: int

    @property
    def height(self) -> float:
        """From the deepest to the highest point that its font reaches: 1.1 to 1.4 times the size of the font."""
        return self.bottom - self.top


@dataclass
class Line:
    """A line of a column, or a row of a table; the lines inside a cell end with "\\n"."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    is_row: bool = False

    @property
    def height(self) -> float:
        """That of its tallest run; of a row, of all its lines."""
        return self.bottom - self.top


def around(boxes: Iterable[Word | Run | Line]) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of the box around all of them."""
    lefts, tops, rights, bottoms = zip(*((box.left, box.top, box.right, box.bottom) for box in boxes), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def line_gap(runs: Sequence[Run]) -> float:
    """The space that is too high for two lines of one paragraph, or of one cell, which most programs draw one after the
    other."""
    height = median(run.height for run in runs)
    gaps = [
        below.top - above.bottom
        for above, below in pairwise(sorted(runs, key=lambda run: run.order))
        if above.left < below.right and below.left < above.right
    ]
    gaps = sorted(gap for gap in gaps if -SHIFT * height < gap < height)
    return (gaps[len(gaps) // 4] if gaps else 0.0) + PADDING * height


class OpenRun:
    """A run to which words are added. An index, as in m² or CO₂, does not change its height."""

    def __init__(self, word: Word):
        self.parts, self.ends_with_index = [word.text], False
        _, self.left, self.top, self.right, self.bottom, self.order, _ = word

    def takes(self, word: Word, near: float) -> bool:
        """Whether the word goes on the run: it stands on the same line, at most `near` points behind."""
        height, other = self.bottom - self.top, word.bottom - word.top
        tall, small = (height, other) if height > other else (other, height)
        if not -0.5 * tall < word.left - self.right < near:
            return False
        if small > SMALL * tall:
            return abs(word.bottom - self.bottom) < SHIFT * tall
        return min(self.bottom, word.bottom) - max(self.top, word.top) > 0.4 * small

    def add(self, word: Word) -> None:
        """Append a word, after a space if there is one."""
        height, other = self.bottom - self.top, word.bottom - word.top
        gap = word.left - self.right
        text = word.text
        is_index = gap < 0.25 * height and other < SMALL * height
        if is_index:
            text = _as_index(text, word.bottom - self.bottom, height)
        elif gap < 0.25 * other and height < SMALL * other:
            self.parts[-1] = _as_index(self.parts[-1], self.bottom - word.bottom, other)
            is_index = True
        if other > height:
            self.top, self.bottom = word.top, word.bottom
        if word.spaced or gap > 0.1 * height or not (is_index or self.ends_with_index):
            self.parts.append(" ")
        self.ends_with_index = is_index
        self.parts.append(text)
        self.right = max(self.right, word.right)

    def closed(self) -> Run:
        """The run as it is."""
        return Run("".join(self.parts), self.left, self.top, self.right, self.bottom, self.order)


def _as_index(text: str, below: float, height: float) -> str:
    """Digits as the characters that say so, if they stand `below` the line, or above it: 10⁹ is not 109."""
    if not NUMBER.fullmatch(text):
        return text
    if below < -0.12 * height:
        return text.translate(RAISED)
    return text.translate(LOWERED) if below > 0.02 * height else text


def drawn_once(runs: Sequence[Run]) -> list[Run]:
    """The runs without those drawn twice, nearly at the same place: a way to print bold letters."""
    places: dict[str, list[Run]] = {}
    kept = []
    for run in runs:
        near = SHIFT * run.height
        same = places.setdefault(run.text, [])
        if any(abs(run.left - other.left) < near and abs(run.bottom - other.bottom) < near for other in same):
            continue
        same.append(run)
        kept.append(run)
    return kept
