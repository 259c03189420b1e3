"""Rows of .tsv, .csv and .jsonl files, and which of their columns a task reads."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alibert_common.errors import InputError
from alibert_common.files import files_of, read_text
from downstream.data.examples import RowId
from downstream.data.readers.records import json_lines

Column = str | int  # its name in the first row or its key in JSON; its number, from 1, in a file without a first row

csv.field_size_limit(2**31 - 1)  # a document may be longer than the 131,072 characters that csv allows in a cell


@dataclass(frozen=True)
class Row:
    """The wanted cells of one row, by what the task calls them: text from tables, any value from JSON.

    name: an id for rows that have none.
    """

    place: str
    name: RowId
    cells: dict[str, Any]

    def text(self, key: str) -> str:
        """A cell that must be text."""
        value = self.cells[key]
        if not isinstance(value, str):
            raise InputError(f"{self.place}: the {key} is {value!r}; text is needed there.")
        return value

    def word(self, key: str) -> str:
        """A cell that names something (an id, a label), without outer spaces: text, or a number or truth value."""
        return word_of(self.cells[key], f"{self.place}: the {key}")

    def words(self, key: str, separator: str) -> list[str]:
        """The words of a cell that holds any number of them: divided by `separator`, or a JSON list."""
        value = self.cells[key]
        if isinstance(value, str):
            value = value.split(separator) if value.strip() else []
        parts = value if isinstance(value, list) else [value]
        return [word_of(part, f"{self.place}: one {key}") for part in parts]

    def number(self, key: str) -> float:
        """A cell that must be a number."""
        value = self.cells[key]
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise InputError(f"{self.place}: the {key} is {value!r}; a number with a decimal point is needed there.")
        return number

    def id(self) -> str:
        """The id's cell, or the row's name where no column holds ids."""
        return self.word("id") if "id" in self.cells else self.name

    def whose(self) -> tuple[str, str]:
        """Its group and its patient, empty where no column holds them."""
        group, patient = (self.word(key) if key in self.cells else "" for key in ("group", "patient"))
        return group, patient


def word_of(value: object, place: str) -> str:
    """The value as a word. Raises InputError for one that names nothing; place: of the value, for the error."""
    if isinstance(value, bool):
        value = str(value).lower()  # as JSON writes it
    if not isinstance(value, (str, int, float)) or not str(value).strip():
        raise InputError(f"{place} is {value!r}; a word or a number is needed there.")
    return str(value).strip()


def rows(
    path: Path, wanted: dict[str, Column | None], counts: Counter, delimiter: str | None = None,
    quoted: bool | None = None,
) -> Iterator[Row]:  # fmt: skip
    """The rows of a file, or of the .tsv, .csv and .jsonl files of a folder in the order of their names.

    wanted: what the task calls a column -> the column; None: there is none. Names mean that the first row holds the
    names; numbers, that there is no such row.
    delimiter: what divides cells; left out: the comma in .csv, the tab in all others.
    quoted: cells may stand in double quotes, as spreadsheets and pandas write them; left out: in .csv only, since in
    text that no program quoted a quotation mark is text. Cells in quotes that are kept with them are counted.

    Raises InputError naming file and line for a row with more or fewer cells than the first, a broken quotation, and
    for a column that is not there.
    """
    columns = {key: column for key, column in wanted.items() if column is not None}
    kinds = {type(column) for column in columns.values()}
    if kinds not in ({str}, {int}):
        raise InputError(f"{path}: columns are given {columns}; give all by name, or all by number (from 1).")
    for file in files_of(path, ".tsv", ".csv", ".jsonl"):
        if file.suffix == ".jsonl":
            records = _keyed(file, columns)
        else:
            in_quotes = file.suffix == ".csv" if quoted is None else quoted
            lines = _lines(file, delimiter or ("," if file.suffix == ".csv" else "\t"), in_quotes)
            records = _named(file, lines, columns) if kinds == {str} else _numbered(file, lines, columns)
        for number, cells in records:
            counts["cells that keep their quotes"] += sum(
                isinstance(cell, str) and len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells.values()
            )
            yield Row(f"{file}, line {number}", RowId(f"{file.stem}-{number}"), cells)


def _keyed(file: Path, wanted: dict[str, Column]) -> Iterator[tuple[int, dict[str, object]]]:
    for number, place, record in json_lines(file):
        for column in wanted.values():
            if column not in record:
                raise InputError(f"{place}: there is no key {column!r}; it has {', '.join(record)}.")
        yield number, {key: record[column] for key, column in wanted.items()}


def _named(file: Path, lines: Iterator, wanted: dict[str, Any]) -> Iterator[tuple[int, dict[str, object]]]:
    number, names = next(lines, (1, []))
    for column in wanted.values():
        if names.count(column) != 1:
            raise InputError(
                f"{file}, line {number}: {names.count(column)} columns are named {column!r}, one is needed; "
                f"the names there are {', '.join(names)}."
            )
    for number, cells in lines:
        yield number, {key: cells[names.index(column)] for key, column in wanted.items()}


def _numbered(file: Path, lines: Iterator, wanted: dict[str, Any]) -> Iterator[tuple[int, dict[str, object]]]:
    for number, cells in lines:
        for column in wanted.values():
            if not 1 <= column <= len(cells):
                raise InputError(f"{file}, line {number}: there is no column {column}, there are {len(cells)}.")
        yield number, {key: cells[column - 1] for key, column in wanted.items()}


def _lines(file: Path, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, cells) of each row that is not blank, all of one length."""
    text = read_text(file).removeprefix("\ufeff")
    width = None
    lines = ((number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1))
    plain = ((number, line.split(delimiter)) for number, line in lines if line)
    for number, cells in _quoted(file, text, delimiter) if quoted else plain:
        width = width or len(cells)
        if len(cells) != width:
            raise InputError(
                f"{file}, line {number}: {len(cells)} columns where the first line has {width}; correct the line, "
                "or say how cells are divided and quoted."
            )
        yield number, cells


def _quoted(file: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    try:
        for cells in reader:
            if cells:
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{file}, line {number}: not a row of quoted cells ({error}); correct the quotes.") from None
