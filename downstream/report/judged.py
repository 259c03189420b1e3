"""How sure the scores of a group are: an interval for each model, a comparison of each pair, on the same documents."""

from dataclasses import dataclass
from itertools import combinations

from downstream.files import InputError
from downstream.metrics.resampling import CONFIDENCE, DRAWS, comparison, interval
from downstream.report.content import NONE, Table, Text
from downstream.report.groups import Group
from downstream.results import cell

SEED = 1  # of what is drawn; written in the report, so that it can be made again
LEVEL = 0.05  # of p, that is called a difference; the convention


@dataclass(frozen=True)
class Judged:
    """intervals: by model, None without documents. comparisons: by pair of models, the first one minus the second."""

    intervals: dict[str, dict | None]
    comparisons: dict[tuple[str, str], dict]


def judge(group: Group, draws: int = DRAWS) -> Judged:
    """Raises InputError where two runs answer different items."""
    figure = group.first.chief_figure
    _refuse_other_items(group)
    tallies = {run.name: run.tallies() for run in group.runs}
    filled = {name: folds for name, folds in tallies.items() if all(one.shape[1] for one in folds)}
    return Judged(
        {name: interval(tallies[name], figure, SEED, draws) if name in filled else None for name in tallies},
        {
            (one, other): comparison(filled[one], filled[other], figure, SEED, draws)
            for one, other in combinations(filled, 2)
        },
    )


def _refuse_other_items(group: Group) -> None:
    ids = [one["id"] for one in group.first.predictions[0]]
    for run in group.runs[1:]:
        if [one["id"] for one in run.predictions[0]] != ids:
            raise InputError(
                f"{run.place}: answers other items than {group.first.place}; run one of them again with --overwrite."
            )


def models(group: Group, judged: Judged) -> Table:
    """A row a model: the chief figure with its deviation over seeds and its interval over documents, and the cost."""
    name = group.first.chief_name
    head = ["model", f"{name}, mean ± deviation over seeds", f"{CONFIDENCE:.0%} interval over documents"]
    rows = []
    for run in group.runs:
        rows.append([run.name, cell(run.chief), bounds(judged.intervals[run.name]), *cost(run)])
    caption = f"{group.title}: {name} on {group.first.split}, {group.trained}"
    return Table(caption, [*head, "seeds", "parameters", "seconds a seed", "memory"], rows)


def bounds(one: dict | None) -> str:
    """`[0.510, 0.620]`."""
    return f"[{one['low']:.3f}, {one['high']:.3f}]" if one else NONE


def cost(run) -> list[str]:
    """Seeds, parameters, mean seconds of a seed, peak memory of the largest seed."""
    seconds, memory = run.metrics["seconds_per_seed"], run.metrics.get("peak_memory")
    return [
        str(len(run.metrics["seeds"])),
        f"{run.metrics['num_parameters']:,}",
        f"{sum(seconds) / len(seconds):,.0f}",
        f"{memory / 2**30:.2f} GiB" if memory else NONE,
    ]


def pairs(group: Group, judged: Judged) -> list[Table | Text]:
    """Each pair of models: difference, its interval, p, and what that says; nothing for one model."""
    if not judged.comparisons:
        return []
    rows = [
        [
            f"{one} - {other}",
            f"{found['difference']:+.3f}",
            f"[{found['low']:+.3f}, {found['high']:+.3f}]",
            f"{found['p']:.4f}",
            said(one, other, found),
        ]
        for (one, other), found in judged.comparisons.items()
    ]
    head = ["pair", f"difference in {group.first.chief_name}", f"{CONFIDENCE:.0%} interval", "p", "says"]
    table = Table(f"{group.title}: differences between models on the same documents", head, rows)
    several = f" {len(rows)} pairs are compared; p is not corrected for that." if len(rows) > 1 else ""
    first = next(iter(judged.comparisons.values()))
    how = f"{first['draws']:,} draws, seed {first['seed']}"
    return [table, Text(f"Paired bootstrap intervals; p of approximate randomisation, two-sided ({how}).{several}")]


def said(one: str, other: str, found: dict) -> str:
    """In words, for those who do not read p."""
    if found["p"] >= LEVEL:
        return "cannot be told apart"
    return f"{one if found['difference'] > 0 else other} is better"
