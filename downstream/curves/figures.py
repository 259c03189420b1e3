"""What finished experiments say at the points of curves: the chief figure, over seeds and over drawn documents."""

from pathlib import Path

from alibert_common.report.markdown import escaped
from downstream.curves.points import Point
from downstream.experiment.results import cell
from downstream.metrics.bootstrap import interval
from downstream.report.read_runs import load

DRAW_SEED = 1  # of intervals; any will do, and the same one everywhere makes a curve of the same points the same


def gathered(points: list[Point], output: Path) -> dict:
    """What curves.json holds, from the outputs at the points, below `output`: test where it was scored, else dev.

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
        lines.append(f"| {x} | {' | '.join(_shown(points[x]) if x in points else '' for points in at.values())} |")
    return "\n".join(lines) + "\n"


def _shown(point: dict) -> str:
    within = point["interval"]
    return f"{cell(point)} [{within['low']:.3f}, {within['high']:.3f}]"
