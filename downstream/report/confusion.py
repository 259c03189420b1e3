"""What was taken for what: counts over all seeds, a row what is right, a column what was answered."""

from collections import Counter

from alibert_common.report.document import Table
from downstream.metrics.labels import confusion
from downstream.report.groups import Group
from downstream.report.read_runs import Run

BOUNDS, NOTHING = "other boundaries", "nothing"
MOST_NAMED = 10  # labels that head a column by name: as many, of QUAERO, fill the width of a printed page


def matrices(group: Group) -> list[Table]:
    """One a model, for the families that answer labels or entities."""
    made = {"ner": entities, "relations": single, "classification": _classification}.get(group.first.metrics["kind"])
    return [made(group, run) for run in group.runs] if made else []


def _classification(group: Group, run: Run) -> Table:
    return several(group, run) if run.metrics["recipe"]["multi_label"] else single(group, run)


def single(group: Group, run: Run) -> Table:
    """One label an item."""
    records = [one for records in run.predictions for one in records]
    gold, predicted = ([_label(one[side]) for one in records] for side in ("gold", "predicted"))
    found = confusion(gold, predicted, run.metrics["recipe"]["labels"])
    rows = [[name, *map(str, counts)] for name, counts in zip(found["classes"], found["counts"], strict=True)]
    return _matrix(_caption(group, run), found["classes"], [], rows)


def _label(side: str | list[str]) -> str:
    return side if isinstance(side, str) else side[0]


def several(group: Group, run: Run) -> Table:
    """Any number of labels an item: each label for itself."""
    counts: Counter = Counter()
    for record in (one for records in run.predictions for one in records):
        for name in run.metrics["recipe"]["labels"]:
            counts[name, name in record["gold"], name in record["predicted"]] += 1
    kinds = {"found": (True, True), "missed": (True, False), "wrongly given": (False, True), "left": (False, False)}
    names = run.metrics["recipe"]["labels"]
    rows = [[name, *(str(counts[(name, *kind)]) for kind in kinds.values())] for name in names]
    return Table(_caption(group, run), ["label", *kinds], rows)


def entities(group: Group, run: Run) -> Table:
    """Entities by type: answered with the same boundaries and which type, with other boundaries, or not at all."""
    counts: Counter = Counter()
    for record in (one for records in run.predictions for one in records):
        counts += _taken_for(_spans(record["gold"]), _spans(record["predicted"]))
    labels = sorted({label for pair in counts for label in pair} - {BOUNDS, NOTHING})
    rows = [
        [row, *(str(counts[row, column]) for column in [*labels, BOUNDS, NOTHING])]
        for row in [*labels, NOTHING]
        if any(counts[row, column] for column in [*labels, BOUNDS, NOTHING])
    ]
    return _matrix(_caption(group, run), labels, [BOUNDS, NOTHING], rows)


def _matrix(caption: str, labels: list[str], others: list[str], rows: list[list[str]]) -> Table:
    """Columns of labels, then others. Those of more than MOST_NAMED labels are headed by the numbers of their rows."""
    if len(labels) <= MOST_NAMED:
        return Table(caption, ["in gold", *(f"answered {one}" for one in [*labels, *others])], rows)
    number = {label: str(at) for at, label in enumerate(labels, 1)}
    rows = [[f"{number[row]} {row}" if row in number else row, *counts] for row, *counts in rows]
    return Table(
        caption, ["in gold; answered by number", *number.values(), *(f"answered {one}" for one in others)], rows
    )


def _taken_for(gold: list[tuple], predicted: list[tuple]) -> Counter:
    """Pairs of a gold type and what it was taken for; of `nothing` and a type where no gold entity is touched."""
    counts: Counter = Counter()
    for start, end, label in gold:
        same = [other for first, last, other in predicted if (first, last) == (start, end)]
        if same:
            counts[label, label if label in same else same[0]] += 1
        else:
            touched = any(first < end and start < last for first, last, _ in predicted)
            counts[label, BOUNDS if touched else NOTHING] += 1
    for start, end, label in predicted:
        counts[NOTHING, label] += not any(first < end and start < last for first, last, _ in gold)
    return +counts


def _spans(side: list[dict]) -> list[tuple[int, int, str]]:
    return [(one["start"], one["end"], one["label"]) for one in side]


def _caption(group: Group, run: Run) -> str:
    seeds = len(run.metrics["seeds"])
    return f"{group.title}: what {run.name} took for what" + f", counts over {seeds} seeds" * (seeds > 1)
