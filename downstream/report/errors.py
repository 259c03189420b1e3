"""Examples of errors, and items on which the models differ (002 Table 9), chosen by a fixed rule."""

from collections.abc import Iterable

from alibert_common.report.document import Block, Table
from downstream.report.answers import Place, shown, wrong_places
from downstream.report.groups import Group
from downstream.report.read_runs import Run

ERRORS = 5  # examples per model
SENTENCES = 3  # items with the answers of all models
MARKS = "Gold entities are marked [words|TYPE], predicted entities {words|TYPE}. "
RULE = (
    "The examples follow a fixed rule. Items that most seeds get wrong, or with the largest error, come first; "
    "then the order of the file decides. Each document has at most one example."
)

Errors = dict[Place, float]


def tables(group: Group) -> list[Block]:
    """The examples of all models and how they were chosen; nothing without errors."""
    errors = {run.name: error_sizes(run) for run in group.runs}
    found = [table for run in group.runs for table in examples(group, run, errors[run.name])]
    found += side_by_side(group, errors)
    return [MARKS * (group.first.metrics["kind"] == "ner") + RULE, *found] if found else []


def error_sizes(run: Run) -> Errors:
    """The error at each place, added up over the seeds."""
    sizes: Errors = {}
    for records in run.predictions:
        for place, size in wrong_places(run.metrics["kind"], records).items():
            sizes[place] = sizes.get(place, 0.0) + size
    return sizes


def examples(group: Group, run: Run, errors: Errors) -> list[Table]:
    """The largest errors, then in the order of the file; one per document."""
    rows, kind = [], run.metrics["kind"]
    for place in _one_per_document(run, errors, ERRORS):
        number, line = place
        wrong = [seed for seed in run.predictions if (0, line) in wrong_places(kind, [seed[number]])]
        gold, predicted = (shown(kind, wrong[0], place, side) for side in ("gold", "predicted"))
        rows.append([_name(run, place), *gold, predicted[1], f"{len(wrong)} of {len(run.predictions)} seeds"])
    return _table(f"{group.title}: errors of {run.name}", ["document", "text", "gold", "predicted", "wrong in"], rows)


def side_by_side(group: Group, errors: dict[str, Errors]) -> list[Table]:
    """Items that the first seeds of the models answer differently; the largest differences come first."""
    kind, rows = group.first.metrics["kind"], []
    for place in _one_per_document(group.first, _disagreements(group, errors), SENTENCES):
        text, gold = shown(kind, group.first.predictions[0], place, "gold")
        rows.append([_name(group.first, place), text, "gold", gold])
        rows += [["", "", run.name, shown(kind, run.predictions[0], place, "predicted")[1]] for run in group.runs]
    caption = f"{group.title}: answers of all models to the same items (first seeds)"
    return _table(caption, ["document", "text", "model", "answer"], rows)


def _disagreements(group: Group, errors: dict[str, Errors]) -> Errors:
    """The spread of the models' mean errors, at each place where their first seeds differ."""
    kind, spread = group.first.metrics["kind"], {}
    for place in {place for sizes in errors.values() for place in sizes}:
        if len({shown(kind, run.predictions[0], place, "predicted")[1] for run in group.runs}) > 1:
            means = [errors[run.name].get(place, 0.0) / len(run.predictions) for run in group.runs]
            spread[place] = max(means) - min(means)
    return spread


def _one_per_document(run: Run, sizes: Errors, limit: int) -> Iterable[Place]:
    """The places with the largest sizes, then in the order of the file; at most `limit`."""
    documents: dict[str, Place] = {}
    for place in sorted(sizes, key=lambda place: (-sizes[place], place)):
        documents.setdefault(run.predictions[0][place[0]]["group"], place)
    return list(documents.values())[:limit]


def _name(run: Run, place: Place) -> str:
    """The id of the item, with the line if it has several."""
    record, line = run.predictions[0][place[0]], place[1]
    return record["id"] + (f", line {line + 1}" if "\n" in record.get("text", "").strip() and line else "")


def _table(caption: str, head: list[str], rows: list[list[str]]) -> list[Table]:
    """The table without empty columns (a marked text needs no column of its own); nothing without rows."""
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    rows = [[row[column] for column in kept] for row in rows]
    return [Table(caption, [head[column] for column in kept], rows)] if rows else []
