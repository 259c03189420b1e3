"""JSON lines, a document each: {"text": ..., "entities": [{"start": 0, "end": 4, "label": ...}]}, "id" if wanted."""

import json
from collections import Counter
from pathlib import Path

from downstream.documents import Document, Entity, Labels
from downstream.files import InputError, files_of, read_text


def read(path: Path, labels: Labels, counts: Counter) -> list[Document]:
    """One document a line; blank lines are passed over. Offsets count characters, the end is excluded."""
    documents = []
    for file in files_of(path, ".jsonl"):
        for number, line in enumerate(read_text(file).split("\n"), 1):
            if line.strip():
                documents.append(_document(line, f"{file.stem}-{number}", f"{file}, line {number}", labels, counts))
    return documents


def _document(line: str, name: str, place: str, labels: Labels, counts: Counter) -> Document:
    try:
        record = json.loads(line)
        text, spans = record["text"], [(span["start"], span["end"], span["label"]) for span in record["entities"]]
        if not isinstance(text, str) or not all(type(start) is type(end) is int for start, end, _ in spans):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f'{place}: not a document; write {{"text": "...", "entities": [{{"start": 0, "end": 4, "label": "..."}}]}}.'
        ) from None
    entities = []
    for start, end, label in spans:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start} {end} lie outside the {len(text)} characters of text; mend them."
            )
        label = labels.keep(label, place, counts)
        if label is not None:
            entities.append(Entity(label, ((start, end),)))
    return Document(str(record.get("id", name)), text, entities)
