"""The scores of a group: a row per model with its interval, a picture, and a row per label as in AliBERT's Table 4."""

from itertools import chain

from alibert_common.report.document import NONE, Block, Picture, Table
from alibert_common.report.plots import mark, plt, png
from downstream.data.resampling_unit import SENTENCES, WITHOUT_DOCUMENTS
from downstream.experiment.results import alone_in, cell, rows_of
from downstream.metrics.bootstrap import CONFIDENCE
from downstream.metrics.rows import FIGURES
from downstream.report.groups import Group
from downstream.report.read_runs import Run
from downstream.report.significance import Significance, bounds

MODELS = 3  # side by side, as in AliBERT's Table 4; more do not fit a printed page
SHORT = {"precision": "P", "recall": "R", "f1": "F1"}
ROWS = {
    "micro": "all labels counted together",
    "macro": "mean of the labels",
    "every gold span": "micro scores against all annotated entities, also nested and discontinuous ones",
    "ceiling": "the same scores for a perfect model",
}
HEIGHT = 0.26  # inches per line of the picture


def by_model(group: Group, found: Significance) -> list[Block]:
    """A row per model: score, deviation, interval and cost; and a warning if the interval is not over documents."""
    name, unit = group.first.metric_name, group.first.unit
    head = ["model", f"{name}, mean ± deviation over seeds", f"{CONFIDENCE:.0%} interval over {unit}"]
    rows = [[run.name, cell(run.score), bounds(found.intervals[run.name]), *_cost(run)] for run in group.runs]
    caption = f"{group.title}: {name} on {group.first.split}, {group.trained}"
    table = Table(caption, [*head, "seeds", "parameters", "seconds per seed", "memory"], rows)
    return [table, *([WITHOUT_DOCUMENTS] if unit == SENTENCES else [])]


def _cost(run: Run) -> list[str]:
    """Seeds, parameters, mean seconds of a seed, and peak memory of the largest seed."""
    seconds, memory = run.metrics["seconds_per_seed"], run.metrics.get("peak_memory")
    return [
        str(len(run.metrics["seeds"])),
        f"{run.metrics['num_parameters']:,}",
        f"{sum(seconds) / len(seconds):,.0f}",
        f"{memory / 2**30:.2f} GiB" if memory else NONE,
    ]


def by_label(group: Group) -> list[Table]:
    """Labels, then averages, MODELS models per table; a last table for metrics without labels, such as accuracy."""
    rows = {run.name: rows_of(run.scores) for run in group.runs}
    alone = {run.name: alone_in(run.scores) for run in group.runs}
    # Only a baseline has other rows than the rest of its group.
    names, others = (list(dict.fromkeys(chain.from_iterable(columns.values()))) for columns in (rows, alone))
    tables = []
    parts = [list(rows)[start : start + MODELS] for start in range(0, len(rows), MODELS)] if names else []
    for number, part in enumerate(parts, start=1):
        head = ["label", *(f"{run}: {SHORT[metric]}" for run in part for metric in FIGURES), "in gold"]
        body = []
        for name in names:
            of_models = [rows[run].get(name) for run in part]
            cells = [cell(row[metric]) if row else NONE for row in of_models for metric in FIGURES]
            support = next((of_run[name].get("support", NONE) for of_run in rows.values() if name in of_run), NONE)
            body.append([name, *cells, str(support)])
        which = f", {number} of {len(parts)}" if len(parts) > 1 else ""
        legend = {name: ROWS[name] for name in names if name in ROWS and number == len(parts)}
        tables.append(Table(f"{group.title}: scores by label{which}", head, body, legend))
    if others:
        body = [[name, *(cell(of[name]) if name in of else NONE for of in alone.values())] for name in others]
        tables.append(Table(f"{group.title}: other metrics", ["metric", *alone], body))
    return tables


def conditions(group: Group) -> list[Block]:
    """How the task computes its scores."""
    rows = [[key.replace("_", " "), value] for key, value in group.first.metrics.get("evaluation", {}).items()]
    return [Table(f"{group.title}: how the scores are computed", ["setting", "value"], rows)] if rows else []


def picture(found: list[tuple[Group, Significance]]) -> Picture:
    """A line per task and model: a mark at the mean and a bar over the interval."""
    lines = [(group, run, tested.intervals[run.name]) for group, tested in found for run in group.runs]
    names = list(dict.fromkeys(run.name for _, run, _ in lines))
    figure, axes = plt.subplots(figsize=(8, 1.2 + HEIGHT * len(lines)), layout="constrained")
    for place, (group, run, interval) in enumerate(lines):
        if interval:
            axes.hlines(place, interval["low"], interval["high"], color="black", linewidth=1.2, zorder=1)
        axes.plot(run.score["mean"], place, **mark(names.index(run.name)))
        if place and group is not lines[place - 1][0]:
            axes.axhline(place - 0.5, color="0.7", linewidth=0.6)
    axes.set_yticks(range(len(lines)), [f"{group.title}: {run.name}" for group, run, _ in lines])
    axes.set(xlabel="main metric", ylim=(len(lines) - 0.5, -0.5))
    axes.grid(axis="x", color="0.85")
    values = [f"{group.title}, {run.name}: {run.score['mean']:.3f} {bounds(of)}" for group, run, of in lines]
    caption = f"Main metric of each model on each task, best model first. The bar is the {CONFIDENCE:.0%} interval."
    return Picture(png(figure), f"{caption} {'; '.join(values)}.", caption)
