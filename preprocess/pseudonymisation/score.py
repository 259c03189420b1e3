"""How many identifiers of an annotated set are found, by kind and by document."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError, readable
from alibert_common.files import read_text
from alibert_common.json_value import parse_json
from alibert_common.report.document import NONE, Table
from preprocess.pseudonymisation.spans import LABELS, RANKS, Span

ALL = "all"


class Score(NamedTuple):
    """Shares from 0 to 1, each None where there is nothing to count."""

    recall: float | None  # of the identifiers, found with their kind and exact place
    precision: float | None
    character_recall: float | None  # of the characters of identifiers, found as any kind
    character_precision: float | None


class Annotated(NamedTuple):
    """A text and the identifiers that are in it."""

    id: str
    text: str
    spans: list[Span]
    known: list[str] = []


def read_annotated(file: Path) -> Iterator[Annotated]:
    """The texts of a JSON lines file: `id`, `text`, `entities` with `start`, `end` and `label`, maybe `known` names.

    Raises InputError for a line that is none, and for a label that is not one of LABELS.
    """
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
            text, known = record["text"], list(record.get("known", ()))
            if not all(isinstance(one, str) for one in (text, *known)):
                raise ValueError("text and known names must be strings")
            spans = [_span(entity, len(text)) for entity in record["entities"]]
            yield Annotated(str(record["id"]), text, spans, known)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{readable(file)}, line {number}: no annotated text ({error}).") from None


def _span(entity: dict, length: int) -> Span:
    """An entity of a text of some characters. Raises ValueError for one that cannot be in it."""
    span = Span(entity["start"], entity["end"], entity["label"])
    if span.label not in RANKS:
        raise ValueError(f"label {span.label} is none of {', '.join(LABELS)}")
    if not (type(span.start) is type(span.end) is int and 0 <= span.start < span.end <= length):
        raise ValueError(f"no place in the text: {span.start} to {span.end}")
    return span


def score(found: Sequence[Iterable[Span]], truth: Sequence[Iterable[Span]]) -> tuple[dict[str, Score], float]:
    """Two sequences of documents' spans compared: a score of each kind and of "all", and the share of whole documents.

    A document is whole where every character of its identifiers is in a found span, whatever its kind.
    """
    counts: dict[str, Counter] = {label: Counter() for label in (*LABELS, ALL)}
    whole = 0
    for guessed, right in zip(map(set, found), map(set, truth), strict=True):
        covered = [{place for span in spans for place in range(span.start, span.end)} for spans in (guessed, right)]
        whole += covered[1] <= covered[0]
        for label, count in counts.items():
            mine, true = ({span for span in spans if label in (span.label, ALL)} for spans in (guessed, right))
            count.update(found=len(mine), true=len(true), both=len(mine & true))
            for name, spans, other in (("true", true, covered[0]), ("found", mine, covered[1])):
                places = {place for span in spans for place in range(span.start, span.end)}
                count.update({f"{name} characters": len(places), f"{name} characters shared": len(places & other)})
    return {label: _score(count) for label, count in counts.items()}, whole / max(len(truth), 1)


def _score(count: Counter) -> Score:
    return Score(
        _share(count["both"], count["true"]),
        _share(count["both"], count["found"]),
        _share(count["true characters shared"], count["true characters"]),
        _share(count["found characters shared"], count["found characters"]),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def table(scores: dict[str, Score]) -> Table:
    """The scores, a row a kind."""
    head = ["kind", "recall", "precision", "recall of characters", "precision of characters"]
    rows = [
        [label, *(NONE if value is None else f"{value:.3f}" for value in values)]
        for label, values in scores.items()
        if any(value is not None for value in values)
    ]
    return Table("Identifiers", head, rows)
