"""Lines of runs, and whether they are prose."""

from collections.abc import Sequence
from itertools import pairwise

from preprocess.readers.pdf.boxes import Line, Run, around

FULL, LETTERS = 0.75, 28  # of the width of a column: a line of prose is as long; its characters


def line_of(row: Sequence[Run]) -> Line:
    """The runs of a row as one line."""
    if len(row) == 1:
        return Line(*row[0][:5])
    parts = [row[0].text]
    for before, run in pairwise(row):
        parts += [" " if run.left - before.right > 0.1 * run.height else "", run.text]
    return Line("".join(parts), *around(row))


def is_prose(rows: Sequence[Sequence[Run]]) -> bool:
    """Whether lines are long, and fill their column."""
    lines = [line_of(row) for row in rows]
    left, _, right, _ = around(lines)
    full = sum(line.right - line.left > FULL * (right - left) and len(line.text) >= LETTERS for line in lines)
    return full > 3 and full >= 0.4 * len(lines)
