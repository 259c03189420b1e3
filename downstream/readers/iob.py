"""Columns: one token a line, its label in the last column, a blank line after each sentence.

The raw text is not in such a file: it is rebuilt with one space between tokens and one line a sentence.
"""

from collections import Counter
from pathlib import Path

from downstream.documents import Document, Entity, Labels
from downstream.files import InputError, files_of, read_text

SUFFIXES = (".iob", ".iob2", ".bio", ".conll", ".tsv", ".txt")
BEGINS = "BSU"  # B (IOB2, IOBES, BILOU), S (IOBES) and U (BILOU) open an entity
CONTINUES = (
    "IEL"  # I, E (IOE2, IOBES) and L (BILOU) go on with one; after anything else they open one, as in IOB1 and IO
)
CLOSES = "ESLU"  # after these the next I opens a new entity


def read(path: Path, labels: Labels, counts: Counter) -> list[Document]:
    """One document a file, or one for each -DOCSTART- line. Schemes: IOB2, IOB1, IO, IOE2, IOBES and BILOU.

    An I that continues nothing opens an entity, as conlleval has it, and is counted.
    """
    documents = []
    for file in files_of(path, *SUFFIXES):
        for number, sentences in enumerate(_documents(file, labels, counts), 1):
            documents.append(_assemble(f"{file.stem}-{number}", sentences))
    return documents


def _documents(file: Path, labels: Labels, counts: Counter) -> list[list[list[tuple]]]:
    """Documents as sentences of (token, opens an entity here, label or None) rows; empty ones are left out."""
    documents: list[list[list[tuple]]] = [[[]]]
    previous = ("O", None)
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("-DOCSTART-"):
            documents[-1].append([])
            if line.strip():
                documents.append([[]])
            previous = ("O", None)
            continue
        place = f"{file}, line {number}"
        token, tag, label = _row(line, place)
        opens = tag in BEGINS or (tag in CONTINUES and (previous[0] in "O" + CLOSES or previous[1] != label))
        counts["entities opened by an I"] += opens and tag not in BEGINS
        previous = (tag, label)
        kept = label and labels.keep(label, place, counts if opens else Counter())  # an entity counts once
        documents[-1][-1].append((token, opens, kept))
    documents = [[sentence for sentence in document if sentence] for document in documents]
    return [document for document in documents if document]


def _row(line: str, place: str) -> tuple[str, str, str | None]:
    """Token, tag letter and type (None for O) of one line."""
    columns = line.split("\t") if "\t" in line else line.split()
    tag, _, label = columns[-1].strip().partition("-")
    token = columns[0].strip()
    if len(columns) < 2 or not token:
        raise InputError(f"{place}: a token and a label are needed, separated by white space; found {line!r}.")
    if tag == "O" and not label:
        return token, "O", None
    if tag not in tuple(BEGINS + CONTINUES) or not label:
        raise InputError(f"{place}: {columns[-1]!r} is not a label; use O, or B- or I- (or E-, S-, L-, U-) and a type.")
    return token, tag, label


def _assemble(name: str, sentences: list[list[tuple]]) -> Document:
    text, spans = "", []
    open_span: list | None = None
    for sentence in sentences:
        for token, opens, label in sentence:
            start, text = len(text), text + token + " "
            if label is None:
                open_span = None
            elif opens or open_span is None:
                open_span = [label, start, start + len(token)]
                spans.append(open_span)
            else:
                open_span[2] = start + len(token)
        open_span = None
        text = text[:-1] + "\n"
    return Document(name, text, [Entity(label, ((start, end),)) for label, start, end in spans])
