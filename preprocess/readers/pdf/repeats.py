"""The headers and footers of a PDF: lines at the upper or lower end of its pages that are the same on nearly all."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from statistics import median

from preprocess.readers.pdf.boxes import Line

DIGITS = re.compile(r"\d+")
MOST = 12  # lines of a header
SHARE = 0.8  # of the pages but one: the first may have a letterhead instead
NUMBERS = 8  # of a line that may be that of its page
ZONE = 150  # points from the outermost line


def without_repeats(pages: Sequence[Sequence[list[Line]]]) -> tuple[list[list[list[Line]]], int]:
    """The columns of the pages without these lines, and how many lines that were."""
    whole = [[line for flow in page for line in flow] for page in pages]
    alike = _first_alike(whole)
    repeated: set[int] = set()
    for end in (_upper, _lower):
        ends = {number: end(lines) for number, lines in enumerate(whole) if alike[number] == number}
        sides = (range(0, len(pages), 2), range(1, len(pages), 2)) if len(pages) > 5 else ()  # left and right pages
        for numbers in (range(len(pages)), *sides):
            repeated |= _repeated({number: ends[number] for number in numbers if number in ends})
    for number, first in enumerate(alike):
        repeated |= {id(own) for own, line in zip(whole[number], whole[first], strict=True) if id(line) in repeated}
    kept = [[[line for line in flow if id(line) not in repeated] for flow in page] for page in pages]
    return [[flow for flow in page if flow] for page in kept], len(repeated)


def _first_alike(pages: Sequence[Sequence[Line]]) -> list[int]:
    """For each page the first one with the same lines, numbers apart: two copies of a letter have no headers."""
    first: dict[tuple[str, ...], int] = {}
    shapes = [tuple(DIGITS.sub("#", line.text) for line in lines) for lines in pages]
    return [first.setdefault(shape, number) if shape else number for number, shape in enumerate(shapes)]


def _upper(lines: Sequence[Line]) -> list[Line]:
    return _end(sorted(lines, key=lambda line: line.top), lambda line: line.top)


def _lower(lines: Sequence[Line]) -> list[Line]:
    return _end(sorted(lines, key=lambda line: -line.bottom), lambda line: -line.bottom)


def _end(lines: list[Line], place: Callable[[Line], float]) -> list[Line]:
    """The lines at one end of a page, the outermost first."""
    return [line for line in lines[:MOST] if place(line) - place(lines[0]) < ZONE]


def _repeated(ends: Mapping[int, Sequence[Line]]) -> set[int]:
    """The ids of the lines that most pages have at the same place, page numbers apart."""
    same: dict[str, list[Line]] = defaultdict(list)
    for page, lines in ends.items():
        for line in lines:
            for text in _readings(line.text, page):
                same[text].append(line)
    least = max(2, SHARE * (len(ends) - 1))
    common = {
        id(line) for lines in same.values() for line in _at_one_place(lines) if len(_at_one_place(lines)) >= least
    }
    return {id(line) for lines in ends.values() for line in _outer(lines, common)}


def _readings(text: str, page: int) -> Iterator[str]:
    """The text, and the text with one of its numbers taken for that of its page: "Page 2/3" and "Page 3/3" share one.

    A line of the body whose dates or results differ from page to page shares none.
    """
    yield text
    for found in islice(DIGITS.finditer(text), NUMBERS):
        if len(found[0]) < 5:
            yield f"{text[: found.start()]}#{int(found[0]) - page}{text[found.end() :]}"


def _at_one_place(lines: Sequence[Line]) -> list[Line]:
    middle = median(line.top for line in lines)
    return [line for line in lines if abs(line.top - middle) < line.height]


def _outer(lines: Sequence[Line], common: set[int]) -> Iterator[Line]:
    """Those of the common lines that no more than one other line parts from the end of the page."""
    others = 0
    for line in lines:
        if id(line) in common:
            yield line
        else:
            others += 1
            if others > 1:
                return
