"""The data sets: items, labels and what was counted while reading them (AliBERT's Table 3), and contamination.

Contamination: patients in several splits, and test sentences that models may have seen, in train and dev or in their
pretraining text.
"""

from collections.abc import Iterator

from alibert_common.report.document import NONE, Block, Table
from downstream.data.patients import shown
from downstream.data.split_lists import parse
from downstream.report import published
from downstream.report.answers import shortened
from downstream.report.groups import Group
from downstream.report.read_runs import Run

SPLITS = ("train", "dev", "test")
CONTAMINATION = ["task", "test sentences", "found", "test items", "items affected", "example"]
LEAKED = "Patients in several splits: scores are too high, give all documents of a patient to one split"
SIZES = ("items", "types", "documents", "sequences", "tokens", "words")  # the counts that report no loss


def overview(groups: list[Group]) -> Table:
    """A row per data set."""
    rows = []
    for group in groups:
        data, kind = group.first.metrics["data"], group.first.metrics["kind"].replace("_", " ")
        items = [f"{data[0][split]['items']:,}" if split in data[0] else NONE for split in SPLITS]
        rows.append([group.title, kind, *items, str(len(data)), _splits(group.first)])
    head = ["data set", "family", *(f"{split} items" for split in SPLITS), "folds", "splits"]
    return Table("Data sets", head, rows)


def labels(group: Group) -> list[Block]:
    """A row per label: its counts in each split (of the first fold), their sum, and the published count."""
    data = group.first.metrics["data"][0]
    splits = [split for split in SPLITS if split in data]
    theirs = {score.path[1]: score for score in published.of(group.first.task) if score.path[0] == "data"}
    names = list(dict.fromkeys(name for split in splits for name in data[split]["types"]))
    rows = []
    for name in names:
        counts = [data[split]["types"].get(name, 0) for split in splits]
        row = [name, *(f"{count:,}" for count in counts), f"{sum(counts):,}"]
        rows.append(row + ([f"{theirs[name].value:,.0f}" if name in theirs else NONE] if theirs else []))
    folds = f", fold 1 of {group.first.num_folds}" * (group.first.num_folds > 1)
    head = ["label", *splits, "all"] + [score.source for score in list(theirs.values())[:1]]
    blocks: list[Block] = [Table(f"{group.title}: annotations{folds}", head, rows)]
    return [*blocks, *([published.conditions(list(theirs.values()))] if theirs else []), *_counted(group, splits)]


def _counted(group: Group, splits: list[str]) -> list[Block]:
    """Counts of reading and of cutting into sequences, other than sizes."""
    data = group.first.metrics["data"][0]
    names = dict.fromkeys(
        name for split in splits for name, count in data[split].items() if name not in SIZES and count
    )
    rows = [[name, *(f"{data[split].get(name, 0):,}" for split in splits)] for name in names]
    return [Table(f"{group.title}: counts while reading", ["count", *splits], rows)] if rows else []


def _splits(run: Run) -> str:
    """Whether the splits are official, from a list, or random."""
    recipe = run.metrics["recipe"]
    if "all" in recipe["splits"]:
        return f"random, seed {recipe.get('split_seed')}"
    lists = sorted({parse(split, run.task).list for split in recipe["splits"].values()} - {""})
    digest = run.metrics["data_sha256"][0][run.split][:12]
    kind = f"from a list ({', '.join(lists)}; sha256 of {run.split} {digest})" if lists else "official"
    dev = f"; dev is a random part of train, seed {recipe.get('split_seed')}"
    return kind + dev * bool(recipe.get("dev_share"))


def patients(groups: list[Group]) -> list[Table]:
    """A row per task, or per fold, and per two splits that share patients; nothing if none do."""
    rows = [
        [name, splits, f"{len(shared):,}", shown(shared)]
        for name, found in _by_fold(groups, "patients_in_several_splits")
        for splits, shared in found.items()
    ]
    return [Table(LEAKED, ["task", "in", "patients", "which"], rows)] if rows else []


def _by_fold(groups: list[Group], key: str) -> Iterator[tuple[str, dict]]:
    """What metrics.json has under the key, with the names of task and fold."""
    for group in groups:
        folds = group.first.metrics.get(key) or []
        for number, found in enumerate(folds, 1):
            yield group.title + f", fold {number}" * (len(folds) > 1), found


def in_training(groups: list[Group]) -> list[Block]:
    """A row per task, or per fold."""
    rows = [_row(name, found) for name, found in _by_fold(groups, "shared_with_training") if found]
    return [
        Table("Test sentences that are also in train or dev", CONTAMINATION, rows)
        if rows
        else "No test set was checked."
    ]


def in_pretraining(reports: dict[str, dict], groups: list[Group]) -> list[Block]:
    """A table per pretraining text, with the tasks of the runs."""
    blocks: list[Block] = []
    for report in reports.values():
        rows: list[list[str]] = []
        other: list[list[str]] = []
        for task, found in sorted(report["tasks"].items()):
            tests = [[fold.get("test") for fold in group.first.metrics["data_sha256"]] for group in groups
                     if group.first.task == task]  # fmt: skip
            if tests:
                (rows if report["test_sha256"][task] in tests else other).append(_row(task, found))
        names = ", ".join(sorted(file.rsplit("/", 1)[-1] for file in report["files"]))
        if rows:
            blocks.append(Table(f"Test sentences that are also in the pretraining text ({names})", CONTAMINATION, rows))
        if other:
            tasks = ", ".join(row[0] for row in other)
            blocks.append(f"Checked in {names}, but with other test data than that of the scores: {tasks}.")
    return blocks or ["Not checked. Run downstream.evaluate with --pretraining-text."]


def _row(name: str, found: dict) -> list[str]:
    counts = [found["sentences"], found["found"], found["items"], len(found["items_touched"])]
    return [name, *(f"{count:,}" for count in counts), shortened((*found["examples"], NONE)[0])]
