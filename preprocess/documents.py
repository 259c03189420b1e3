"""Documents: what every stage before the data-bin reads and writes.

Two forms are read everywhere. Plain text: UTF-8, one sentence or paragraph a line, a blank line between documents.
JSON lines (`.jsonl`), one document a line: `{"id", "source", "licence", "text"}`, where `text` has one sentence or
paragraph a line; any further field is kept as metadata.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Iterable, Iterator

from preprocess.files import InputError


@dataclass
class Document:
    """One text with where it comes from. `lines` holds no empty line and no line break."""

    id: str
    source: str
    lines: list[str]
    licence: str = ""
    metadata: dict = field(default_factory=dict)


def read_documents(paths: Iterable[Path]) -> Iterator[Document]:
    """Stream the documents of the files, in order.

    Raises InputError for a missing file, for bytes that are not UTF-8 (file, line and byte named), for a line of a
    `.jsonl` file that is not a document, and for a file that holds no document at all.
    """
    for path in map(Path, paths):
        count = 0
        reader = _read_json_lines if path.suffix == ".jsonl" else _read_plain_text
        for document in reader(path):
            count += 1
            yield document
        if not count:
            raise InputError(f"{path}: no document in this file; give a file with at least one line of text.")


def write_document(handle: IO[str], document: Document) -> None:
    """Append one document to an open `.jsonl` file."""
    record = {"id": document.id, "source": document.source, "licence": document.licence}
    record |= document.metadata
    record["text"] = "\n".join(document.lines)
    handle.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Stream (line number from 1, line without its end) of a UTF-8 file; a byte order mark is dropped.

    Only "\\n" and "\\r\\n" end a line, so a form feed or a U+2028 inside a line never splits it.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path of the corpus.")
    with open(path, "rb") as handle:
        for number, raw in enumerate(handle, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}, line {number}, byte {error.start + 1}: not UTF-8 (byte 0x{raw[error.start]:02x}); "
                    f"convert the file first, for example with `iconv -f WINDOWS-1252 -t UTF-8`."
                ) from None
            yield number, line.rstrip("\r\n")


def _read_plain_text(path: Path) -> Iterator[Document]:
    lines: list[str] = []
    count = 0
    for _, line in read_lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            count += 1
            yield Document(f"{path.stem}-{count}", path.stem, lines)
            lines = []
    if lines:
        yield Document(f"{path.stem}-{count + 1}", path.stem, lines)


def _read_json_lines(path: Path) -> Iterator[Document]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text, name, source = record.pop("text"), record.pop("id"), record.pop("source")
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}, line {number}: not a document ({error}); every line must be a JSON object with "
                f"at least id, source and text."
            ) from None
        lines = [part for part in text.replace("\r", "").split("\n") if part.strip()]
        if lines:
            yield Document(str(name), str(source), lines, str(record.pop("licence", "")), record)
