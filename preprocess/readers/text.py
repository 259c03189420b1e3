"""Plain text: a blank line between documents, or one document a file, as in brat folders."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Fault, Line, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import ReadLog
from preprocess.readers.wrapped_lines import joined, margin_of

WRAPPED = "documents with hard-wrapped lines (--join-wrapped-lines joins these)"
JOINED = "documents whose hard-wrapped lines were joined"
TOO_MUCH = Fault(f"a document of more than {LONGEST // 1_000_000} MB", "put a blank line between documents")


class PendingDocument:
    """The lines of one document, in paragraphs between blank lines; after a fault they are no longer kept."""

    def __init__(self, number: int):
        self.number = number  # of its first line
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
    filled = ((line.fault is not None or bool(line.text.strip()), line) for line in read_lines(file, options, log))
    for is_text, lines in groupby(filled, key=lambda pair: options.one_document_per_file or pair[0]):
        if not is_text:
            continue
        document = None
        for is_line, line in lines:
            if is_line or document:
                document = document or PendingDocument(line.number)
                document.add(line)
                if document.fault and options.on_error == "stop":
                    break
        if not document:
            continue
        count += 1
        if document.fault:
            number, fault = document.fault
            log.refuse(options, file, f"line {number}", fault.reason, fault.remedy, fault.detail)
        else:
            name = options.name if options.one_document_per_file else f"{options.name}-{count}"
            yield Document(name, options.default_source, document.lines(options, log))
