"""What finished experiments say at the points of curves: the chief figure, over seeds and over drawn documents."""

import json
from pathlib import Path

import numpy as np

from downstream.curves.points import Point
from downstream.experiment import Unit
from downstream.files import read_json, read_text
from downstream.markdown import escaped
from downstream.metrics.resampling import interval
from downstream.metrics.tallies import figure, grouped
from downstream.results import cell
from downstream.units import unit_of

DRAW_SEED = 1  # of intervals; any will do, and the same one everywhere makes a curve of the same points the same


def gathered(points: list[Point], output: Path, split: str) -> dict:
    """What curves.json holds, from the metrics.json of each point's folder below `output`. No time is in it: a curve
    that was broken off and continued is the same."""
    lines: dict[str, list[dict]] = {}
    for point in points:
        metrics = read_json(output / point.folder / "metrics.json")
        scored = {"x": point.x, "folder": point.folder, **score_of(metrics, split)}
        scored["interval"] = interval_of(output / point.folder, metrics, split)
        lines.setdefault(point.line, []).append(scored)
    return {
        "task": metrics["task"],
        "split": split,
        "figure": " ".join(metrics["chief"]["path"]),
        "protocol": metrics["protocol"]["name"],
        "seeds": metrics["seeds"],
        "unit": drawn_by(output / point.folder, metrics, split),
        "lines": lines,
    }


def score_of(metrics: dict, split: str) -> dict:
    """Mean, deviation and values over the seeds of the chief figure."""
    found = metrics[split]
    for name in metrics["chief"]["path"]:
        found = found[name]
    return found


def interval_of(folder: Path, metrics: dict, split: str) -> dict:
    """Bootstrap interval over documents, each drawn within its fold with the answers of all seeds."""
    num_folds, chief = len(metrics["data"]), metrics["chief"]
    folds = []
    for fold in range(1, num_folds + 1):
        units = [Unit(seed, fold if num_folds > 1 else None) for seed in metrics["seeds"]]
        folds.append(np.stack([_tallies(_records(folder / unit.name, split)) for unit in units]))
    return interval(folds, figure(chief["tally"], chief["counted"]), DRAW_SEED)


def drawn_by(folder: Path, metrics: dict, split: str) -> str:
    """What intervals draw, and training counts."""
    unit = Unit(metrics["seeds"][0], 1 if len(metrics["data"]) > 1 else None)
    return unit_of(metrics["kind"], metrics["recipe"]["format"], _records(folder / unit.name, split))


def _records(folder: Path, split: str) -> list[dict]:
    records = [json.loads(line) for line in read_text(folder / "predictions.jsonl").split("\n") if line]
    return [one for one in records if one["split"] == split]


def _tallies(records: list[dict]) -> np.ndarray:
    """Of each document, (documents, k); items that the chief figure is not of have none."""
    counted = [one for one in records if one["tally"] is not None]
    return grouped(np.array([one["tally"] for one in counted]), [one["group"] for one in counted])


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
