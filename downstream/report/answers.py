"""Items, and lines of documents, that were answered wrongly: which ones, and how they are shown.

A place is an item's number in predictions.jsonl and, for entities, the line of its text (0 elsewhere).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from downstream.metrics.ranking import top_1
from downstream.tasks.candidates import chosen

WIDTH = 240  # characters of a text that are shown: some three lines of a page
SIGNS = {"gold": "[]", "predicted": "{}"}

Place = tuple[int, int]


class Family(NamedTuple):
    """wrong: of a record, its wrong places (lines) with how wrong they are, a share or a distance. shown: the text of a
    place and one side of it, in words. keys: of a record, those that only this family has."""

    wrong: Callable[[dict], dict[int, float]]
    shown: Callable[[dict, int, str], tuple[str, str]]
    keys: tuple[str, ...] = ("text",)


def wrong_places(kind: str, records: list[dict]) -> dict[Place, float]:
    """In the order of the records."""
    wrong = FAMILIES[kind].wrong
    return {(number, line): amount for number, one in enumerate(records) for line, amount in wrong(one).items()}


def shown(kind: str, records: list[dict], place: Place, side: str) -> tuple[str, str]:
    """(text, gold or predicted of it); the text is empty where the side has it, with marks in it."""
    number, line = place
    return FAMILIES[kind].shown(records[number], line, side)


def shortened(text: str) -> str:
    """On one line, at most WIDTH characters of its beginning."""
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[:WIDTH].rsplit(" ", 1)[0] + " …"


def _entities_wrong(record: dict) -> dict[int, float]:
    """Lines with an entity that is only in gold, or only predicted."""
    starts = _line_starts(record["text"])
    return dict.fromkeys(sorted({_line_of(starts, start) for start, _, _ in _unlike(record)}), 1.0)


def _unlike(record: dict) -> set[tuple[int, int, str]]:
    gold, predicted = (_spans(record, side) for side in ("gold", "predicted"))
    return gold ^ predicted


def _spans(record: dict, side: str) -> set[tuple[int, int, str]]:
    return {(one["start"], one["end"], one["label"]) for one in record[side]}


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _line_of(starts: list[int], place: int) -> int:
    return max(number for number, start in enumerate(starts) if start <= place)


def _entities_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    """The line, or what is around its first wrong entity, with the entities of the side marked."""
    text, starts = record["text"], [*_line_starts(record["text"]), len(record["text"]) + 1]
    begin, end = starts[line], starts[line + 1] - 1
    first = min((start for start, _, _ in _unlike(record) if begin <= start < end), default=begin)
    window = _around(text, begin, end, first)
    return "", marked(text, sorted(_spans(record, side)), *window, SIGNS[side])


def _around(text: str, begin: int, end: int, place: int) -> tuple[int, int]:
    """At most WIDTH characters of text[begin:end], a third of them before the place; no word is cut."""
    if end - begin <= WIDTH:
        return begin, end
    start = max(begin, min(place - WIDTH // 3, end - WIDTH))
    stop = min(end, start + WIDTH)
    while start > begin and not text[start - 1].isspace() and start < place:
        start += 1
    while stop < end and not text[stop].isspace() and stop > place + 1:
        stop -= 1
    return start, stop


def marked(text: str, spans: list[tuple[int, int, str]], begin: int, end: int, signs: str) -> str:
    """text[begin:end] with `[words|TYPE]` for each span in it; what is inside another is marked inside it."""
    inside = [(max(start, begin), min(stop, end), label) for start, stop, label in spans]
    inside = sorted((one for one in inside if one[0] < one[1]), key=lambda one: (one[0], -one[1], one[2]))
    cuts = []
    for number, (start, stop, label) in enumerate(inside):
        cuts += [(start, 1, number, signs[0]), (stop, 0, -number, f"|{label}{signs[1]}")]
    parts, last = ["… " if begin and text[begin - 1] != "\n" else ""], begin
    for place, _, _, sign in sorted(cuts):
        parts += [text[last:place], sign]
        last = place
    return "".join([*parts, text[last:end], " …" if end < len(text) and text[end] != "\n" else ""])


def _text(record: dict) -> str:
    """Of an item, or both of a pair."""
    return " // ".join(shortened(record[key]) for key in ("text", "second") if key in record)


def _labels_wrong(record: dict) -> dict[int, float]:
    return {} if set(_listed(record["gold"])) == set(_listed(record["predicted"])) else {0: 1.0}


def _labels_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    return _text(record), ", ".join(_listed(record[side])) or "no label"


def _listed(labels: str | list[str]) -> list[str]:
    return [labels] if isinstance(labels, str) else labels


def _scores_wrong(record: dict) -> dict[int, float]:
    return {0: abs(record["gold"] - record["predicted"])}


def _scores_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    return _text(record), f"{record[side]:.2f}"


def _choice_wrong(record: dict) -> dict[int, float]:
    return {} if set(record["gold"]) == set(chosen(record["predicted"])) else {0: 1.0}


def _choice_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    picked = record["gold"] if side == "gold" else chosen(record["predicted"])
    return _text(record), " // ".join(shortened(record["candidates"][number]) for number in picked)


def _first(record: dict) -> int:
    """The candidate that is ranked first; as they are scored, a wrong one before a right one of the same score."""
    scores, right = record["predicted"], record["gold"]
    return max(range(len(scores)), key=lambda number: (scores[number], number not in right))


def _ranking_wrong(record: dict) -> dict[int, float]:
    return {} if top_1(record["gold"], record["predicted"]) else {0: 1.0}


def _ranking_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    picked = record["gold"] if side == "gold" else [_first(record)]
    return _text(record), " // ".join(shortened(record["candidates"][number]) for number in picked)


def _reading_wrong(record: dict) -> dict[int, float]:
    """What its tally, points of how many, leaves out; without one, the figure is not of this question."""
    points, most = record["tally"] or (1, 1)
    return {} if points >= most else {0: 1 - points / most}


def _reading_shown(record: dict, line: int, side: str) -> tuple[str, str]:
    """Of a list, which has several gold answers, everything that was predicted; else the first."""
    gold = [forms[0] for forms in record["gold"]]
    answers = gold if side == "gold" else record["predicted"][: None if len(gold) > 1 else 1]
    return _text(record), " // ".join(answers) or "no answer"


FAMILIES = {
    "ner": Family(_entities_wrong, _entities_shown),
    "relations": Family(_labels_wrong, _labels_shown),
    "classification": Family(_labels_wrong, _labels_shown),
    "similarity": Family(_scores_wrong, _scores_shown, ("text", "second")),
    "choice": Family(_choice_wrong, _choice_shown, ("text", "candidates")),
    "ranking": Family(_ranking_wrong, _ranking_shown, ("text", "candidates")),
    "extractive_qa": Family(_reading_wrong, _reading_shown),
}
