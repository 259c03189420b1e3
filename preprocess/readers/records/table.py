"""Tables in text: CSV and TSV with a header line; a quoted value may hold line breaks."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Block, Cut, Line, read_blocks
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, place_of, readable
from preprocess.readers.records.omop import with_omop_columns
from preprocess.readers.records.record import document_of, text_paths

SHOWN = 50  # columns that a message names
DELIMITERS = (",", ";", "\t", "|")
# A line, and those below it up to one at whose end every quotation mark has another.
ROW = re.compile(r'[^"\n]*(?:"[^"]*"[^"\n]*)*\n')
SEPARATOR = re.compile(r"sep=(.)\s*")  # Excel's own first line, for other Excels
# Before Python 3.11 the csv module refuses NUL characters. They pass it as one that Unicode says no text has.
NUL = "\ufdd0"
csv.field_size_limit(min(LONGEST, sys.maxsize))  # its own limit is 131,072 characters: an article has more


class Pieces:
    """What is given to the csv module: from the start of a line, a row as its quotation marks tell it, or a line.

    The module takes a row for rows of another number of lines where a quotation mark is in the middle of a value. It
    refuses such a piece, and never misreads it: a piece has a quotation mark below each of its inner line ends.
    """

    def __init__(self, blocks: Iterator[Block]):
        self.blocks, self.again = blocks, list[Block]()  # the next one last
        self.block, self.place, self.number = Block(1, ""), 0, 1  # where the next piece is, and the number of its line
        self.begin_row()

    def begin_row(self) -> None:
        """What was taken makes a row."""
        self.taken: list[tuple[Block, int, int]] = []  # where the pieces of this row are
        self.size, self.by_line = 0, False

    def __iter__(self) -> "Pieces":
        return self

    def __next__(self) -> str:
        if self.place == len(self.block.text):
            self.block = self.again.pop() if self.again else next(self.blocks)
            self.place, self.number = 0, self.block.number
        (_, text, fault), place = self.block, self.place
        row = None if self.by_line or fault else ROW.match(text, place)
        self.by_line = not row
        end_of_line = text.index("\n", place)
        end = row.end() if row else end_of_line + 1
        self.size += end - 1 - (place if self.taken else end_of_line)  # a row may begin with a line of any size
        self.taken.append((self.block, place, self.number))
        self.place, self.number = end, self.number + text.count("\n", place, end)
        if self.size > LONGEST:
            raise csv.Error(f"no end of the value within {LONGEST // 1_000_000} MB")
        return text[place:end].replace("\0", NUL)

    def lines(self) -> Iterator[Line]:
        """The next lines, one by one."""
        while True:
            self.begin_row()
            self.by_line = True
            if (text := next(self, None)) is None:
                return
            yield Line(self.taken[0][2], text[:-1], self.block.fault)

    def give_back(self) -> bool:
        """Return to the start of the row, to take it line by line. Returns whether it was taken so before."""
        single = len(self.taken) == self.number - self.taken[0][2]
        for (block, *_), (following, *_) in reversed(list(pairwise(self.taken))):
            if block is not following:
                self.again.append(following)
        self.block, self.place, self.number = self.taken[0]
        self.begin_row()
        self.by_line = True
        return single


def rows_of(pieces: Pieces, delimiter: str) -> Iterator[tuple[int, int, list[str], Fault | None]]:
    """The rows of a table, each with the numbers of its first and last line and what is wrong with it.

    After a row that cannot be read, reading goes on with the line below its first one: a quotation mark that is never
    closed takes one row with it, not the rest of the file.
    """
    reader = csv.reader(pieces, delimiter=delimiter, strict=True)
    pieces.begin_row()
    while True:
        row, fault = [], None
        try:
            row = [value.replace(NUL, "\0") for value in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            reader = csv.reader(pieces, delimiter=delimiter, strict=True)
            if not pieces.give_back():
                continue
            fault = Fault("quotation marks that do not fit", "double those inside it", str(error))
            next(pieces)
        fault = next((block.fault for block, _, _ in pieces.taken if block.fault), fault)
        if row or fault:
            yield pieces.taken[0][2], pieces.number - 1, row, fault
        pieces.begin_row()


def read_table(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a row, its text and the rest from the columns that `options` names."""
    part = options.part
    pieces = Pieces(read_blocks(file, options, log, beyond=True))
    top = top_of(file, options) if part else _top(file, options, pieces)
    if top is None:
        return
    header, options = top.names, with_omop_columns(options, top.names)
    first = 1 + (part.records if part else 0)
    for number, (start, end, row, fault) in enumerate(rows_of(pieces, top.delimiter), first):
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
    top, pieces = top_of(file, options), Pieces(read_blocks(file, options, ReadLog(), beyond=True))
    assert top
    records = 0
    for start, _, row, fault in rows_of(pieces, top.delimiter):
        likely = not fault and len(row) == len(top.names) and "".join(row).count('"') % 2 == 0
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
    with closing(read_blocks(file, options.with_changes(part=None), ReadLog())) as blocks:
        return _top(file, options, Pieces(blocks))


def _top(file: Path, options: ReadOptions, pieces: Pieces) -> Top | None:
    lines = pieces.lines()
    first, delimiter = _next_filled(lines), ""
    if first and (excel := SEPARATOR.fullmatch(first.text)):
        first, delimiter = _next_filled(lines), excel[1]
    if first is None:
        return None
    delimiter = options.delimiter or delimiter or delimiter_of(file, options, first.text)
    pieces.give_back()
    start, end, row, fault = next(rows_of(pieces, delimiter))
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
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise InputError(f"{place}: two columns named '{twice[0]}'; give each a name of its own.")
    check_columns(place, options, header)
    return header


def shown(columns: list[str]) -> str:
    """The names of columns, for a message: all of a usual table."""
    return ", ".join(columns[:SHOWN]) + f" and {len(columns) - SHOWN:,} more" * (len(columns) > SHOWN)


def check_columns(place: str, options: ReadOptions, columns: list[str]) -> None:
    """Raise InputError when a column that `options` names is not there."""
    options = with_omop_columns(options, columns)
    for name in (*text_paths(options), *options.named_paths()):
        if name not in columns and name.partition(".")[0] not in columns:
            raise InputError(
                f"{place}: no column '{name}'; the columns are {shown(columns)}: name the one that holds the text "
                f"with --text-field, others with --id-field, --date-field and --metadata."
            )
