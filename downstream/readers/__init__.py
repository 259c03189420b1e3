"""Readers of annotated text, one file a format. All keep character offsets into the raw text."""

from collections import Counter
from pathlib import Path

from downstream.documents import Document, Labels
from downstream.files import InputError
from downstream.readers import brat, ddi, iob, jsonl

READERS = {"brat": brat.read, "ddi": ddi.read, "iob": iob.read, "jsonl": jsonl.read}


def read_split(format: str, path: Path, labels: Labels) -> tuple[list[Document], Counter]:
    """Read one split, a file or a folder, with the reader of `format` (a key of READERS).

    Returns the documents and counts of everything that was read past. Raises InputError if there is no document.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the recipe's data and splits, or give --data.")
    counts: Counter = Counter()
    documents = READERS[format](path, labels, counts)
    if not documents:
        raise InputError(f"{path}: no annotated {format} document in it; check the recipe's data, splits and format.")
    return documents, counts
