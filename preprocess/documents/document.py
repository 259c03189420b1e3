"""Documents: what every stage before the data-bin reads and writes.

Two forms are read everywhere. Plain text (`.txt`): UTF-8, one sentence or paragraph a line, a blank line between
documents. JSON lines (`.jsonl`), one document a line: `{"id", "source", "licence", "date", "text"}`, where `text` has
one sentence or paragraph a line; any further field is kept as metadata. Both may be compressed (`.gz`, `.zst`). A
directory that a stage wrote is read shard by shard.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache
from itertools import chain
from operator import is_
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from alibert_common.errors import InputError, readable
from alibert_common.input_log import InputLog
from alibert_common.json_value import parse_json
from alibert_common.provenance import MANIFEST, command_of, read_manifest
from preprocess.documents.compression import bare, open_bytes
from preprocess.documents.first_bytes import (
    LinesEndedByCR,
    check_regular,
    check_text,
    ends_lines_with_cr,
    peek,
    wide_encoding,
)
from preprocess.documents.words import count_words

PSEUDONYMISED = "pseudonymised"  # the metadata of documents from which identifiers were taken
WHOLE_NUMBER = re.compile(r"^(\d+)\.0+$")
PATIENT = "patient"  # the metadata that says who a document is about
BLOCK = 1 << 18  # bytes of lines that are decoded at once
SHARD_SUFFIX = ".jsonl.zst"  # of the files in a directory of documents
# What only `preprocess.ingest` reads: taken for plain text, tags and the quotation marks of a table would be words.
OTHER_FORMS = frozenset(
    ".csv .tsv .json .ndjson .parquet .xml .nxml .html .htm .pdf .docx .docm .dotx .odt .ott .rtf .eml .hl7".split()
)
DOCUMENT_STAGES = ("ingest", "clean", "pseudonymise", "deduplicate")  # whose outputs are directories of documents


class Stored(NamedTuple):
    """A document as it was read: its values, the lines among them, its text, and its line in the output of a stage.

    The line is "" where no stage wrote it.
    """

    values: tuple
    lines: list[str]
    text: str
    line: str


@dataclass
class Document:
    """One text with where it comes from. `lines` holds no empty line and no line break.

    Lines and metadata are replaced, never changed in place: `stored` is known to be out of date by that.
    """

    id: str
    source: str
    lines: list[str]
    licence: str = ""
    date: str = ""  # as the source gives it, ISO 8601 where it can: 2021, 2021-03, 2021-03-14
    metadata: dict = field(default_factory=dict)
    stored: Stored | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The lines, one below the other."""
        if self.stored and self.stored.lines is self.lines:
            return self.stored.text
        return "\n".join(self.lines)

    @property
    def values(self) -> tuple:
        """All that is written of it."""
        return self.id, self.source, self.lines, self.licence, self.date, self.metadata

    @property
    def stored_line(self) -> str:
        """Its line in the output of the stage that it was read from, "" where it has changed or has none."""
        stored = self.stored
        return stored.line if stored and all(map(is_, stored.values, self.values)) else ""


def patient_of(document: Document) -> str:
    """Who the document is about, "" where it does not say."""
    patient = document.metadata.get(PATIENT)
    return "" if patient is None else as_patient(str(patient))


def as_patient(name: str) -> str:
    """The name of a patient in one form: without spaces around it, composed (NFC), 7 for 7.0 and 7.00."""
    return WHOLE_NUMBER.sub(r"\1", unicodedata.normalize("NFC", name.strip()))


@lru_cache(1)  # most documents are kept as they were read, and counted twice
def _words_and_bytes(text: str) -> tuple[int, int]:
    return count_words(text), len(text.encode()) + 1


@dataclass
class Size:
    """How much text: words are what white space separates, bytes are UTF-8 with one line end a line."""

    documents: int = 0
    lines: int = 0
    words: int = 0
    bytes: int = 0

    def add(self, document: Document) -> None:
        """Count one more document."""
        words, bytes_ = _words_and_bytes(document.text)
        self.documents += 1
        self.lines += len(document.lines)
        self.words += words
        self.bytes += bytes_

    def __add__(self, other: "Size") -> "Size":
        return Size(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return ", ".join(f"{value:,} {name}" for name, value in asdict(self).items())


def document_files(paths: Iterable[Path]) -> list[Path]:
    """The files that `read_documents` reads: of a directory its shards, in the order of their names.

    Raises InputError for a path that is not there, a directory without shards, and a file of another form.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such file; check the path of the corpus.")
        check_regular(path)
        inside = sorted(path.glob(f"*{SHARD_SUFFIX}")) if path.is_dir() else [path]
        if not inside:
            _refuse_without_shards(path)
        if bare(inside[0]).suffix.lower() in OTHER_FORMS:
            raise InputError(
                f"{path}: its ending says that it is not plain text; read it with `python -m preprocess.ingest`, or "
                "name it .txt if it is."
            )
        files += inside
    return files


def _refuse_without_shards(directory: Path) -> NoReturn:
    manifest = read_manifest(directory / MANIFEST)
    command = manifest.get("command")
    if command in DOCUMENT_STAGES and any(name.endswith(SHARD_SUFFIX) for name in manifest.get("files", ())):
        raise InputError(f"{directory}: its shards are gone; make it again with the command that made it.")
    if command in DOCUMENT_STAGES:
        raise InputError(
            f"{directory}: nothing is left of the text; its manifest.json says what dropped it, and dropped.txt has "
            "examples; change the settings of that stage, or leave this source out."
        )
    made = f"made by preprocess.{command}, which writes no documents here" if command else "no documents in it"
    remedy = "give what ingest, clean or deduplicate wrote, or make it with `python -m preprocess.ingest`"
    if command == "mix":
        remedy = f"give {directory / 'valid'} or a folder in {directory / 'train'}"
    raise InputError(f"{directory}: {made}; {remedy}.")


def size_of(files: Iterable[Path]) -> int:
    """Their bytes as they are stored, for a progress bar."""
    return sum(file.stat().st_size for file in files)


def read_documents(paths: Iterable[Path], log: InputLog | None = None) -> Iterator[Document]:
    """Stream the documents of files and directories, in order; `log`, when given, follows what was read.

    Raises InputError for a missing file, for bytes that are not UTF-8 (with file, line and byte), and for a file
    without documents. A line of a `.jsonl` file that is not a document is refused too.
    """
    for path in document_files(paths):
        count = 0
        reader = _read_json_lines if bare(path).suffix.lower() == ".jsonl" else _read_plain_text
        for document in reader(path, log):
            count += 1
            yield document
        if not count:
            raise InputError(f"{path}: no document in this file; give a file with at least one line of text.")


def write_document(handle: IO[str], document: Document) -> None:
    """Append one document to an open `.jsonl` file."""
    if document.stored_line:
        handle.write(document.stored_line + "\n")
        return
    record = {"id": document.id, "source": document.source, "licence": document.licence}
    record |= ({"date": document.date} if document.date else {}) | document.metadata
    record["text"] = document.text
    handle.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_lines(path: Path, log: InputLog | None = None) -> Iterator[tuple[int, str]]:
    """Stream (line number from 1, line without its end) of a UTF-8 file; a byte order mark is dropped.

    Only "\\n" and "\\r\\n" end a line, or "\\r" in a file where it ends more lines than "\\n". A form feed or a U+2028
    never does. Raises InputError for binary files and for bytes that are not UTF-8.
    """
    with open_bytes(path, log) as handle:
        start = peek(handle)
        check_text(path, start)
        if wide_encoding(start):
            raise InputError(
                f"{path}: UTF-16 or UTF-32, not UTF-8; convert it, for example with `iconv -f UTF-16 -t UTF-8`, or "
                "read it with `python -m preprocess.ingest --encoding auto`."
            )
        lines = LinesEndedByCR(handle) if ends_lines_with_cr(start) else handle
        number = 1
        while block := lines.readlines(BLOCK):
            text = _decoded(path, number, block)
            without_ends = (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\n").split("\n")
            yield from enumerate([line.rstrip("\r") for line in without_ends] if "\r" in text else without_ends, number)
            number += len(block)


def _decoded(path: Path, number: int, lines: list[bytes]) -> str:
    """The text of neighbouring lines, the first of which has this number."""
    try:
        return b"".join(lines).decode()
    except UnicodeDecodeError as error:
        if len(lines) > 1:  # say which
            return "".join(_decoded(path, number + place, [line]) for place, line in enumerate(lines))
        raise InputError(
            f"{path}, line {number}, byte {error.start + 1}: not UTF-8 (byte 0x{lines[0][error.start]:02x}); "
            "convert it first, for example with `iconv -f WINDOWS-1252 -t UTF-8`, or read it with "
            "`python -m preprocess.ingest --encoding windows-1252`."
        ) from None


def _read_plain_text(path: Path, log: InputLog | None) -> Iterator[Document]:
    stem, count, text = readable(bare(path).stem), 0, list[str]()
    for _, line in chain(read_lines(path, log), [(0, "")]):
        if line and not line.isspace():
            text.append(line)
        elif text:
            count += 1
            yield Document(f"{stem}-{count}", stem, text)
            text = []


def _read_json_lines(path: Path, log: InputLog | None) -> Iterator[Document]:
    of_stage = command_of(path.parent / MANIFEST) in DOCUMENT_STAGES
    for number, line in read_lines(path, log):
        if not line.strip():
            continue
        try:
            document = _document_of(parse_json(line), line if of_stage else "")
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}, line {number}: not a document ({error}); every line must be a JSON object with "
                f"at least id, source and text."
            ) from None
        if document.lines:
            yield document


def _document_of(record: Any, stored: str) -> Document:
    """The document of a record, which a stage wrote as the line `stored`, if it did."""
    text, name, source = record.pop("text"), record.pop("id"), record.pop("source")
    if name is None or source is None:
        raise ValueError("its id or its source is null")
    if not text or "\r" in text or "\n\n" in f"\n{text}\n":  # no stage writes that
        stored = ""
    lines = text.split("\n") if stored else [part for part in text.replace("\r\n", "\n").split("\n") if part.strip()]
    licence, date = (str(record.pop(key, None) or "") for key in ("licence", "date"))
    document = Document(str(name), str(source), lines, licence, date, record)
    document.stored = Stored(document.values, lines, text if stored else document.text, stored)
    return document
