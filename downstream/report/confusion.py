"""Confusions: counts over all seeds, a row per gold label, a column per predicted label."""

from collections import Counter

from alibert_common.report.document import Table
from downstream.metrics.labels import confusion
from downstream.report.answers import entities_of
from downstream.report.groups import Group
from downstream.report.read_runs import Run

BOUNDS, NOTHING = "other boundaries", "none"
MOST_NAMED = 10  # labels that head a column by name; QUAERO's ten fill the width of a printed page


def matrices(group: Group) -> list[Table]:
    """A table per model, for families with labels or entities."""
    kind = group.first.metrics["kind"]
    if kind not in ("ner", "relations", "classification"):
        return []
    several = kind == "classification" and group.first.metrics["recipe"]["multi_label"]
    made = _of_entities if kind == "ner" else _of_label_sets if several else _of_labels
    tables = []
    for run in group.runs:
        seeds = len(run.metrics["seeds"])
        caption = f"{group.title}: confusions of {run.name}" + f", counts over {seeds} seeds" * (seeds > 1)
        tables.append(made(caption, run, [record for records in run.predictions for record in records]))
    return tables


def _of_labels(caption: str, run: Run, records: list[dict]) -> Table:
    """One label per item."""
    sides = [[record[side] for record in records] for side in ("gold", "predicted")]
    gold, predicted = ([label if isinstance(label, str) else label[0] for label in side] for side in sides)
    made = confusion(gold, predicted, run.metrics["recipe"]["labels"])
    rows = [[name, *map(str, counts)] for name, counts in zip(made["classes"], made["counts"], strict=True)]
    return _matrix(caption, made["classes"], [], rows)


def _of_label_sets(caption: str, run: Run, records: list[dict]) -> Table:
    """Any number of labels per item: each label by itself."""
    labels = run.metrics["recipe"]["labels"]
    answers = [(name, record) for record in records for name in labels]
    counts = Counter((name, name in record["gold"], name in record["predicted"]) for name, record in answers)
    kinds = [(True, True), (True, False), (False, True), (False, False)]  # in gold, predicted
    rows = [[name, *(str(counts[name, gold, mine]) for gold, mine in kinds)] for name in labels]
    return Table(caption, ["label", "found", "missed", "wrongly predicted", "rightly not predicted"], rows)


def _of_entities(caption: str, run: Run, records: list[dict]) -> Table:
    """Entities by type: predicted with the same boundaries, with other boundaries, or not at all."""
    sides = ((entities_of(record["gold"]), entities_of(record["predicted"])) for record in records)
    counts = sum((_confused(*side) for side in sides), Counter())
    labels = sorted({label for pair in counts for label in pair} - {BOUNDS, NOTHING})
    columns = [*labels, BOUNDS, NOTHING]
    rows = [[row, *(str(counts[row, column]) for column in columns)] for row in [*labels, NOTHING]]
    return _matrix(caption, labels, [BOUNDS, NOTHING], [row for row in rows if set(row[1:]) != {"0"}])


def _matrix(caption: str, labels: list[str], others: list[str], rows: list[list[str]]) -> Table:
    """Columns of labels, then others. Above MOST_NAMED labels, the columns have the numbers of their rows."""
    if len(labels) <= MOST_NAMED:
        return Table(caption, ["gold", *(f"predicted: {label}" for label in [*labels, *others])], rows)
    number = {label: str(at) for at, label in enumerate(labels, 1)}
    numbered = [[f"{number[row]} {row}" if row in number else row, *counts] for row, *counts in rows]
    head = ["gold; predicted by number", *number.values(), *(f"predicted: {name}" for name in others)]
    return Table(caption, head, numbered)


def _confused(gold: list[tuple], predicted: list[tuple]) -> Counter:
    """Pairs of a gold type and what was predicted; NOTHING and a type where a prediction touches no gold entity."""
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
