"""Test sentences that models may have seen: in train and dev, and in their pretraining text."""

from alibert_common.report.document import NONE, Block, Table
from downstream.report.answers import shortened
from downstream.report.groups import Group

HEAD = ["task", "test sentences", "found", "test items", "items affected", "example"]


def in_training(groups: list[Group]) -> list[Block]:
    """A row per task, or per fold."""
    rows = []
    for group in groups:
        folds = group.first.metrics.get("shared_with_training") or []
        for number, found in enumerate(folds, 1):
            name = group.title + f", fold {number}" * (len(folds) > 1)
            rows += [_row(name, found)] if found else []
    return [Table("Test sentences that are also in train or dev", HEAD, rows) if rows else "No test set was checked."]


def in_pretraining(reports: dict[str, dict], groups: list[Group]) -> list[Block]:
    """A table per pretraining text, with the tasks of the runs."""
    blocks: list[Block] = []
    for report in reports.values():
        rows: list[list[str]] = []
        other: list[list[str]] = []
        for task, found in sorted(report["tasks"].items()):
            tests = [[fold.get("test") for fold in one.first.metrics["data_sha256"]] for one in groups
                     if one.first.task == task]  # fmt: skip
            if tests:
                (rows if report["test_sha256"][task] in tests else other).append(_row(task, found))
        names = ", ".join(sorted(file.rsplit("/", 1)[-1] for file in report["files"]))
        if rows:
            blocks.append(Table(f"Test sentences that are also in the pretraining text ({names})", HEAD, rows))
        if other:
            tasks = ", ".join(row[0] for row in other)
            blocks.append(f"Checked in {names}, but with other test data than that of the scores: {tasks}.")
    return blocks or ["Not checked. Run downstream.evaluate with --pretraining-text."]


def _row(name: str, found: dict) -> list[str]:
    counts = [found["sentences"], found["found"], found["items"], len(found["items_touched"])]
    return [name, *(f"{count:,}" for count in counts), shortened((*found["examples"], NONE)[0])]
