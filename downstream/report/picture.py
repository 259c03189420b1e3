"""The chief figure of every model on every task with its interval, readable without colour."""

from io import BytesIO

import matplotlib

matplotlib.use("Agg")  # no display is needed, nor looked for
import matplotlib.pyplot as plt  # noqa: E402

from alibert_common.report.document import Picture  # noqa: E402
from downstream.report.groups import Group  # noqa: E402
from downstream.report.significance import Judged, bounds  # noqa: E402

MARKS = "os^Dv*<>Xp"  # one a model, in turn
HEIGHT = 0.24  # inches of a line


def draw(judged: list[tuple[Group, Judged]]) -> Picture:
    """A line a task and model: mark at the mean, bar over the interval."""
    names = list(dict.fromkeys(run.name for group, _ in judged for run in group.runs))
    lines = [(group, run, one.intervals[run.name]) for group, one in judged for run in group.runs]
    figure, axes = plt.subplots(figsize=(8, 1.2 + HEIGHT * len(lines)), layout="constrained")
    for place, (_, run, interval) in enumerate(lines):
        number = names.index(run.name)
        if interval:
            axes.hlines(place, interval["low"], interval["high"], color="black", linewidth=1)
        fill = "black" if number < len(MARKS) else "white"  # a second round of marks is hollow
        axes.plot(run.chief["mean"], place, MARKS[number % len(MARKS)], color="black", markerfacecolor=fill)
    for place in range(1, len(lines)):
        if lines[place][0] is not lines[place - 1][0]:
            axes.axhline(place - 0.5, color="0.7", linewidth=0.6)
    axes.set_yticks(range(len(lines)), [f"{group.title}: {run.name}" for group, run, _ in lines])
    axes.set(xlabel="chief figure, with its interval", ylim=(len(lines) - 0.5, -0.5))
    axes.grid(axis="x", color="0.85")
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=120, metadata={"Software": None})  # the same bytes from any release
    plt.close(figure)
    return Picture(stream.getvalue(), _in_words(lines))


def _in_words(lines: list[tuple]) -> str:
    told = [f"{group.title}, {run.name}: {run.chief['mean']:.3f} {bounds(one)}" for group, run, one in lines]
    return "Chief figure of each model on each task. " + "; ".join(told) + "."
