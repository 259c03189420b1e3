"""Plain text: a blank line between documents, or one document a file, as in brat folders."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Fault, Line, read_lines
from preprocess.readers.options import How
from preprocess.readers.read_log import ReadLog

TOO_MUCH = Fault(f"a document of more than {LONGEST // 1_000_000} MB", "put a blank line between documents")


class Gathered:
    """The lines of one document; after a fault they are no longer kept."""

    def __init__(self, number: int):
        self.number = number  # of its first line
        self.lines: list[str] = []
        self.size = 0
        self.fault: tuple[int, Fault] | None = None

    def add(self, line: Line) -> None:
        self.size += len(line.text)
        fault = line.fault or (TOO_MUCH if self.size > LONGEST else None)
        if fault and not self.fault:
            self.fault = (line.number, fault)
            self.lines = []
        elif not self.fault:
            self.lines.append(line.text)


def read_text(file: Path, how: How, log: ReadLog) -> Iterator[Document]:
    """The documents of a text file, numbered; with one document a file, its id is the file's name."""
    count = 0
    filled = ((line.fault is not None or bool(line.text.strip()), line) for line in read_lines(file, how, log))
    for is_text, lines in groupby(filled, key=lambda pair: how.one_document_per_file or pair[0]):
        if not is_text:
            continue
        document = None
        for is_line, line in lines:
            if is_line:
                document = document or Gathered(line.number)
                document.add(line)
                if document.fault and how.on_error == "stop":
                    break
        if not document:
            continue
        count += 1
        if document.fault:
            number, fault = document.fault
            log.refuse(how, file, f"line {number}", fault.reason, fault.remedy, fault.detail)
        else:
            yield Document(how.name if how.one_document_per_file else f"{how.name}-{count}", how.origin, document.lines)
