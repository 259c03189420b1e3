"""The gutters of a page: upright strips without text, with text on both of their sides."""

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from preprocess.readers.pdf.boxes import NEAR, Run, line_gap
from preprocess.readers.pdf.prose import is_prose

Row = list[Run]  # of one baseline, from left to right

APART = 0.4  # of the height, more than between two lines: the space between two lines of different blocks
LEAST = 4  # lines of a column that was drawn as one
INDENT = 3  # heights: the lines of a column begin no further from its left edge, but for titles and signatures


class Gutter(NamedTuple):
    """A strip without text between `left` and `right`, in the rows from `first` to `last`."""

    left: float
    right: float
    first: int
    last: int
    parts_columns: bool = False  # each was drawn as one

    @property
    def middle(self) -> float:
        """Runs that begin left of it are on the left side."""
        return (self.left + self.right) / 2


def tallest_gutter(rows: Sequence[Row]) -> Gutter | None:
    """The gutter beside which most rows stand, cut where only one side has text; one that parts columns goes first."""
    if all(len(row) == 1 for row in rows) and all(_follows(a[0], b[0]) for a, b in pairwise(rows)):
        return None
    page, best = _Rows(rows), None
    for gutter in sorted(page.strips(), key=_size, reverse=True):
        is_lower = best is not None and _size(best)[1] > _size(gutter)[1]
        if best and is_lower and (best.parts_columns or gutter.last - gutter.first < LEAST - 1):
            break
        cut = page.cut(gutter, only_columns=is_lower)
        if cut and (best is None or _size(cut) > _size(best)):
            best = cut
    return best


def _follows(above: Run, below: Run) -> bool:
    return above.order < below.order and above.left < below.right and below.left < above.right


def _size(gutter: Gutter) -> tuple[bool, int, float]:
    return gutter.parts_columns, gutter.last - gutter.first, gutter.right - gutter.left


def sides_of(rows: Sequence[Row], middle: float) -> tuple[list[Row], list[Row]]:
    """The rows left and right of a gutter."""
    left = [side for row in rows if (side := [run for run in row if run.left < middle])]
    right = [side for row in rows if (side := [run for run in row if run.left >= middle])]
    return left, right


def changes(left: Sequence[Row], right: Sequence[Row]) -> int:
    """How often the drawing went on at the other side."""
    sides = sorted([(run.order, side) for side, rows in enumerate((left, right)) for row in rows for run in row])
    return sum(before[1] != after[1] for before, after in pairwise(sides))


def space_apart(rows: Sequence[Row]) -> float:
    """The space between two lines of different blocks."""
    runs = [run for row in rows for run in row]
    return line_gap(runs) + APART * median(run.height for run in runs)


class _Rows:
    """Rows with their edges and with the places in the order of drawing."""

    def __init__(self, rows: Sequence[Row]):
        self.rows = rows
        self.begins, self.ends = [row[0].left for row in rows], [row[-1].left for row in rows]
        self.tops = [min(run.top for run in row) for row in rows]
        self.bottoms = [max(run.bottom for run in row) for row in rows]
        self.lowest = [min(run.order for run in row) for row in rows]
        self.highest = [max(run.order for run in row) for row in rows]
        self.apart = space_apart(rows)

    def strips(self) -> Iterator[Gutter]:
        """All strips that cannot be made higher; their sides may be empty."""
        far_left, far_right = min(self.begins), max(run.right for row in self.rows for run in row)
        least = NEAR * median(run.height for row in self.rows for run in row)
        unfinished: dict[tuple[float, float], int] = {}
        for number, row in enumerate([*self.rows, []]):
            free = [gap for gap in _free(row, far_left, far_right) if gap[1] - gap[0] >= least] if row else []
            free_ends = [b for _, b in free]
            going_on: dict[tuple[float, float], int] = {}
            for (left, right), first in unfinished.items():
                whole = False
                for a, b in free[bisect(free_ends, left) :]:
                    if a >= right:
                        break
                    a, b = max(a, left), min(b, right)
                    if b - a >= least:
                        going_on[a, b] = min(first, going_on.get((a, b), first))
                        whole = whole or (a, b) == (left, right)
                if not whole and left > far_left and right < far_right:
                    yield Gutter(left, right, first, number - 1)
            for gap in free:
                going_on.setdefault(gap, number)
            unfinished = going_on

    def cut(self, gutter: Gutter, only_columns: bool) -> Gutter | None:
        """The part of a gutter between columns, or between other lines beside each other; None if it is short."""
        parts = [part for part in self._parts(gutter) if self._has_both(part, gutter.middle)]
        if not parts:
            return None if only_columns else self._between_staggered(gutter)
        found = self._between_columns(gutter, parts)
        return found if found or only_columns else self._between_lines(gutter, parts[0][0])

    def _parts(self, gutter: Gutter) -> Iterator[tuple[int, int]]:
        """The rows, parted where all that is above was drawn before all that is below."""
        numbers = range(gutter.first, gutter.last + 1)
        below = list(accumulate((self.lowest[n] for n in reversed(numbers)), min))[::-1]
        above = accumulate((self.highest[n] for n in numbers), max)
        begin = gutter.first
        for n, drawn, next_drawn in zip(numbers, above, [*below[1:], math.inf], strict=True):
            if next_drawn > drawn:
                yield begin, n
                begin = n + 1

    def _has_both(self, part: tuple[int, int], middle: float) -> bool:
        first, last = part
        return min(self.begins[first : last + 1]) < middle <= max(self.ends[first : last + 1])

    def _between_columns(self, gutter: Gutter, parts: Sequence[tuple[int, int]]) -> Gutter | None:
        """The gutter beside two columns, if each of them was drawn as one."""
        first, last = max(parts, key=lambda part: part[1] - part[0])
        left, right = sides_of(self.rows[first : last + 1], gutter.middle)
        if min(len(left), len(right)) < LEAST or changes(left, right) > 2:
            return None
        first = self._upper_end(gutter, first, min(row[0].left for row in right))
        goes_on = [self._is_right, self._is_next_left]
        is_left_last = max(run.order for row in right for run in row) < max(run.order for row in left for run in row)
        while last < gutter.last and goes_on[is_left_last](last + 1, gutter.middle):
            last += 1
        return gutter._replace(first=first, last=last, parts_columns=True)

    def _is_right(self, n: int, middle: float) -> bool:
        return self.begins[n] >= middle

    def _is_next_left(self, n: int, middle: float) -> bool:
        return self.begins[n] >= middle or self.ends[n] < middle and self._is_near(n - 1)

    def _upper_end(self, gutter: Gutter, first: int, edge: float) -> int:
        """Where two columns begin. Lines above the left one belong to the right one if they begin at its edge, with
        those that stand near them; the title of a page does not."""
        while first > gutter.first and self.ends[first - 1] < gutter.middle and self._is_near(first - 1):
            first -= 1
        while self.begins[first] >= gutter.middle:
            first += 1
        found = first
        for n in range(first - 1, gutter.first - 1, -1):
            begins_at_edge = self.begins[n] < edge + INDENT * self.rows[n][0].height
            if self.begins[n] < gutter.middle or not begins_at_edge and not self._is_near(n):
                break
            if begins_at_edge:
                found = n
        return found

    def _between_staggered(self, gutter: Gutter) -> Gutter | None:
        """The gutter beside lines of which none has one of the other side at its height."""
        sides = [self.begins[n] < gutter.middle for n in range(gutter.first, gutter.last + 1)]
        begins = [n for n, (above, below) in enumerate(pairwise(sides)) if above != below]
        return self._between_lines(gutter, gutter.first + begins[0]) if len(begins) >= LEAST else None

    def _between_lines(self, gutter: Gutter, first: int) -> Gutter | None:
        """The gutter beside other lines, from `first` on."""
        numbers, middle = range(first, gutter.last + 1), gutter.middle
        left = [n for n in numbers if self.begins[n] < middle]
        right = [n for n in numbers if self.ends[n] >= middle]
        last = min(left[-1], right[-1])
        goes_on = self._goes_on(left, right, middle)
        while last < gutter.last and goes_on(last + 1):
            last += 1
        beside = [sum(n <= last for n in side) for side in (left, right)]
        if min(beside) < 2 or last - first < 3 and self._is_justified(gutter, first, last):
            return None
        return gutter._replace(first=first, last=last)

    def _goes_on(self, left: Sequence[int], right: Sequence[int], middle: float) -> Callable[[int], bool]:
        """A test of a row below the end of one side: whether it belongs to the other side, or begins a new block."""
        orders = [run.order for n in right for run in self.rows[n] if run.left >= middle]
        lowest, highest = min(orders), max(orders)

        def test(n: int) -> bool:
            near = self._is_near(n - 1)
            if self.begins[n] >= middle:
                return near
            drawn = self.lowest[n]
            return drawn < lowest or near and (drawn < highest or is_prose([self.rows[n] for n in left]))

        return test

    def _is_justified(self, gutter: Gutter, first: int, last: int) -> bool:
        """Whether the rows are lines of one justified column, as the line above or below them."""
        around_them = [n for n in (first - 1, last + 1) if 0 <= n < len(self.rows) and len(self.rows[n]) == 1]
        ends = [(self.begins[n], self.rows[n][-1].right) for n in around_them]
        if gutter.right - gutter.left < self.rows[first][0].height:
            near = [(n, end) for n, end in zip(around_them, ends, strict=True) if self._is_near(min(n, last))]
            if any(self.begins[n] < gutter.left and end[1] > gutter.right for n, end in near):
                return True
        inside = [(self.begins[n], self.rows[n][-1].right) for n in range(first, last + 1)]
        return any(all(max(abs(a - b) for a, b in zip(end, other, strict=True)) < 1.5 for other in inside)
                   for end in ends)  # fmt: skip

    def _is_near(self, n: int) -> bool:
        """Whether no more space than between lines of one block is below a row."""
        return self.tops[n + 1] - self.bottoms[n] < self.apart


def _free(row: Row, far_left: float, far_right: float) -> list[tuple[float, float]]:
    strips, left = [], far_left - 1
    for run in row:
        if run.left > left:
            strips.append((left, run.left))
        left = max(left, run.right)
    return [*strips, (left, far_right + 1)]
