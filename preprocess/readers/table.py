"""Tables in text: CSV and TSV with a header line; a quoted value may hold line breaks."""

import csv
import re
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Fault, Line, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog, readable
from preprocess.readers.record import InvalidRecord, document_of

DELIMITERS = (",", ";", "\t", "|")
SEPARATOR = re.compile(r"sep=(.)\s*")  # Excel's own first line, for other Excels
# Before Python 3.11 the csv module refuses NUL characters. They pass it as one that Unicode says no text has.
NUL = "\ufdd0"
csv.field_size_limit(min(LONGEST, sys.maxsize))  # its own limit is 131,072 characters: an article has more


class Rows:
    """The rows of a table, each with the numbers of its first and last line and what is wrong with it.

    After a row that cannot be read, reading goes on with the line below its first one: a quotation mark that is never
    closed takes one row with it, not the rest of the file.
    """

    def __init__(self, lines: Iterator[Line], delimiter: str):
        self.lines = lines
        self.delimiter = delimiter
        self.again: deque[Line] = deque()
        self.taken: list[Line] = []

    def __iter__(self) -> Iterator[tuple[int, int, list[str], Fault | None]]:
        reader = self._reader()
        while True:
            self.taken = []
            try:
                row = [value.replace(NUL, "\0") for value in next(reader)]
            except StopIteration:
                return
            except csv.Error as error:
                fault: Fault | None = Fault("quotation marks that do not fit", "double those inside it", str(error))
                fault = self.taken[0].fault or fault
                self.again.extendleft(reversed(self.taken[1:]))
                reader = self._reader()
                yield self.taken[0].number, self.taken[0].number, [], fault
                continue
            fault = next((line.fault for line in self.taken if line.fault), None)
            if row or fault:
                yield self.taken[0].number, self.taken[-1].number, row, fault

    def _reader(self) -> Iterator[list[str]]:
        return csv.reader(self._feed(), delimiter=self.delimiter, strict=True)

    def _feed(self) -> Iterator[str]:
        size = 0
        while line := self.again.popleft() if self.again else next(self.lines, None):
            size = size + len(line.text) if self.taken else 0
            self.taken.append(line)
            if size > LONGEST:
                raise csv.Error(f"no end of the value within {LONGEST // 1_000_000} MB")
            yield line.text.replace("\0", NUL) + "\n"


def read_table(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a row, its text and the rest from the columns that `options` names."""
    lines = read_lines(file, options, log)
    first, said = _next_filled(lines), ""
    if first and (excel := SEPARATOR.fullmatch(first.text)):
        first, said = _next_filled(lines), excel[1]
    if first is None:
        return
    rows = Rows(lines, options.delimiter or said or delimiter_of(file, first.text))
    rows.again.append(first)
    records = iter(rows)
    header = _header(file, options, *next(records))
    for number, (start, end, row, fault) in enumerate(records, 1):
        if not fault and len(row) != len(header):
            fault = Fault("another number of values than the header", "quote values that hold the delimiter")
            fault = fault._replace(detail=f"{len(row)}, not {len(header)}")
        try:
            if not fault:
                yield document_of(dict(zip(header, row, strict=True)), options, number, keep_rest=False, log=log)
        except InvalidRecord as unfit:
            fault = unfit.fault
        if fault:
            place = f"line {start}" if start == end else f"lines {start} to {end}"
            log.refuse(options, file, place, fault.reason, fault.remedy, fault.detail)


def _next_filled(lines: Iterator[Line]) -> Line | None:
    return next((line for line in lines if line.fault or line.text.strip()), None)


def delimiter_of(file: Path, header: str) -> str:
    """The character between the header's names, if there is no doubt."""
    if ".tsv" in file.suffixes:
        return "\t"
    outside = "".join(header.split('"')[::2])
    there = [delimiter for delimiter in DELIMITERS if delimiter in outside]
    if len(there) > 1:
        signs = " or ".join(map(repr, there))
        raise InputError(f"{readable(file)}, line 1: {signs} may divide the values; say which with --delimiter.")
    return there[0] if there else ","


def _header(
    file: Path, options: ReadOptions, start: int, end: int, header: list[str], fault: Fault | None
) -> list[str]:
    place = f"{readable(file)}, line {start}"
    if fault:
        raise InputError(f"{place}: {fault}; {fault.remedy}.")
    header = [name.strip() for name in header]
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{place}: two columns named '{twice[0]}'; give each a name of its own.")
    check_columns(place, options, header)
    return header


def check_columns(place: str, options: ReadOptions, columns: list[str]) -> None:
    """Raise InputError when a column that `options` names is not there."""
    for name in (*(options.text or ("text",)), *filter(None, (options.id, options.date)), *options.metadata.values()):
        if name not in columns and name.partition(".")[0] not in columns:
            raise InputError(
                f"{place}: no column '{name}'; the columns are {', '.join(columns)}: name the one that holds the text "
                f"with --text-field, others with --id-field, --date-field and --metadata."
            )
