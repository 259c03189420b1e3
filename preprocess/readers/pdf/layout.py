"""The reading order of a page: its columns from left to right, the rows of its tables, lines from above to below.

Whether a gutter parts columns, which are read one after the other, or the cells of a table, is told by the lines beside
it and by the order in which they were drawn.
"""

import re
from bisect import bisect, bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median

from preprocess.readers.pdf.boxes import SHIFT, Line, Run
from preprocess.readers.pdf.gutters import Row, changes, sides_of, space_apart, tallest_gutter
from preprocess.readers.pdf.prose import is_prose, line_of
from preprocess.readers.pdf.tables import bands_of, table_rows

Column = list[Line]  # lines that follow each other in one column
Page = list[Column]

MARK = re.compile(r"[-–—•*·▪◦○●■□➢✓o]|(?:\d{1,2}|[a-zA-Z])[.)]")  # of an item in a list
MARK_GAP = 4  # heights between a mark and its item
OTHER_SIZE = 0.9  # of the height: text of another kind is smaller
LARGER, TITLE = 1.05, 3  # of the height: that of a title; its lines
ALIGNED = 0.1  # of the height: by how much the cells of a row differ
VALUE = re.compile(r"[<>≤≥±+-]?\s?\d[\d.,/\s-]*\S{0,8}")  # a result in a table, with its unit


def columns_of(runs: Sequence[Run]) -> Page:
    """The lines of a page in reading order."""
    return [column for column in _columns(rows_of(runs)) if column]


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """The runs by baseline. An index that stands alone belongs to the row that it overlaps."""
    rows: list[Row] = []
    for run in sorted(runs, key=attrgetter("bottom", "left")):
        if rows and run.bottom - rows[-1][0].bottom < SHIFT * min(run.height, rows[-1][0].height):
            rows[-1].append(run)
        else:
            rows.append([run])
    return [_with_marks(sorted(row, key=attrgetter("left"))) for row in rows]


def _with_marks(row: Row) -> Row:
    """The row in which the mark of a list is part of its item."""
    joined: Row = []
    for run in row:
        if joined and MARK.fullmatch(joined[-1].text) and run.left - joined[-1].right < MARK_GAP * run.height:
            mark = joined.pop()
            run = run._replace(text=f"{mark.text} {run.text}", left=mark.left, order=min(mark.order, run.order))
        joined.append(run)
    return joined


def _columns(rows: list[Row]) -> Iterator[Column]:
    while gutter := tallest_gutter(rows):
        yield from _columns(rows[: gutter.first])
        inside = rows[gutter.first : gutter.last + 1]
        yield from (_beside if gutter.parts_columns else _zone)(inside, *sides_of(inside, gutter.middle))
        rows = rows[gutter.last + 1 :]
    yield [line_of(row) for row in rows]


def _beside(rows: list[Row], left: list[Row], right: list[Row]) -> Iterator[Column]:
    """Two columns that were drawn as such. A title above the right one is read before smaller names on the left."""
    if _are_values(left, right):
        yield table_rows(rows, drawn_by_columns=True)
        return
    title = _title(left, right)
    for side in (right[:title], left, right[title:]):
        yield from _columns(side)


def _title(left: list[Row], right: list[Row]) -> int:
    """How many lines the title above the right column has: it is larger than the line below it and than all names."""
    size = right[0][0].height
    lines = next((n for n, row in enumerate(right) if LARGER * row[0].height < size), 0)
    above_names = size > LARGER * max(run.height for row in left for run in row) and not is_prose(left)
    return lines if above_names and lines <= TITLE else 0


def _zone(rows: list[Row], left: list[Row], right: list[Row]) -> Iterator[Column]:
    """The rows beside another gutter: a table, columns, or blocks that stand one below the other."""
    if _is_table(rows, left, right):
        yield table_rows(rows, drawn_by_columns=changes(left, right) <= 2)
        return
    sizes = sorted(median(run.height for row in side for run in row) for side in (left, right))
    one_size = sizes[0] > OTHER_SIZE * sizes[1]  # the names beside a letter are smaller
    blocks = [rows]
    if one_size and changes(left, right) > 1 and not is_prose(left) and not is_prose(right):
        blocks = _blocks(rows)
    for block in blocks if len(blocks) > 1 else (left, right):
        yield from _columns(block)


def _is_table(rows: list[Row], left: list[Row], right: list[Row]) -> bool:
    """Whether the rows were drawn one after the other, each with its cells, or hold numbers beside names."""
    turns, both, fewest = changes(left, right), _aligned(left, right), min(len(left), len(right))
    if turns <= 2:
        return _are_values(left, right)
    if turns > 1.6 * fewest and is_prose(left) and is_prose(right):  # columns that were drawn line by line
        return False
    on_right = {run.order for row in right for run in row}
    drawn = [[order in on_right for order in sorted(run.order for run in band)] for band in bands_of(rows)]
    of_both = [band for band in drawn if len(set(band)) == 2]
    as_rows = [band for band in of_both if band == sorted(band)]
    if len(as_rows) > 1 and sum(map(len, as_rows)) > 0.7 * sum(map(len, of_both)):
        return True
    return both >= 0.8 * fewest


def _are_values(left: list[Row], right: list[Row]) -> bool:
    """Whether the right side has numbers beside the names of the left."""
    both, values = _aligned(left, right), sum(bool(VALUE.fullmatch(row[0].text)) for row in right)
    return both > 2 and both > 0.9 * min(len(left), len(right)) and values > 0.6 * len(right)


def _aligned(left: list[Row], right: list[Row]) -> int:
    """How many lines of one side have one at the same height on the other side."""
    heights = sorted(row[0].bottom for row in right)
    near = [ALIGNED * row[0].height for row in left]
    firsts = [bisect(heights, row[0].bottom - least) for row, least in zip(left, near, strict=True)]
    ends = [bisect_left(heights, row[0].bottom + least) for row, least in zip(left, near, strict=True)]
    return sum(first < end for first, end in zip(firsts, ends, strict=True))


def _blocks(rows: list[Row]) -> list[list[Row]]:
    blocks, apart = [rows[:1]], space_apart(rows)
    for above, below in pairwise(rows):
        if min(run.top for run in below) - max(run.bottom for run in above) < apart:
            blocks[-1].append(below)
        else:
            blocks.append([below])
    return blocks
