"""The reading order of a page: its columns from left to right, the rows of its tables, lines from above to below.

A gutter is an upright strip without text, with text on both of its sides. Whether it parts columns, which are read one
after the other, or the cells of a table, is told by the lines beside it and by the order in which they were drawn.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from preprocess.readers.pdf.boxes import NEAR, SHIFT, Line, Run, around, line_gap
from preprocess.readers.pdf.tables import bands_of, table_rows

Row = list[Run]  # of one baseline, from left to right
Column = list[Line]  # lines that follow each other in one column
Page = list[Column]

FULL, LETTERS = 0.75, 28  # of the width of a column: a line of prose is as long; its characters
APART = 0.4  # of the height, more than between two lines: the space between two lines of different blocks
MARK = re.compile(r"[-–—•*·▪◦○●■□➢✓o]|(?:\d{1,2}|[a-zA-Z])[.)]")  # of an item in a list
MARK_GAP = 4  # heights between a mark and its item
OTHER_SIZE = 0.9  # of the height: text of another kind is smaller
ALIGNED = 0.1  # of the height: by how much the cells of a row differ
VALUE = re.compile(r"[<>≤≥±+-]?\s?\d[\d.,/\s-]*\S{0,8}")  # a result in a table, with its unit


class Gutter(NamedTuple):
    """A strip without text between `left` and `right`, in the rows from `first` to `last`."""

    left: float
    right: float
    first: int
    last: int


def columns_of(runs: Sequence[Run]) -> Page:
    """The lines of a page in reading order."""
    return [column for column in _columns(rows_of(runs)) if column]


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """The runs by baseline. An index that stands alone belongs to the row that it overlaps."""
    rows: list[Row] = []
    for run in sorted(runs, key=lambda run: (run.bottom, run.left)):
        if rows and run.bottom - rows[-1][0].bottom < SHIFT * min(run.height, rows[-1][0].height):
            rows[-1].append(run)
        else:
            rows.append([run])
    return [_with_marks(sorted(row, key=lambda run: run.left)) for row in rows]


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
    while gutter := _tallest(rows):
        middle = (gutter.left + gutter.right) / 2
        inside = rows[gutter.first : gutter.last + 1]
        left = [side for row in inside if (side := [run for run in row if run.left < middle])]
        right = [side for row in inside if (side := [run for run in row if run.left >= middle])]
        yield from _columns(rows[: gutter.first])
        yield from _zone(inside, left, right)
        rows = rows[gutter.last + 1 :]
    yield [_line(row) for row in rows]


def _line(row: Row) -> Line:
    parts = [row[0].text]
    for before, run in pairwise(row):
        parts += [" " if run.left - before.right > 0.1 * run.height else "", run.text]
    return Line("".join(parts), *around(row))


def _tallest(rows: list[Row]) -> Gutter | None:
    """The gutter beside which most rows stand, cut where only one side has text."""
    gutters = list(_gutters(rows))
    apart = _apart(rows) if gutters else 0.0
    found = [cut for gutter in gutters if (cut := _cut(rows, gutter, apart))]
    return max(found, key=lambda gutter: (gutter.last - gutter.first, gutter.right - gutter.left), default=None)


def _gutters(rows: list[Row]) -> Iterator[Gutter]:
    """All strips that cannot be made higher; their sides may be empty."""
    if sum(map(len, rows)) < 3:
        return
    far_left, _, far_right, _ = around([run for row in rows for run in row])
    least = NEAR * median(run.height for row in rows for run in row)
    unfinished: dict[tuple[float, float], int] = {}
    for number, row in enumerate([*rows, []]):
        free = _free(row, far_left, far_right) if row else []
        going_on: dict[tuple[float, float], int] = {}
        for (left, right), first in unfinished.items():
            whole = False
            for a, b in free:
                a, b = max(a, left), min(b, right)
                if b - a >= least:
                    going_on[a, b] = min(first, going_on.get((a, b), first))
                    whole = whole or (a, b) == (left, right)
            if not whole and left > far_left and right < far_right:
                yield Gutter(left, right, first, number - 1)
        for a, b in free:
            if b - a >= least:
                going_on.setdefault((a, b), number)
        unfinished = going_on


def _free(row: Row, far_left: float, far_right: float) -> list[tuple[float, float]]:
    strips, left = [], far_left - 1
    for run in row:
        if run.left > left:
            strips.append((left, run.left))
        left = max(left, run.right)
    return [*strips, (left, far_right + 1)]


def _cut(rows: list[Row], gutter: Gutter, apart: float) -> Gutter | None:
    """The part of a gutter between lines that stand beside each other; None if it is short."""
    middle = (gutter.left + gutter.right) / 2
    numbers = range(gutter.first, gutter.last + 1)
    left = [n for n in numbers if rows[n][0].left < middle]
    right = [n for n in numbers if rows[n][-1].left >= middle]
    if min(len(left), len(right)) == 0 or max(len(left), len(right)) < 2:
        return None
    first, last = max(left[0], right[0]), min(left[-1], right[-1])
    while first > gutter.first and _near(rows[first - 1], rows[first], apart):
        first -= 1
    goes_on = _goes_on([rows[n] for n in left], [rows[n] for n in right], middle)
    while last < gutter.last and goes_on(rows[last + 1], _near(rows[last], rows[last + 1], apart)):
        last += 1
    beside = [{n for n in side if first <= n <= last} for side in (left, right)]
    few, many = sorted(beside, key=len)
    stands_alone = len(few) == 1 and few.isdisjoint(many) and min(many) < min(few) < max(many)
    if len(few) < 2 and not stands_alone or last - first < 3 and _is_justified(rows, first, last):
        return None
    return gutter._replace(first=first, last=last)


def _goes_on(left: list[Row], right: list[Row], middle: float) -> Callable[[Row, bool], bool]:
    """A test of a row below the end of one side: whether it belongs to the other side, or begins a new block."""
    orders = [run.order for row in right for run in row if run.left >= middle]
    is_prose = _is_prose(left)

    def test(row: Row, near: bool) -> bool:
        if row[0].left >= middle:
            return near
        drawn = min(run.order for run in row)
        return drawn < min(orders) or near and (is_prose or drawn < max(orders))

    return test


def _is_justified(rows: list[Row], first: int, last: int) -> bool:
    """Whether the rows are lines of one justified column, as the line above or below them."""
    ends = [(row[0].left, row[-1].right) for row in rows[max(0, first - 1) : last + 2]]
    inside = ends[min(first, 1) :][: last - first + 1]
    around_them = [end for row, end in zip(rows[max(0, first - 1) : last + 2], ends, strict=True) if len(row) == 1]
    return any(all(max(abs(a - b) for a, b in zip(end, other, strict=True)) < 1.5 for other in inside)
               for end in around_them)  # fmt: skip


def _near(above: Row, below: Row, apart: float) -> bool:
    return min(run.top for run in below) - max(run.bottom for run in above) < apart


def _apart(rows: list[Row]) -> float:
    """The space between two lines of different blocks."""
    runs = [run for row in rows for run in row]
    return line_gap(runs) + APART * median(run.height for run in runs)


def _zone(rows: list[Row], left: list[Row], right: list[Row]) -> Iterator[Column]:
    """The rows beside a gutter: a table, columns, or blocks that stand one below the other."""
    if _is_table(rows, left, right):
        yield table_rows(rows, _changes(left, right) <= 2)
        return
    blocks = _blocks(rows)
    prose = [_is_prose(side) for side in (left, right)]
    sizes = sorted(median(run.height for row in side for run in row) for side in (left, right))
    one_size = sizes[0] > OTHER_SIZE * sizes[1]  # the names beside a letter are smaller
    if one_size and _changes(left, right) > 1 and len(blocks) > 1 and not all(prose):
        beside = sum(len(block) for block in blocks if _has_both(block, left, right))
        if not any(prose) or beside < 0.5 * len(rows):
            for block in blocks:
                yield from _columns(block)
            return
    yield from _columns(left)
    yield from _columns(right)


def _is_table(rows: list[Row], left: list[Row], right: list[Row]) -> bool:
    """Whether the rows were drawn one after the other, each with its cells, or hold numbers beside names."""
    changes, both, fewest = _changes(left, right), _aligned(left, right), min(len(left), len(right))
    if changes <= 2:
        values = sum(bool(VALUE.fullmatch(row[0].text)) for row in right)
        return both > 2 and both > 0.9 * fewest and values > 0.6 * len(right)
    if changes > 1.6 * fewest and _is_prose(left) and _is_prose(right):  # columns that were drawn line by line
        return False
    on_right = {run.order for row in right for run in row}
    drawn = [[order in on_right for order in sorted(run.order for run in band)] for band in bands_of(rows)]
    of_both = [band for band in drawn if len(set(band)) == 2]
    as_rows = [band for band in of_both if band == sorted(band)]
    if len(as_rows) > (1 if both > 1 else 2) and sum(map(len, as_rows)) > 0.7 * sum(map(len, of_both)):
        return True
    return both >= 0.8 * fewest


def _changes(left: list[Row], right: list[Row]) -> int:
    """How often the drawing went on at the other side."""
    sides = sorted([(run.order, side) for side, rows in enumerate((left, right)) for row in rows for run in row])
    return sum(before[1] != after[1] for before, after in pairwise(sides))


def _aligned(left: list[Row], right: list[Row]) -> int:
    """How many lines of one side have one at the same height on the other side."""
    heights = [row[0].bottom for row in right]
    return sum(any(abs(row[0].bottom - other) < ALIGNED * row[0].height for other in heights) for row in left)


def _is_prose(rows: list[Row]) -> bool:
    """Whether lines are long, and fill their column."""
    lines = [_line(row) for row in rows]
    left, _, right, _ = around(lines)
    full = sum(line.right - line.left > FULL * (right - left) and len(line.text) >= LETTERS for line in lines)
    return full > 3 and full >= 0.4 * len(lines)


def _has_both(block: list[Row], left: list[Row], right: list[Row]) -> bool:
    runs = {run.order for row in block for run in row}
    return all(any(run.order in runs for row in side for run in row) for side in (left, right))


def _blocks(rows: list[Row]) -> list[list[Row]]:
    blocks, apart = [rows[:1]], _apart(rows)
    for above, below in pairwise(rows):
        if _near(above, below, apart):
            blocks[-1].append(below)
        else:
            blocks.append([below])
    return blocks
