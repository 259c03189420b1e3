"""The data sets: items, labels and what was counted while reading them; AliBERT's Table 3."""

from alibert_common.report.document import NONE, Block, Table
from downstream.data.split_lists import parse
from downstream.report import published
from downstream.report.groups import Group
from downstream.report.read_runs import Run

SPLITS = ("train", "dev", "test")
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
    theirs = {one.path[1]: one for one in published.of(group.first.task) if one.path[0] == "data"}
    names = list(dict.fromkeys(name for split in splits for name in data[split]["types"]))
    rows = []
    for name in names:
        counts = [data[split]["types"].get(name, 0) for split in splits]
        row = [name, *(f"{count:,}" for count in counts), f"{sum(counts):,}"]
        rows.append(row + ([f"{theirs[name].value:,.0f}" if name in theirs else NONE] if theirs else []))
    folds = f", fold 1 of {group.first.num_folds}" * (group.first.num_folds > 1)
    head = ["label", *splits, "all"] + [one.source for one in list(theirs.values())[:1]]
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
