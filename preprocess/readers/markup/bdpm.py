"""The tab-separated tables of the French public drug database (BDPM), as its download page offers them.

No header; Windows-1252, one of them UTF-8; dates 14/02/2023, in HAS's tables 20230214. Columns as in the site's
description of its files. Only columns of sentences become documents: the opinions on medical benefit (SMR, ASMR), the
indications that are paid for, the warnings. What the other tables beside them say of a drug becomes metadata.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.readers.dates import iso_date
from preprocess.readers.lines import read_lines
from preprocess.readers.markup.html_pages import PAGE, parse_page
from preprocess.readers.markup.xml_text import lines_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog, place_of, readable


class Table(NamedTuple):
    """A table whose last column is text; the columns whose values make the id, with the code of the drug."""

    kind: str
    columns: tuple[str, ...]
    id: tuple[str, ...]


OPINION = ("cis", "has_file", "reason", "date", "value", "text")
TABLES = {
    "CIS_HAS_SMR": Table("smr", OPINION, ("has_file",)),
    "CIS_HAS_ASMR": Table("asmr", OPINION, ("has_file",)),
    "CIS_CIP": Table("indications", ("cis", "cip7", *[""] * 4, "cip13", *[""] * 5, "text"), ("cip13",)),
    "CIS_InfoImportantes": Table("warning", ("cis", "date", "", "text"), ()),
}  # fmt: skip
DRUGS = {
    "CIS_bdpm.txt": {"drug": 1, "form": 2, "routes": 3, "holder": 10},
    "CIS_COMPO_bdpm.txt": {"substances": 3},
    "CIS_MITM.txt": {"atc": 1},
}
WITHOUT_TEXT = ("CIS", "CIS_COMPO", "CIS_GENER", "CIS_CPD", "CIS_CIP_Dispo_Spec", "CIS_MITM", "HAS_LiensPageCT")
NAME = re.compile(rf"({'|'.join(map(re.escape, (*TABLES, *WITHOUT_TEXT)))})(?:_\d{{14}})?(?:_bdpm)?", re.IGNORECASE)
RECORD = re.compile(r"\d{8}\t")


def table_name(file: Path) -> str:
    """CIS_HAS_SMR of CIS_HAS_SMR_bdpm.txt; nothing for a file that is none of the database's."""
    match = NAME.fullmatch(file.name.partition(".")[0])
    return next((name for name in (*TABLES, *WITHOUT_TEXT) if match and name.lower() == match[1].lower()), "")


def read_bdpm(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document for each row with text: id CIS-table-file, date, metadata of the row and of the drug."""
    name = table_name(file)
    if not name:
        raise InputError(
            f"{readable(file)}: no table of the drug database; keep the names of its files ({', '.join(TABLES)})."
        )
    if name in WITHOUT_TEXT:
        for _ in read_lines(file, options, log, "auto"):
            pass  # for its checksum: the other tables take their metadata from it
        log.note("tables of the drug database without sentences, read for metadata only")
        return
    table = TABLES[name]
    drugs = _drugs(file.parent)
    for start, end, text, fault in _records(file, options, log):
        with log.refusing(options, file, place_of(start, end)):
            if fault:
                raise fault
            values = text.split("\t", len(table.columns) - 1)
            values += [""] * (len(values) == len(table.columns) - 1)  # an empty text may lack its tab
            if len(values) != len(table.columns):
                raise Fault("another number of values than the table's", "get the file again", f"{len(values)}")
            row = dict(zip(table.columns, map(str.strip, values), strict=True))
            metadata = {"kind": table.kind} | row | drugs.get(row["cis"], {})
            lines, date = _lines(metadata.pop("text")), iso_date(metadata.pop("date", ""))
            metadata = {key: value for key, value in metadata.items() if key and value}
            name = "-".join((row["cis"], table.kind, *(row[key] for key in table.id)))
            yield Document(name, options.default_source, lines, "", date, metadata)


def _records(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[tuple[int, int, str, Fault | None]]:
    """The rows, of which some have line breaks in their text: a line that begins with no code goes on the one above."""
    start, end, text, fault = 0, 0, None, None
    for line in read_lines(file, options, log, "auto"):
        if RECORD.match(line.text) or text is None:
            if text is not None:
                yield start, end, text, fault
            start, end, text, fault = line.number, line.number, line.text, line.fault
        elif line.text.strip() or line.fault:
            log.note("lines that go on the row above")
            end, text, fault = line.number, f"{text}\n{line.text}", fault or line.fault
    if text is not None:
        yield start, end, text, fault


def _lines(text: str) -> list[str]:
    """The lines of a text that may hold HTML: <br>, links, entities."""
    pieces = text.split("\n")
    if "<" not in text and "&" not in text:
        return [piece.strip() for piece in pieces if piece.strip()]
    page, _ = parse_page("<br>".join(pieces))
    return [] if page is None else lines_of(page, PAGE)


@lru_cache(maxsize=4)
def _drugs(folder: Path) -> dict[str, dict]:
    """The metadata of each drug in the tables of the folder: name, form, routes, holder, substances, ATC code."""
    drugs: dict[str, dict] = {}
    for name, columns in DRUGS.items():
        path = folder / name
        for line in read_lines(path, ReadOptions(), ReadLog(), "auto") if path.is_file() else ():
            values = [value.strip() for value in line.text.split("\t")] if not line.fault else [""]
            drug = drugs.setdefault(values[0], {})
            for key, column in columns.items():
                if value := values[column] if column < len(values) else "":
                    drug[key] = sorted({*drug.get(key, ()), value}) if key == "substances" else value
    return drugs
