"""Which document each part of a split is: `SPLIT.documents.jsonl.zst` beside the .bin and .idx of a data-bin.

Line d is `{"id", "source", "patient"}` of document d of the split, in the order of the .bin, where an empty line of
text stands between documents. `patient` is "" where the document does not say whom it is about.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import zstandard

from alibert_common.errors import InputError
from alibert_common.files import written_whole
from alibert_common.json_value import parse_json
from preprocess.documents.compression import open_bytes
from preprocess.documents.document import Document, patient_of

ENDING = ".documents.jsonl.zst"
LEVEL = 3  # of zstandard: its own default


class DocumentRecord(NamedTuple):
    """What a data-bin knows of a document."""

    id: str
    source: str
    patient: str

    @classmethod
    def of(cls, document: Document) -> "DocumentRecord":
        """The record of a document."""
        return cls(document.id, document.source, patient_of(document))

    @property
    def line(self) -> str:
        """Its line in the file."""
        return json.dumps(self._asdict(), ensure_ascii=False)


def records_path(prefix: Path) -> Path:
    """The records of the split whose files are `prefix`.bin and `prefix`.idx."""
    return Path(f"{prefix}{ENDING}")


@contextmanager
def written_lines(path: Path) -> Iterator[IO[str]]:
    """A file of lines, compressed, that appears whole or not at all."""
    with (
        written_whole(path, "wb") as stored,
        zstandard.ZstdCompressor(LEVEL).stream_writer(stored, closefd=False) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as handle,
    ):
        yield handle


def read_lines(path: Path) -> Iterator[str]:
    """The lines of such a file, without their ends."""
    with open_bytes(path) as stored, io.TextIOWrapper(stored, encoding="utf-8", newline="\n") as handle:
        for line in handle:
            yield line.removesuffix("\n")


def read_records(prefix: Path) -> Iterator[DocumentRecord]:
    """The records of a split, in the order of its documents.

    Raises InputError where the data-bin has none: fairseq-preprocess and older versions wrote none.
    """
    path = records_path(prefix)
    if not path.is_file():
        raise InputError(f"{path}: no such file, so no document has a name; make the data-bin again with `binarize`.")
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield DocumentRecord(**parse_json(line))
        except (ValueError, TypeError):
            raise InputError(f"{path}, line {number}: is not a record; make the data-bin again.") from None
