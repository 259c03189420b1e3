"""Identifiers as places in a text, and how those that overlap are told apart."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Those of EDS-pseudo (AP-HP), and URL. Of two identifiers of one length, the label that stands first here is kept.
LABELS = (
    "SECU", "IPP", "NDA", "MAIL", "URL", "TEL", "DATE_NAISSANCE", "DATE", "ADRESSE", "ZIP", "HOPITAL", "VILLE", "NOM",
    "PRENOM",
)  # fmt: skip
RANKS = {label: rank for rank, label in enumerate(LABELS)}


class Span(NamedTuple):
    """An identifier: text[start:end], and its kind, one of LABELS."""

    start: int
    end: int
    label: str


def merged(spans: Iterable[Span], sure: Sequence[Span] = ()) -> list[Span]:
    """Sorted spans without overlap. The longest comes first, then the first label of LABELS, then the first place.

    What others leave of a shorter span stays a span: no character that a rule found is given up. Those of `sure`, which
    do not overlap, come before all others.
    """
    ordered = [*sure, *sorted(set(spans), key=lambda span: (span.start - span.end, RANKS[span.label], span.start))]
    taken = bytearray(max((span.end for span in ordered), default=0))
    kept = []
    for span in ordered:
        start = span.start
        while (start := taken.find(0, start, span.end)) >= 0:
            end = taken.find(1, start, span.end)
            end = end if end >= 0 else span.end
            kept.append(Span(start, end, span.label))
            taken[start:end] = b"\1" * (end - start)
    return sorted(kept)


def trimmed(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans without spaces and commas at their ends; those of which nothing is left are dropped."""
    tight = []
    for start, end, label in spans:
        inside = text[start:end]
        start += len(inside) - len(inside.lstrip(SPARE))
        end -= len(inside) - len(inside.rstrip(SPARE))
        if start < end:
            tight.append(Span(start, end, label))
    return tight


SPARE = " \t\n\u00a0\u202f,;:"
