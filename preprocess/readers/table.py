"""Tables in text: CSV and TSV with a header line; a quoted value may hold line breaks."""

import csv
import re
import sys
from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Line, read_lines
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
    lines = read_lines(file, options, log)
    first, delimiter = _next_filled(lines), ""
    if first and (excel := SEPARATOR.fullmatch(first.text)):
        first, delimiter = _next_filled(lines), excel[1]
    if first is None:
        return
    rows = rows_of(chain([first], lines), options.delimiter or delimiter or delimiter_of(file, options, first.text))
    start, _, row, fault = next(rows)
    header = _header(f"{readable(file)}, line {start}", options, row, fault)
    for number, (start, end, row, fault) in enumerate(rows, 1):
        with log.refusing(options, file, place_of(start, end)):
            if fault:
                raise fault
            if len(row) != len(header):
                counts = f"{len(row)}, not {len(header)}"
                raise Fault("another number of values than the header", "quote values that hold the delimiter", counts)
            yield document_of(dict(zip(header, row, strict=True)), options, number, log)


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
