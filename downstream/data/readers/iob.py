"""Columns: one token a line, its label in the last column, a blank line after each sentence."""

import re
from collections import Counter
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import AnnotatedText, Labels
from downstream.data.examples import RowId
from downstream.data.readers.records import lines_of
from downstream.data.readers.tags import FRENCH, Token, rebuild

SUFFIXES = (".iob", ".iob2", ".bio", ".conll", ".tsv", ".txt")
MARKS, SENTENCE = "docstart", "sentence"  # values of `documents`
DOCUMENT_STARTS = ("-DOCSTART-", "###MEDLINE:")  # CoNLL-2003, JNLPBA


def read(
    path: Path, labels: Labels, counts: Counter, *, documents: str | int = MARKS, spacing: str = FRENCH
) -> list[AnnotatedText]:
    """The documents of a file, or of the files of a folder.

    documents: `docstart`: one for each -DOCSTART- or ###MEDLINE: line; in a file without any, each sentence is one, and
    counted. `sentence`: each sentence. A number: so many sentences in a row. spacing: see tags.py.
    Schemes: IOB2, IOB1, IO, IOE2, IOBES and BILOU. Columns are separated by tabs or, in lines without any, by spaces;
    those between token and label are not read (BLUE's exports have a document and an offset there).
    Raises InputError for a line of too few columns, or of more or fewer than the lines before, and for a bad label.
    """
    if documents not in (MARKS, SENTENCE) and not (isinstance(documents, int) and documents > 0):
        raise InputError(f"{path}: documents is {documents!r}; give {MARKS}, {SENTENCE} or a number of sentences.")
    texts = []
    for file in files_of(path, *SUFFIXES):
        name = file.stem if file == path else file.relative_to(path).with_suffix("").as_posix()
        parts = _documents(file)
        if documents != MARKS or len(parts) == 1:
            if documents == MARKS:
                counts["sentences without document marks, taken for documents"] += len(parts[0][1])
            sentences = [sentence for _, own in parts for sentence in own]
            size = documents if isinstance(documents, int) else 1
            parts = [("", sentences[start : start + size]) for start in range(0, len(sentences), size)]
        for number, (own, sentences) in enumerate([part for part in parts if part[1]], 1):
            texts.append(rebuild(own or RowId(f"{name}-{number}"), sentences, labels, counts, spacing))
    return texts


def _documents(file: Path) -> list[tuple[str, list[list[Token]]]]:
    """The ids (empty without) and sentences of the marked documents, the first of which is what no mark precedes."""
    documents: list[tuple[str, list[list[Token]]]] = [("", [[]])]
    width = 0
    for _, place, line in lines_of(file):
        if line.startswith(DOCUMENT_STARTS):
            documents.append((line.strip("# ") if line.startswith("#") else "", [[]]))
        elif not line.strip():
            documents[-1][1].append([])
        else:
            columns = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
            if len(columns) < 2 or not columns[0].strip():
                raise InputError(f"{place}: a token and a label are needed, separated by white space; found {line!r}.")
            if width and len(columns) != width:
                raise InputError(f"{place}: {len(columns)} columns after lines of {width}; correct the line {line!r}.")
            width = len(columns)
            documents[-1][1][-1].append(Token(columns[0].strip(), columns[-1].strip(), place))
    return [(own, [sentence for sentence in sentences if sentence]) for own, sentences in documents]
