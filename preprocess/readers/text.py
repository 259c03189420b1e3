"""Plain text: a blank line between documents, or one document a file, as in brat folders."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Line, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog
from preprocess.readers.wrapped_lines import joined, margin_of

WRAPPED = "documents with hard-wrapped lines (--join-wrapped-lines joins these)"
JOINED = "documents whose hard-wrapped lines were joined"
TOO_MUCH = Fault(f"a document of more than {LONGEST // 1_000_000} MB", "put a blank line between documents")


class PendingDocument:
    """The lines of one document, in paragraphs between blank lines; after a fault they are no longer kept."""

    def __init__(self) -> None:
        self.paragraphs: list[list[str]] = [[]]
        self.size = 0
        self.fault: tuple[int, Fault] | None = None

    def add(self, line: Line) -> None:
        """Append a line; a blank one ends a paragraph."""
        self.size += len(line.text)
        fault = line.fault or (TOO_MUCH if self.size > LONGEST else None)
        if fault and not self.fault:
            self.fault = (line.number, fault)
            self.paragraphs = [[]]
        elif not line.text.strip():
            self.paragraphs.append([])
        elif not self.fault:
            self.paragraphs[-1].append(line.text)

    def lines(self, options: ReadOptions, log: ReadLog) -> list[str]:
        """All lines; hard-wrapped ones are joined where the user asked for it, and counted elsewhere."""
        if margin := margin_of(self.paragraphs):
            log.note(JOINED if options.join_wrapped_lines else WRAPPED)
            if options.join_wrapped_lines:
                return joined(self.paragraphs, margin)
        return [line for paragraph in self.paragraphs for line in paragraph]


def read_text(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """The documents of a text file, numbered; with one document a file, its id is the file's name."""
    count = 0

    def is_text(line: Line) -> bool:
        return options.one_document_per_file or bool(line.fault or line.text.strip())

    for filled, lines in groupby(read_lines(file, options, log), is_text):
        document = PendingDocument()
        for line in lines if filled else ():
            document.add(line)
            if document.fault and options.on_error == "stop":
                break
        if document.fault:
            count += 1
            number, fault = document.fault
            log.refuse(options, file, f"line {number}", fault)
        elif any(document.paragraphs):
            count += 1
            name = options.name if options.one_document_per_file else f"{options.name}-{count}"
            yield Document(name, options.default_source, document.lines(options, log))
