"""Test sentences that models may have seen: in train and dev, and in the text they were pretrained on."""

from alibert_common.report.document import NONE, Table, Text
from downstream.report.answers import shortened
from downstream.report.groups import Group

HEAD = ["task", "test sentences", "found", "test items", "items touched", "one that was found"]


def in_training(groups: list[Group]) -> list[Table | Text]:
    """A row a task, or a fold of one; a sentence for tasks whose test was not read."""
    rows = []
    for group in groups:
        folds = group.first.metrics.get("shared_with_training") or []
        for number, found in enumerate(folds, 1):
            name = group.title + f", fold {number}" * (len(folds) > 1)
            if found:
                rows.append(_row(name, found))
    if not rows:
        return [Text("No test was read, or none was looked at.")]
    return [Table("Test sentences that train or dev has too", HEAD, rows, words=True)]


def in_pretraining(reports: dict[str, dict], groups: list[Group]) -> list[Table | Text]:
    """A table for each pretraining text that test sentences were looked for in, with the tasks that runs are of."""
    blocks: list[Table | Text] = []
    for report in reports.values():
        rows, other = [], []
        for task, found in sorted(report["tasks"].items()):
            tests = [[fold.get("test") for fold in one.first.metrics["data_sha256"]] for one in groups
                     if one.first.task == task]  # fmt: skip
            if not tests:
                continue
            (rows if report["test_sha256"][task] in tests else other).append(_row(task, found))
        names = ", ".join(sorted(file.rsplit("/", 1)[-1] for file in report["files"]))
        if rows:
            blocks.append(Table(f"Test sentences that the pretraining text has ({names})", HEAD, rows, words=True))
        if other:
            tasks = ", ".join(row[0] for row in other)
            blocks.append(Text(f"Looked for in {names}, but on other test data than the scores are of: {tasks}."))
    return blocks or [Text("Not looked for: give downstream.evaluate --pretraining-text.")]


def _row(name: str, found: dict) -> list[str]:
    counts = [found["sentences"], found["found"], found["items"], len(found["items_touched"])]
    return [name, *(f"{count:,}" for count in counts), shortened((*found["examples"], NONE)[0])]
