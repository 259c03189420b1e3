"""Plain text: a blank line between documents, or one document a file, as in brat folders.

Lines may be hard-wrapped: they end at a margin, where the next word did not fit, as in PDF exports and e-mails.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError, readable
from preprocess.documents.document import Document
from preprocess.readers.lines import LONGEST, Block, Cut, read_blocks
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
BLANK = re.compile(r"\n\s*\n")  # the end of a line, and blank lines below it
ITEM = re.compile(r"\s*(?:[-–•*·▪]|\d{1,2}[.)])\s")  # a list item begins a line of its own


class Paragraph(NamedTuple):
    """Neighbouring lines that are not blank, maybe none, and the numbers of the blank lines below them. Without such
    lines it may go on in the next block."""

    number: int  # of the first line
    text: str
    fault: Fault | None = None
    below: range = range(0)


class PendingDocument:
    """The lines of one document, in paragraphs between blank lines; after a fault they are no longer kept."""

    def __init__(self) -> None:
        self.paragraphs: list[list[str]] = [[]]
        self.size = 0
        self.fault: tuple[int, Fault] | None = None

    def add(self, paragraph: Paragraph) -> None:
        """Append a paragraph, or what a block has of it."""
        number, text, fault, below = paragraph
        lines = text.split("\n") if text else []
        if not fault and self.size + len(text) > LONGEST:
            sizes = enumerate(accumulate(map(len, lines), initial=self.size), number - 1)
            number, fault = next(((line, TOO_MUCH) for line, size in sizes if size > LONGEST), (number, None))
        self.size += sum(map(len, lines))
        if fault and not self.fault:
            self.fault = (number, fault)
            self.paragraphs = [[]]
        elif not self.fault:
            self.paragraphs[-1] += lines
        if below:
            self.paragraphs.append([])

    def __bool__(self) -> bool:
        return bool(self.fault) or any(self.paragraphs)

    def lines(self, options: ReadOptions, log: ReadLog) -> list[str]:
        """All lines; hard-wrapped ones are joined where the user asked for it, and counted elsewhere."""
        if margin := margin_of(self.paragraphs):
            log.note(JOINED if options.join_wrapped_lines else WRAPPED)
            if options.join_wrapped_lines:
                return joined(self.paragraphs, margin)
        return [line for paragraph in self.paragraphs for line in paragraph]


def read_text(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """The documents of a text file, numbered; with one document a file, its id is the file's name."""
    first = 1 + (options.part.records if options.part else 0)
    for count, document in enumerate(_documents(file, options, log), first):
        if document.fault:
            number, fault = document.fault
            log.refuse(options, file, f"line {number}", fault)
        else:
            name = options.name if options.one_document_per_file else f"{options.name}-{count}"
            yield Document(name, options.default_source, document.lines(options, log))


def _documents(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[PendingDocument]:
    document = PendingDocument()
    for paragraph in _paragraphs(read_blocks(file, options, log)):
        document.add(paragraph)
        if document.fault and options.on_error == "stop":
            break
        if paragraph.below and document and not options.one_document_per_file:
            yield document
            document = PendingDocument()
    if document:
        yield document


def text_cuts(file: Path, options: ReadOptions, past: int) -> Iterator[Cut]:
    """A text can be divided at any blank line. Those in the middle of several are left out, but for `past`.

    Raises InputError for a document that is too long: a text without blank lines is not to be read through by each of
    its chunks.
    """
    records, inside, size = 0, False, 0
    for number, text, fault, below in _paragraphs(read_blocks(file, options, ReadLog(), beyond=True)):
        inside, size = inside or bool(text or fault), size + len(text)
        if size > LONGEST:
            raise InputError(f"{readable(file)}, line {number}: {TOO_MUCH}; {TOO_MUCH.remedy}.")
        if below:
            records, inside, size = records + inside, False, 0
            yield Cut(below[0], records)
            if past in below:
                yield Cut(past, records)
    yield Cut(None, records + inside)


def _paragraphs(blocks: Iterable[Block]) -> Iterator[Paragraph]:
    for number, text, fault in blocks:
        if fault:
            yield Paragraph(number, text[:-1], fault)
            continue
        text, start = f"\n{text}", 1
        for blank in BLANK.finditer(text):
            lines = text[start : blank.start()]
            first = number + lines.count("\n") + bool(lines)
            below = range(first, first + blank[0].count("\n") - 1)
            yield Paragraph(number, lines, None, below)
            number, start = below.stop, blank.end()
        if start < len(text):
            yield Paragraph(number, text[start:-1])


def margin_of(paragraphs: Sequence[Sequence[str]]) -> int:
    """The margin of hard-wrapped paragraphs, in characters; 0 where the lines are not hard-wrapped.

    At least half of the lines must end at the margin inside a sentence: no stop at their end, and a small letter next.
    """
    lengths = sorted(map(len, map(str.strip, chain.from_iterable(paragraphs))))
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
