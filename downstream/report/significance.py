"""Significance: an interval for each model, and a test for each pair of models, on the same documents."""

from itertools import combinations
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.report.document import NONE, Block, Table
from downstream.metrics.bootstrap import CONFIDENCE, DRAWS, comparison, holm, interval
from downstream.report.groups import Group

SEED = 1  # of the resampling; the report names it
LEVEL = 0.05  # a p below it is significant; the convention


class Significance(NamedTuple):
    """intervals: by model, None without items. comparisons: by pair of models, the first minus the second."""

    intervals: dict[str, dict | None]
    comparisons: dict[tuple[str, str], dict]


def significance_of(group: Group, draws: int = DRAWS) -> Significance:
    """The intervals and tests of a group. Raises InputError where two runs have different items."""
    metric, statistics = group.first.metric, {}
    for run in group.runs:
        if [record["id"] for record in run.predictions[0]] != [record["id"] for record in group.first.predictions[0]]:
            raise InputError(
                f"{run.place}: answers other items than {group.first.place}; run one of them again with --overwrite."
            )
        statistics[run.name] = run.statistics()
    filled = {name: folds for name, folds in statistics.items() if all(fold.shape[1] for fold in folds)}
    return Significance(
        {name: interval(filled[name], metric, SEED, draws) if name in filled else None for name in statistics},
        {
            (name, other): comparison(filled[name], filled[other], metric, SEED, draws)
            for name, other in combinations(filled, 2)
        },
    )


def bounds(interval: dict | None) -> str:
    """`[0.510, 0.620]`."""
    return f"[{interval['low']:.3f}, {interval['high']:.3f}]" if interval else NONE


def pairs(group: Group, found: Significance) -> list[Block]:
    """A row per pair of models: difference, interval, p, p corrected for the number of pairs, and the conclusion."""
    if not found.comparisons:
        return []
    corrected = holm([result["p"] for result in found.comparisons.values()])
    names = {run.name: run.name for run in group.runs}
    for run in group.runs:
        if len(run.metrics["seeds"]) == 1 and not run.is_baseline:  # another run of the model may differ
            names[run.name] = f"this training run of {run.name}"
    rows = []
    for ((name, other), result), p in zip(found.comparisons.items(), corrected, strict=True):
        numbers = [f"{result['difference']:+.3f}", f"[{result['low']:+.3f}, {result['high']:+.3f}]"]
        numbers += [f"{result['p']:.4f}", f"{p:.4f}"]
        end = conclusion(names[name], names[other], result["difference"], p)
        rows.append([f"{name} - {other}", *numbers, end])
    head = ["models", f"difference in {group.first.metric_name}", f"{CONFIDENCE:.0%} interval", "p", "p (Holm)"]
    caption = f"{group.title}: differences between models on the same {group.first.unit}"
    first = next(iter(found.comparisons.values()))
    how = (
        "The difference is the first model minus the second. Its interval comes from a paired bootstrap, and p from a "
        f"two-sided approximate randomisation test ({first['draws']:,} draws, seed {first['seed']})."
    )
    several = f" p (Holm) is p corrected for {len(rows)} pairs." if len(rows) > 1 else ""
    level = f" A difference is significant if p (Holm) is below {LEVEL}."
    return [Table(caption, [*head, "conclusion"], rows), f"{how}{several}{level}"]


def conclusion(name: str, other: str, difference: float, p: float) -> str:
    """The result of a test in words."""
    if p >= LEVEL:
        return "no significant difference"
    better, worse = (name, other) if difference > 0 else (other, name)
    return f"{better} is better than {worse}"
