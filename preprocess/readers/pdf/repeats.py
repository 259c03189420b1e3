"""The headers and footers of a PDF: lines at the upper or lower end of its pages that are the same on nearly all."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from preprocess.readers.pdf.boxes import Line

DIGITS = re.compile(r"\d+")
# The number of a page: "Page 2", "2 / 3", "2 sur 3", or alone between dashes.
PAGE_NUMBER = re.compile(
    r"(?:\bpages?|\bp\.?|\bfolio)\s*(?:n[°o]\s*)?:?\s*(?P<named>\d{1,4})\b|(?<!\d)(?P<part>\d{1,4})\s*(?:/|sur|of|de)"
    r"\s*(?P<all>\d{1,4})(?!\d)|(?:^|[|–—-])\s*(?P<alone>\d{1,4})\s*(?=$|[|–—-])",
    re.IGNORECASE,
)
MOST = 12  # lines of a header
SHARE = 0.8  # of the pages but one: the first may have a letterhead instead
COPY, FEWEST = 0.5, 5  # share and number of the lines of a page: one that shares more with another is a copy of it
COMPARED = 5  # pages before, of other text
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
        texts = {_shape(line) for line in whole[first] if id(line) in repeated} if first != number else ()
        repeated |= {id(line) for line in whole[number] if _shape(line) in texts}
    kept = [[[line for line in flow if id(line) not in repeated] for flow in page] for page in pages]
    return [[flow for flow in page if flow] for page in kept], len(repeated)


def _first_alike(pages: Sequence[Sequence[Line]]) -> list[int]:
    """For each page the first one of nearly the same lines, numbers apart: copies and forms are no headers."""
    alike: list[int] = []
    first: dict[frozenset[str], int] = {}
    for number, lines in enumerate(pages):
        shape = frozenset(map(_shape, lines))
        near = next((one for one in [*first][: -COMPARED - 1 : -1] if _is_copy(one, shape)), shape)
        alike.append(first.setdefault(near, number) if shape else number)
    return alike


def _shape(line: Line) -> str:
    return DIGITS.sub("#", line.text)


def _is_copy(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= max(FEWEST, COPY * max(len(one), len(other)))


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
    """The text, and the text without the number of its page: "Page 2/3" and "Page 3/3" share one."""
    yield text
    for found in PAGE_NUMBER.finditer(text):
        name = next(name for name in ("named", "part", "alone") if found[name])
        number = int(found[name])
        if name != "part" or number <= int(found["all"]):
            yield f"{text[: found.start(name)]}#{number - page}{text[found.end(name) :]}"


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
