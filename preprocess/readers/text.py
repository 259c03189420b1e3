"""Plain text: a blank line between documents, or one document a file, as in brat folders.

Lines may be hard-wrapped: they end at a margin, where the next word did not fit, as in PDF exports and e-mails.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Cut, Line, read_lines
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog

WRAPPED = "documents with hard-wrapped lines (--join-wrapped-lines joins these)"
JOINED = "documents whose hard-wrapped lines were joined"
TOO_MUCH = Fault(
    f"a document of more than {LONGEST // 1_000_000} MB",
    "put a blank line between documents, and name the file itself, not its folder",
)
NARROWEST, WIDEST = 40, 120  # characters of the margin
FEWEST = 3  # wrapped lines of a document
ITEM = re.compile(r"\s*(?:[-–•*·▪]|\d{1,2}[.)])\s")  # a list item begins a line of its own


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
    count = options.part.records if options.part else 0

    for filled, lines in groupby(read_lines(file, options, log), _whole if options.one_document_per_file else _is_text):
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


def text_cuts(file: Path, options: ReadOptions, past: int) -> Iterator[Cut]:
    """A text can be divided at any blank line."""
    records = 0
    for filled, lines in groupby(read_lines(file, options, ReadLog(), beyond=True), _is_text):
        records += filled
        yield from () if filled else (Cut(line.number, records) for line in lines)
    yield Cut(None, records)


def _is_text(line: Line) -> bool:
    return bool(line.fault or line.text.strip())


def _whole(line: Line) -> bool:
    return True


def margin_of(paragraphs: Sequence[Sequence[str]]) -> int:
    """The margin of hard-wrapped paragraphs, in characters; 0 where the lines are not hard-wrapped.

    At least half of the lines must end at the margin inside a sentence: no stop at their end, and a small letter next.
    """
    lengths = sorted(len(line.strip()) for lines in paragraphs for line in lines)
    margin = lengths[len(lengths) * 9 // 10]  # a web address may be longer
    if len(lengths) <= FEWEST or not NARROWEST <= margin <= WIDEST:
        return 0
    pairs = [pair for lines in paragraphs for pair in pairwise(map(str.strip, lines))]
    wrapped = sum(
        _goes_on(line, following, margin) and following[0].islower() and line[-1] not in ".!?:;"
        for line, following in pairs
    )
    return margin if wrapped >= max(FEWEST, len(pairs) / 2) else 0


def joined(paragraphs: Sequence[Sequence[str]], margin: int) -> list[str]:
    """The lines, each joined with the next where that one's first word would not have fitted; hyphens stay."""
    lines: list[str] = []
    for paragraph in paragraphs:
        before = None
        for line in map(str.strip, paragraph):
            if before is not None and _goes_on(before, line, margin):
                lines[-1] += line if before.endswith("-") else f" {line}"
            else:
                lines.append(line)
            before = line
    return lines


def _goes_on(line: str, following: str, margin: int) -> bool:
    return len(line) + 1 + len(following.split(maxsplit=1)[0]) > margin and not ITEM.match(following)
