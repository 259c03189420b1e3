"""Curves of finished experiments: the main metric at each point, as a table and as a picture."""

from pathlib import Path
from typing import Any

from alibert_common.report.markdown import escaped
from alibert_common.report.plots import plt
from downstream.curves.points import Point
from downstream.experiment.results import MARKS, cell, save
from downstream.metrics.bootstrap import interval
from downstream.report.read_runs import load
from downstream.report.significance import bounds

HATCHES = ("", "///", "...", "\\\\\\", "xxx", "|||")  # of the bands, one a line, in turn
DRAW_SEED = 1  # of intervals; any will do, and the same one everywhere makes a curve of the same points the same


def gathered(points: list[Point], output: Path) -> dict:
    """The content of curves.json, from the outputs of the points below `output`: test where it was scored, else dev.

    No time is in it: a curve that was broken off and continued is the same. Intervals are over documents, each drawn
    within its fold with the answers of all seeds. Raises InputError for an output that is damaged.
    """
    lines: dict[str, list[dict]] = {}
    for point in points:
        run = load(output / point.folder)
        within = interval(run.statistics(), run.metric, DRAW_SEED)
        lines.setdefault(point.line, []).append({"x": point.x, "folder": point.folder, **run.score, "interval": within})
        unit = run.unit
        run.forget_predictions()
    return {
        "task": run.task,
        "split": run.split,
        "figure": run.metric_name,
        "protocol": run.metrics["protocol"]["name"],
        "seeds": run.metrics["seeds"],
        "unit": unit,
        "lines": lines,
    }


def table(curves: dict) -> str:
    """Markdown: a row a place on the axis, a column a line, `mean ± deviation [low, high]`."""
    at = {name: {point["x"]: point for point in points} for name, points in curves["lines"].items()}
    places = sorted({x for points in at.values() for x in points})
    lines = [f"| {curves['axis']} | {' | '.join(map(escaped, at))} |", "|---" * (len(at) + 1) + "|"]
    for x in places:
        cells = (f"{cell(of[x])} {bounds(of[x]['interval'])}" if x in of else "" for of in at.values())
        lines.append(f"| {x} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(curves: dict, log: bool, file: Path) -> None:
    """Draw means over the seeds against x, readable without colour: a mark, a line style and a hatch for each line.

    Whiskers are one deviation over the seeds; the band is the interval.
    """
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for number, (name, points) in enumerate(curves["lines"].items()):
        xs, means = [point["x"] for point in points], [point["mean"] for point in points]
        deviations = [point["deviation"] or 0 for point in points]
        style: dict[str, Any] = {"fmt": MARKS[number % len(MARKS)], "color": "black", "markersize": 5, "linewidth": 1}
        axes.errorbar(xs, means, deviations, label=name, capsize=3, **style)
        low, high = ([point["interval"][bound] for point in points] for bound in ("low", "high"))
        hatch = HATCHES[number % len(HATCHES)]
        axes.fill_between(xs, low, high, facecolor=(0, 0, 0, 0.1), edgecolor="0.6", hatch=hatch, linewidth=0.5)
    if log:
        places = sorted({point["x"] for points in curves["lines"].values() for point in points})
        axes.set_xscale("log")
        axes.set_xticks(places, [str(place) for place in places])
        axes.minorticks_off()
    axes.set(xlabel=curves["axis"] + " (log scale)" * log, ylabel=f"{curves['figure']} on {curves['split']}")
    seeds = len(curves["seeds"])
    axes.set_title(
        f"{curves['task']}, protocol {curves['protocol']}, {seeds} seed{'s' * (seeds > 1)}\n"
        f"whiskers: deviation over seeds; bands: 95 % interval over {curves['unit']}",
        fontsize="medium",
    )
    axes.legend()
    save(figure, file)
