"""How sure the scores of a group are: an interval for each model, a comparison of each pair, on the same documents."""

from dataclasses import dataclass
from itertools import combinations

from alibert_common.errors import InputError
from alibert_common.report.document import NONE, Table, Text
from downstream.data.resampling_unit import SENTENCES, WITHOUT_DOCUMENTS
from downstream.experiment.results import cell
from downstream.metrics.bootstrap import CONFIDENCE, DRAWS, comparison, holm, interval
from downstream.report.groups import Group
from downstream.report.read_runs import Run

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


def models(group: Group, judged: Judged) -> list[Table | Text]:
    """A row a model: the chief figure with its deviation over seeds and its interval, and the cost; and what to make of
    an interval that is not over documents."""
    name = group.first.chief_name
    head = ["model", f"{name}, mean ± deviation over seeds", f"{CONFIDENCE:.0%} interval over {group.first.unit}"]
    rows = []
    for run in group.runs:
        rows.append([run.name, cell(run.chief), bounds(judged.intervals[run.name]), *cost(run)])
    caption = f"{group.title}: {name} on {group.first.split}, {group.trained}"
    table = Table(caption, [*head, "seeds", "parameters", "seconds a seed", "memory"], rows)
    return [table, *([Text(WITHOUT_DOCUMENTS)] if group.first.unit == SENTENCES else [])]


def bounds(one: dict | None) -> str:
    """`[0.510, 0.620]`."""
    return f"[{one['low']:.3f}, {one['high']:.3f}]" if one else NONE


def cost(run: Run) -> list[str]:
    """Seeds, parameters, mean seconds of a seed, peak memory of the largest seed."""
    seconds, memory = run.metrics["seconds_per_seed"], run.metrics.get("peak_memory")
    return [
        str(len(run.metrics["seeds"])),
        f"{run.metrics['num_parameters']:,}",
        f"{sum(seconds) / len(seconds):,.0f}",
        f"{memory / 2**30:.2f} GiB" if memory else NONE,
    ]


def pairs(group: Group, judged: Judged) -> list[Table | Text]:
    """Each pair of models: difference, its interval, p, also corrected for the number of pairs, and what that says;
    nothing for one model."""
    if not judged.comparisons:
        return []
    corrected = holm([found["p"] for found in judged.comparisons.values()])
    names = {run.name: _trained(run) for run in group.runs}
    rows = [
        [
            f"{one} - {other}",
            f"{found['difference']:+.3f}",
            f"[{found['low']:+.3f}, {found['high']:+.3f}]",
            f"{found['p']:.4f}",
            f"{p:.4f}",
            said(names[one], names[other], found["difference"], p),
        ]
        for ((one, other), found), p in zip(judged.comparisons.items(), corrected, strict=True)
    ]
    head = ["pair", f"difference in {group.first.chief_name}", f"{CONFIDENCE:.0%} interval", "p", "p (Holm)", "says"]
    table = Table(f"{group.title}: differences between models on the same {group.first.unit}", head, rows)
    several = f" Holm's p is corrected for {len(rows)} pairs, and decides." if len(rows) > 1 else ""
    first = next(iter(judged.comparisons.values()))
    how = f"{first['draws']:,} draws, seed {first['seed']}"
    return [table, Text(f"Paired bootstrap intervals; p of approximate randomisation, two-sided ({how}).{several}")]


def _trained(run: Run) -> str:
    """A model of one seed is one training, from which another one may differ."""
    return run.name if len(run.metrics["seeds"]) > 1 or run.is_baseline else f"this training of {run.name}"


def said(one: str, other: str, difference: float, p: float) -> str:
    """In words, for those who do not read p."""
    if p >= LEVEL:
        return "cannot be told apart"
    better, worse = (one, other) if difference > 0 else (other, one)
    return f"{better} is better than {worse}"
