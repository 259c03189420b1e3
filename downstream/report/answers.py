"""Wrong answers of each family, and how answers are shown.

A place is the number of an item in predictions.jsonl and, for entities, the line of its text (otherwise 0).
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from downstream.metrics.ranking import top_1
from downstream.tasks.candidates import chosen

WIDTH = 240  # characters of a text that are shown: about three lines of a page
SIGNS = {"gold": "[]", "predicted": "{}"}

Place = tuple[int, int]
Entity = tuple[int, int, str]


class Family(NamedTuple):
    """errors: the wrong lines of a record, with the size of each error. shown: the text of a line, and the answers of
    one side (gold or predicted). keys: the keys that records of this family have."""

    errors: Callable[[dict], dict[int, float]]
    shown: Callable[[dict, int, str], tuple[str, str]]
    keys: tuple[str, ...] = ("text",)


def wrong_places(kind: str, records: list[dict]) -> dict[Place, float]:
    """The wrong places in the order of the records, with the size of each error."""
    errors = FAMILIES[kind].errors
    return {(number, line): size for number, record in enumerate(records) for line, size in errors(record).items()}


def shown(kind: str, records: list[dict], place: Place, side: str) -> tuple[str, str]:
    """The text and the answers of one side; the text is empty where the answers are marked in it."""
    number, line = place
    return FAMILIES[kind].shown(records[number], line, side)


def shortened(text: str) -> str:
    """The beginning of a text on one line, at most WIDTH characters."""
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[:WIDTH].rsplit(" ", 1)[0] + " …"


def _entity_errors(record: dict) -> dict[int, float]:
    """Lines with an entity that is only in gold, or only predicted."""
    lines = {record["text"].count("\n", 0, start) for start, _, _ in _differing(record)}
    return dict.fromkeys(sorted(lines), 1.0)


def _differing(record: dict) -> set[Entity]:
    return set(entities_of(record["gold"])) ^ set(entities_of(record["predicted"]))


def entities_of(side: list[dict]) -> list[Entity]:
    """(start, end, label) of the entities in one side of a record."""
    return [(entity["start"], entity["end"], entity["label"]) for entity in side]


def _entities_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    """The line, or the words around its first wrong entity, with the entities of the side marked."""
    text = record["text"]
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]
    begin, end = starts[line], starts[line + 1] - 1
    first = min((start for start, _, _ in _differing(record) if begin <= start < end), default=begin)
    return "", marked(text, sorted(set(entities_of(record[side]))), *_around(text, begin, end, first), SIGNS[side])


def _around(text: str, begin: int, end: int, place: int) -> tuple[int, int]:
    """At most WIDTH characters of text[begin:end], a third of them before the place, without cutting a word."""
    if end - begin <= WIDTH:
        return begin, end
    start = max(begin, min(place - WIDTH // 3, end - WIDTH))
    stop = min(end, start + WIDTH)
    while start > begin and not text[start - 1].isspace() and start < place:
        start += 1
    while stop < end and not text[stop].isspace() and stop > place + 1:
        stop -= 1
    return start, stop


def marked(text: str, spans: list[Entity], begin: int, end: int, signs: str) -> str:
    """text[begin:end] with `[words|TYPE]` for each span; a span inside another is marked inside it."""
    clipped = [(max(start, begin), min(stop, end), label) for start, stop, label in spans]
    inside = sorted((span for span in clipped if span[0] < span[1]), key=lambda span: (span[0], -span[1], span[2]))
    cuts = []
    for number, (start, stop, label) in enumerate(inside):
        cuts += [(start, 1, number, signs[0]), (stop, 0, -number, f"|{label}{signs[1]}")]
    parts, last = ["… " if begin and text[begin - 1] != "\n" else ""], begin
    for place, _, _, sign in sorted(cuts):
        parts += [text[last:place], sign]
        last = place
    return "".join([*parts, text[last:end], " …" if end < len(text) and text[end] != "\n" else ""])


def _of_items(
    answers: Callable[[dict, str], list[str]],
    size: Callable[[dict], float],
    none: str = "",
    separator: str = " // ",
    keys: tuple[str, ...] = ("text",),
) -> Family:
    """A family whose items have one place each. answers: of a side, in words. size: of the error, 0 for none."""

    def errors(record: dict) -> dict[int, float]:
        return {0: error} if (error := float(size(record))) else {}

    def text_and_answers(record: dict, line: int, side: str) -> tuple[str, str]:
        text = " // ".join(shortened(record[key]) for key in ("text", "second") if key in record)
        return text, separator.join(answers(record, side)) or none

    return Family(errors, text_and_answers, keys)


def _labels(record: dict, side: str) -> list[str]:
    return [record[side]] if isinstance(record[side], str) else record[side]


def _picked(pick: Callable[[dict], Sequence[int]]) -> Callable[[dict, str], list[str]]:
    """The texts of the gold candidates, and of those that `pick` takes from the predicted scores."""
    return lambda record, side: [
        shortened(record["candidates"][number]) for number in (record["gold"] if side == "gold" else pick(record))
    ]


def _first(record: dict) -> int:
    """The first candidate of the ranking; of equal scores a wrong one is first, as in the metric."""
    scores, right = record["predicted"], record["gold"]
    return max(range(len(scores)), key=lambda number: (scores[number], number not in right))


def _reading_error(record: dict) -> float:
    """1 minus the share of its points; 0 for a question that the main metric does not count."""
    points, most = record["tally"] or (1, 1)
    return max(0.0, 1 - points / most)


def _reading_answers(record: dict, side: str) -> list[str]:
    """All predictions for a question with several gold answers; otherwise only the first one."""
    gold = [forms[0] for forms in record["gold"]]
    return gold if side == "gold" else record["predicted"][: None if len(gold) > 1 else 1]


LABELS = _of_items(
    _labels, lambda record: set(_labels(record, "gold")) != set(_labels(record, "predicted")), "no label", ", "
)
CANDIDATES = ("text", "candidates")
FAMILIES = {
    "ner": Family(_entity_errors, _entities_shown),
    "relations": LABELS,
    "classification": LABELS,
    "similarity": _of_items(
        lambda record, side: [f"{record[side]:.2f}"],
        lambda record: abs(record["gold"] - record["predicted"]),
        keys=("text", "second"),
    ),
    "choice": _of_items(
        _picked(lambda record: chosen(record["predicted"])),
        lambda record: set(record["gold"]) != set(chosen(record["predicted"])),
        keys=CANDIDATES,
    ),
    "ranking": _of_items(
        _picked(lambda record: [_first(record)]),
        lambda record: not top_1(record["gold"], record["predicted"]),
        keys=CANDIDATES,
    ),
    "extractive_qa": _of_items(_reading_answers, _reading_error, "no answer"),
}
