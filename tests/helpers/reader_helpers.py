"""Reading files in tests: the documents, and what was counted and skipped on the way."""

from pathlib import Path
from typing import NamedTuple

from preprocess.documents.document import Document
from preprocess.readers import ReadLog, ReadOptions, Skipped, files_of, read_file

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "readers"


class Read(NamedTuple):
    """What reading a path gave."""

    documents: list[Document]
    skipped: list[Skipped]
    log: ReadLog

    @property
    def lines(self) -> list[list[str]]:
        """The lines of each document."""
        return [document.lines for document in self.documents]

    @property
    def ids(self) -> list[str]:
        """The id of each document."""
        return [document.id for document in self.documents]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of what was left out that are not 0."""
        return {reason: count for reason, count in self.log.counts.items() if count}

    @property
    def notes(self) -> dict[str, int]:
        """The counts of what else was met."""
        return dict(self.log.notes)


def read(path: Path, **settings: object) -> Read:
    """Read a path as `preprocess.ingest` does."""
    skipped: list[Skipped] = []
    log = ReadLog(skipped.append)
    documents = [
        document
        for found in files_of(Path(path), ReadOptions.from_settings(settings), log)
        for document in read_file(found.file, found.options, log)
    ]
    return Read(documents, skipped, log)
