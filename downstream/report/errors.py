"""Examples of what models get wrong, and items on which they differ (002 Table 9), chosen by a fixed rule."""

from collections import Counter
from collections.abc import Iterable

from alibert_common.report.document import Table
from downstream.report.answers import Place, shown, wrong_places
from downstream.report.groups import Group
from downstream.report.read_runs import Run

ERRORS = 5  # that are shown of each model: one can read them all
SENTENCES = 3  # that are shown with the answers of all models


def amounts(run: Run) -> dict[Place, float]:
    """How wrong each place is, added up over the seeds."""
    found: Counter = Counter()
    for records in run.predictions:
        found.update(wrong_places(run.metrics["kind"], records))
    return found


def examples(group: Group, run: Run, wrong: dict[Place, float]) -> list[Table]:
    """What most seeds get wrong (or, of scores, is farthest off), in the order of the file; one of each document."""
    places = _one_a_document(run, sorted(wrong, key=lambda place: (-wrong[place], place)), ERRORS)
    rows = []
    for place in places:
        seed = _first_wrong(run, place)
        gold, predicted = (shown(run.metrics["kind"], seed, place, side) for side in ("gold", "predicted"))
        rows.append([_name(run, place), gold[0], gold[1], predicted[1], _how_often(run, place)])
    if not rows:
        return []
    head, rows = _without_empty(["document", "text", "gold", "predicted", "wrong in"], rows)
    return [Table(f"{group.title}: errors of {run.name}", head, rows, words=True)]


def side_by_side(group: Group, wrong: dict[str, dict[Place, float]]) -> list[Table]:
    """Items that the first seeds of the models answer differently; first those that one has right and another wrong."""
    spread = _disagreements(group, wrong)
    rows = []
    for place in _one_a_document(group.first, sorted(spread, key=lambda place: (-spread[place], place)), SENTENCES):
        rows += _answers(group, place)
    if not rows:
        return []
    head, rows = _without_empty(["document", "text", "by", "answer"], rows)
    return [Table(f"{group.title}: the models on the same items, first seeds", head, rows, words=True)]


def _disagreements(group: Group, wrong: dict[str, dict[Place, float]]) -> dict[Place, float]:
    """How far the models are apart in how often they are wrong, at each place where their first seeds differ."""
    kind, spread = group.first.metrics["kind"], {}
    for place in {place for one in wrong.values() for place in one}:
        if len({shown(kind, run.predictions[0], place, "predicted")[1] for run in group.runs}) > 1:
            means = [wrong[run.name].get(place, 0.0) / len(run.predictions) for run in group.runs]
            spread[place] = max(means) - min(means)
    return spread


def _answers(group: Group, place: Place) -> list[list[str]]:
    """A row for the gold, which alone names the item and has its text, and one for each model."""
    kind, name = group.first.metrics["kind"], _name(group.first, place)
    text, gold = shown(kind, group.first.predictions[0], place, "gold")
    rows = [[name, text, "gold", gold]]
    for run in group.runs:
        rows.append(["", "", run.name, shown(kind, run.predictions[0], place, "predicted")[1]])
    return rows


def _one_a_document(run: Run, places: Iterable[Place], limit: int) -> list[Place]:
    groups: dict[str, Place] = {}
    for place in places:
        if len(groups) == limit:
            break
        groups.setdefault(run.predictions[0][place[0]]["group"], place)
    return list(groups.values())


def _first_wrong(run: Run, place: Place) -> list[dict]:
    """The records of the first seed that has the place wrong."""
    return run.predictions[_seeds_wrong(run, place)[0]]


def _seeds_wrong(run: Run, place: Place) -> list[int]:
    """Numbers, from 0, of seeds that have the place wrong."""
    kind, (number, line) = run.metrics["kind"], place
    return [
        seed
        for seed, records in enumerate(run.predictions)
        if wrong_places(kind, records[number : number + 1]).get((0, line))
    ]


def _how_often(run: Run, place: Place) -> str:
    return f"{len(_seeds_wrong(run, place))} of {len(run.predictions)} seeds"


def _name(run: Run, place: Place) -> str:
    """The item's id, with the line where it has several."""
    record, line = run.predictions[0][place[0]], place[1]
    return record["id"] + (f", line {line + 1}" if "\n" in record.get("text", "").strip() and line else "")


def _without_empty(head: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Without the column of the text where its marked form says it all."""
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    return [head[column] for column in kept], [[row[column] for column in kept] for row in rows]
