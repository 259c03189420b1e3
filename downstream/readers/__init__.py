"""Readers of annotated text, one file a format. All keep the raw text, and character offsets into it.

A reader of documents (READERS) is called as read(path, labels, counts); so is one of labelled texts or relations, and
one of the other families as read(path, counts), for their items have no labels. What a recipe says of a format beyond
that (which column holds the text) are keyword arguments of the reader: check_settings tells a recipe which.
"""

import inspect
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from downstream.documents import Document, Labels
from downstream.files import InputError
from downstream.readers import (
    bioasq,
    biobert,
    brat,
    brat_relations,
    chemprot,
    ddi_relations,
    euadr,
    frenchmedmcqa,
    hoc,
    iob,
    jsonl,
    pubmedqa,
    refomed,
    squad,
    tables,
)

READERS = {"brat": brat.read, "iob": iob.read, "jsonl": jsonl.read}

TEXTS = {"table": tables.read_texts, "hoc": hoc.read, "pubmedqa": pubmedqa.read, "bioasq": bioasq.read_texts}
RELATIONS = {
    "table": tables.read_relations,
    "biobert": biobert.read,
    "brat": brat_relations.read,
    "chemprot": chemprot.read,
    "ddi": ddi_relations.read,
    "euadr": euadr.read,
}
PAIRS = {"table": tables.read_pairs}
CANDIDATES = {
    "options": tables.read_options,
    "ranking": tables.read_ranking,
    "frenchmedmcqa": frenchmedmcqa.read,
    "refomed": refomed.read,
}
READING = {"squad": squad.read, "bioasq": bioasq.read_questions}


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


def read_items(read: Callable[..., list], path: Path, labels: Labels | None = None, **settings) -> tuple[list, Counter]:
    """Read one split, a file or a folder, with a reader of TEXTS, RELATIONS, PAIRS, CANDIDATES or READING.

    labels: for the first two only. Returns the items and counts of everything that was read past or mended. Items with
    an empty text are kept, for a test item may not vanish, and counted. Raises InputError if there is no item.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the recipe's data and splits, or give --data.")
    counts: Counter = Counter()
    items = read(path, counts, **settings) if labels is None else read(path, labels, counts, **settings)
    if not items:
        raise InputError(f"{path}: no item in it; check the recipe's data, splits and format.")
    counts["items with an empty text"] += sum(map(_has_empty_text, items))
    return items, counts


def check_settings(read: Callable[..., list], settings: dict, place: str) -> None:
    """Raises InputError, naming `place` (the recipe), for a setting that a reader does not have, or misses."""
    parameters = inspect.signature(read).parameters.values()
    known = {one.name: one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
    for name in settings:
        if name not in known:
            raise InputError(f"{place}: unknown setting {name!r} of the format; it has {', '.join(known) or 'none'}.")
    for name, one in known.items():
        if one.default is inspect.Parameter.empty and name not in settings:
            raise InputError(f"{place}: the format needs the setting {name!r}; it has {', '.join(known)}.")


def _has_empty_text(item: object) -> bool:
    texts = (getattr(item, name, None) for name in ("text", "first", "second", "question"))
    return any(isinstance(text, str) and not text.strip() for text in texts)
