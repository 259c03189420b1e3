"""Curves with their bands, readable without colour: a mark, a line style and a hatch each."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no display is needed, nor looked for
import matplotlib.pyplot as plt  # noqa: E402

from alibert_common.files import written_whole  # noqa: E402
from downstream.experiment.plots import MARKS  # noqa: E402

HATCHES = ("", "///", "...", "\\\\\\", "xxx", "|||")  # of the bands, one a line, in turn


def draw(curves: dict, log: bool, file: Path) -> None:
    """Means over the seeds against x, with whiskers of one deviation over them; the band is the interval."""
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for number, (name, points) in enumerate(curves["lines"].items()):
        xs, means = [point["x"] for point in points], [point["mean"] for point in points]
        deviations = [point["deviation"] or 0 for point in points]
        style: dict[str, Any] = {"color": "black", "markersize": 5, "linewidth": 1, "capsize": 3}
        axes.errorbar(xs, means, deviations, fmt=MARKS[number % len(MARKS)], label=name, **style)
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
    with written_whole(file, "wb") as handle:
        figure.savefig(handle, format="png", dpi=150)
    plt.close(figure)
