"""Tables in text: CSV and TSV with a header line; a quoted value may hold line breaks."""

import csv
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Cut, Line, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, place_of, readable
from preprocess.readers.record import document_of, text_paths

DELIMITERS = (",", ";", "\t", "|")
SEPARATOR = re.compile(r"sep=(.)\s*")  # Excel's own first line, for other Excels
# Before Python 3.11 the csv module refuses NUL characters. They pass it as one that Unicode says no text has.
NUL = "\ufdd0"
csv.field_size_limit(min(LONGEST, sys.maxsize))  # its own limit is 131,072 characters: an article has more


def rows_of(lines: Iterator[Line], delimiter: str) -> Iterator[tuple[int, int, list[str], Fault | None]]:
    """The rows of a table, each with the numbers of its first and last line and what is wrong with it.

    After a row that cannot be read, reading goes on with the line below its first one: a quotation mark that is never
    closed takes one row with it, not the rest of the file.
    """
    again: deque[Line] = deque()
    taken: list[Line] = []

    def reader() -> Iterator[list[str]]:
        return csv.reader(feed(), delimiter=delimiter, strict=True)

    def feed() -> Iterator[str]:
        size = 0
        while line := again.popleft() if again else next(lines, None):
            size = size + len(line.text) if taken else 0
            taken.append(line)
            if size > LONGEST:
                raise csv.Error(f"no end of the value within {LONGEST // 1_000_000} MB")
            yield line.text.replace("\0", NUL) + "\n"

    rows = reader()
    while True:
        taken.clear()
        row, fault = [], None
        try:
            row = [value.replace(NUL, "\0") for value in next(rows)]
        except StopIteration:
            return
        except csv.Error as error:
            fault = Fault("quotation marks that do not fit", "double those inside it", str(error))
            again.extendleft(reversed(taken[1:]))
            del taken[1:]
            rows = reader()
        fault = next((line.fault for line in taken if line.fault), fault)
        if row or fault:
            yield taken[0].number, taken[-1].number, row, fault


def read_table(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a row, its text and the rest from the columns that `options` names."""
    part = options.part
    if part:
        top, lines = top_of(file, options), read_lines(file, options, log, beyond=True)
    else:
        lines = read_lines(file, options, log)
        top = _top(file, options, lines)
    if top is None:
        return
    header = top.names
    for number, (start, end, row, fault) in enumerate(rows_of(lines, top.delimiter), 1 + (part.records if part else 0)):
        if part and part.last and start > part.last:
            return
        with log.refusing(options, file, place_of(start, end)):
            if fault:
                raise fault
            if len(row) != len(header):
                counts = f"{len(row)}, not {len(header)}"
                raise Fault("another number of values than the header", "quote values that hold the delimiter", counts)
            yield document_of(dict(zip(header, row, strict=True)), options, number, log)


def table_cuts(file: Path, options: ReadOptions, past: int) -> Iterator[Cut]:
    """A table can be divided before any row. From the middle of a row, a row is likely one if it has a value for each
    name of the header, and no single quotation mark."""
    top, lines = top_of(file, options), read_lines(file, options, ReadLog(), beyond=True)
    assert top
    records = 0
    for start, _, row, fault in rows_of(lines, top.delimiter):
        likely = not fault and len(row) == len(top.names) and sum(value.count('"') for value in row) % 2 == 0
        yield Cut(start, records, likely)
        records += 1
    yield Cut(None, records)


class Top(NamedTuple):
    """What stands above the rows of a table."""

    names: list[str]
    delimiter: str
    below: int  # the line below it


def top_of(file: Path, options: ReadOptions) -> Top | None:
    """The header of a table, none of an empty file. Raises InputError for one that does not fit the options."""
    with closing(read_lines(file, options.with_changes(part=None), ReadLog())) as lines:
        return _top(file, options, lines)


def _top(file: Path, options: ReadOptions, lines: Iterator[Line]) -> Top | None:
    first, delimiter = _next_filled(lines), ""
    if first and (excel := SEPARATOR.fullmatch(first.text)):
        first, delimiter = _next_filled(lines), excel[1]
    if first is None:
        return None
    delimiter = options.delimiter or delimiter or delimiter_of(file, options, first.text)
    start, end, row, fault = next(rows_of(chain([first], lines), delimiter))
    return Top(_header(f"{readable(file)}, line {start}", options, row, fault), delimiter, end + 1)


def _next_filled(lines: Iterator[Line]) -> Line | None:
    return next((line for line in lines if line.fault or line.text.strip()), None)


def delimiter_of(file: Path, options: ReadOptions, header: str) -> str:
    """The character between the header's names, if there is no doubt."""
    if options.format == "tsv":
        return "\t"
    outside = "".join(header.split('"')[::2])
    there = [delimiter for delimiter in DELIMITERS if delimiter in outside]
    if len(there) > 1:
        signs = " or ".join(map(repr, there))
        raise InputError(f"{readable(file)}, line 1: {signs} may divide the values; say which with --delimiter.")
    return there[0] if there else ","


def _header(place: str, options: ReadOptions, row: list[str], fault: Fault | None) -> list[str]:
    if fault:
        raise InputError(f"{place}: {fault}; {fault.remedy}.")
    header = [name.strip() for name in row]
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{place}: two columns named '{twice[0]}'; give each a name of its own.")
    check_columns(place, options, header)
    return header


def check_columns(place: str, options: ReadOptions, columns: list[str]) -> None:
    """Raise InputError when a column that `options` names is not there."""
    for name in (*text_paths(options), *options.named_paths()):
        if name not in columns and name.partition(".")[0] not in columns:
            raise InputError(
                f"{place}: no column '{name}'; the columns are {', '.join(columns)}: name the one that holds the text "
                f"with --text-field, others with --id-field, --date-field and --metadata."
            )
