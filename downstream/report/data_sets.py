"""The data sets: how many items, of which labels, what was read past; AliBERT's Table 3."""

from alibert_common.report.document import NONE, Table, Text
from downstream.data.split_lists import parse
from downstream.report import published
from downstream.report.groups import Group
from downstream.report.read_runs import Run

SPLITS = ("train", "dev", "test")
SIZES = ("items", "types", "documents", "sequences", "tokens", "words")  # of counts, those that say no loss


def overview(groups: list[Group]) -> Table:
    """A row a data set."""
    rows = []
    for group in groups:
        data, drawn = group.first.metrics["data"], _drawn(group.first)
        items = [_items(group.first, split) for split in SPLITS]
        rows.append([group.title, group.first.metrics["kind"].replace("_", " "), *items, str(len(data)), drawn])
    head = ["data set", "family", *(f"{split} items" for split in SPLITS), "folds", "splits"]
    return Table("Data sets", head, rows)


def labels(group: Group) -> list[Table | Text]:
    """A row a label: how often in each split (of the first fold), in all, and as published."""
    data = group.first.metrics["data"][0]
    splits = [split for split in SPLITS if split in data]
    theirs = {one.path[1]: one for one in published.of(group.first.task) if one.path[0] == "data"}
    names = list(dict.fromkeys(name for split in splits for name in data[split]["types"]))
    rows = []
    for name in names:
        counts = [data[split]["types"].get(name, 0) for split in splits]
        row = [name, *(f"{count:,}" for count in counts), f"{sum(counts):,}"]
        rows.append(row + ([f"{theirs[name].value:,.0f}" if name in theirs else NONE] if theirs else []))
    folds = f", fold 1 of {group.first.num_folds}" * (group.first.num_folds > 1)
    head = ["label", *splits, "all"] + [one.source for one in list(theirs.values())[:1]]
    blocks: list[Table | Text] = [Table(f"{group.title}: annotations{folds}", head, rows)]
    return [*blocks, *([published.conditions(list(theirs.values()))] if theirs else []), *_counted(group.first, splits)]


def _counted(run: Run, splits: list[str]) -> list[Text]:
    """What was met in reading and cutting into sequences, other than sizes, where there is any."""
    told = []
    for split in splits:
        counts = run.metrics["data"][0][split]
        found = [f"{number:,} {name}" for name, number in counts.items() if name not in SIZES and number]
        told += [f"{split}: {', '.join(found)}."] if found else []
    return [Text("Counted on the way, " + " ".join(told))] if told else []


def _items(run: Run, split: str) -> str:
    data = run.metrics["data"][0]
    return f"{data[split]['items']:,}" if split in data else NONE


def _drawn(run: Run) -> str:
    """Whether the splits are the data's own, by a list, whoever made it, or drawn."""
    recipe = run.metrics["recipe"]
    if "all" in recipe["splits"]:
        return f"drawn, seed {recipe.get('split_seed')}"
    lists = sorted({parse(split, run.task).list for split in recipe["splits"].values()} - {""})
    digest = run.metrics["data_sha256"][0][run.split][:12]
    told = f"by a list ({', '.join(lists)}; sha256 of {run.split} {digest})" if lists else "the data's own"
    return told + (f"; dev drawn from train, seed {recipe.get('split_seed')}" if recipe.get("dev_share") else "")
