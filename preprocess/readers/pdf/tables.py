"""The rows of a table on a PDF page, each a line; its cells are divided by " | "."""

from collections.abc import Iterator, Sequence

from preprocess.readers.pdf.boxes import SHIFT, Line, Run, around, line_gap

LARGER = 1.05  # of the height: that of a heading


def table_rows(rows: Sequence[Sequence[Run]], drawn_by_columns: bool) -> list[Line]:
    """The rows of a table, of which `rows` are the lines: a cell may have several, unless the table was drawn column
    by column."""
    bands = rows if drawn_by_columns else list(bands_of(rows))
    return [line for band in bands for line in _band_rows(band, len(bands) == 1)]


def _band_rows(band: Sequence[Run], is_tight: bool) -> Iterator[Line]:
    columns = _columns(band)
    if len(columns) == 1:  # a list or a title between two tables
        yield from (Line(run.text, *run[1:5]) for run in sorted(band, key=lambda run: run.bottom))
        return
    yield from (_row(runs, columns) for runs in _drawn_rows(band, columns, is_tight))


def _columns(runs: Sequence[Run]) -> list[float]:
    """Where each column begins. A run that reaches over several, as a title does, is left out."""
    narrow = sorted(runs, key=lambda run: run.right - run.left)[: len(runs) - len(runs) // 10]
    lefts: list[float] = []
    right = float("-inf")
    for run in sorted(narrow, key=lambda run: run.left):
        if run.left > right + SHIFT * run.height:
            lefts.append(run.left)
        right = max(right, run.right)
    return lefts


def _column(run: Run, columns: Sequence[float]) -> int:
    middle = run.left + min(run.right - run.left, run.height) / 2
    return max((number for number, left in enumerate(columns) if left <= middle), default=0)


def bands_of(rows: Sequence[Sequence[Run]]) -> Iterator[list[Run]]:
    """The runs between strips without text, as wide as the table, that are higher than those inside cells."""
    least = line_gap([run for row in rows for run in row])
    band: list[Run] = []
    bottom = float("-inf")
    for row in sorted(rows, key=lambda row: min(run.top for run in row)):
        _, top, _, below = around(row)
        if band and top - bottom > least:
            yield band
            band = []
        band += row
        bottom = max(bottom, below)
    yield band


def _drawn_rows(band: Sequence[Run], columns: Sequence[float], is_tight: bool) -> Iterator[list[Run]]:
    """The rows of a band: one begins where the drawing went back to a column further left, and in a table without
    space between its rows, or below a heading of another size, where it stayed in the first."""
    row: list[Run] = []
    before = 0
    for run in sorted(band, key=lambda run: run.order):
        column = _column(run, columns)
        below = bool(row) and run.top > max(other.bottom for other in row) - SHIFT * run.height
        stays = column == before == 0 and len(row) == 1
        if below and (column < before or stays and (is_tight or row[0].height > LARGER * run.height)):
            yield row
            row = []
        row.append(run)
        before = column
    yield row


def _row(runs: Sequence[Run], columns: Sequence[float]) -> Line:
    cells: list[list[Run]] = []
    before = -1
    for run in sorted(runs, key=lambda run: (_column(run, columns), run.bottom, run.left)):
        column = _column(run, columns)
        if column == before and abs(run.bottom - cells[-1][-1].bottom) > SHIFT * run.height:
            cells[-1].append(run)
        else:
            cells.append([run])
        before = column
    text = " | ".join("\n".join(run.text for run in cell) for cell in cells)
    return Line(text, *around(runs), is_row=True)
