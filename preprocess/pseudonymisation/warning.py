"""A look at text that was not pseudonymised: how many identifiers the rules find in its first documents."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from preprocess.documents.document import PSEUDONYMISED, Document, read_documents
from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.forms.nir import find_nir
from preprocess.pseudonymisation.forms.phones import find_phones
from preprocess.pseudonymisation.forms.record_numbers import DEFAULT_IPP, find_numbers
from preprocess.pseudonymisation.forms.web import find_web
from preprocess.pseudonymisation.spans import Span, merged

LOOKED_AT = 1000  # documents of each split: a second or two
LONGEST = 5000  # characters of a document
KINDS = {"SECU": "social security numbers", "IPP": "patient numbers", "TEL": "telephone numbers", "MAIL": "e-mails"}


def identifier_warning(splits: Iterable[Iterable[Path]]) -> str:
    """A sentence about the identifiers in documents that were not pseudonymised, "" if there are none."""
    counts: Counter[str] = Counter()
    looked_at = 0
    for paths in splits:
        for document in _first(paths):
            looked_at += 1
            counts.update(span.label for span in merged(_with_form(document.text[:LONGEST])))
    found = [f"{name}: {counts[label]:,}" for label, name in KINDS.items() if counts[label]]
    if not found:
        return ""
    return (
        f"{looked_at:,} documents that were not pseudonymised hold identifiers ({', '.join(found)}); see `python -m "
        "preprocess.pseudonymise --help` if they are of patients"
    )


def _first(paths: Iterable[Path]) -> Iterator[Document]:
    return (
        document for document in islice(read_documents(paths), LOOKED_AT) if not document.metadata.get(PSEUDONYMISED)
    )


def _with_form(text: str) -> Iterator[Span]:
    clues = Clues(text)
    yield from find_nir(clues)
    yield from find_numbers(clues, (DEFAULT_IPP,), "IPP")
    yield from find_phones(clues)
    yield from find_web(clues)
