"""The seeds and folds of an experiment taken together: metrics.json, and the table in the form of AliBERT's Table 4."""

import platform
from importlib import metadata
from pathlib import Path

import tokenizers
import torch
import transformers

from alibert_common.files import write_json, written_whole
from downstream.experiment.plots import alone_in, draw_curves, draw_scores, rows_of, split_of, title
from downstream.metrics.rows import FIGURES
from downstream.metrics.seeds import over_folds, over_seeds
from downstream.tasks.base import Task


def summarise(results: list[dict], conditions: dict, task: Task) -> dict:
    """What metrics.json holds: the conditions, how it was scored, the data's counts, and scores over the seeds.

    The score of a seed with several folds is the mean of theirs.
    """
    seeds = {one["seed"]: [other for other in results if other["seed"] == one["seed"]] for one in results}
    splits = [name for name in ("dev", "test") if name in results[0]]
    return {
        **conditions,
        "evaluation": task.evaluation,
        "chief": task.chief._asdict() | {"counted": task.counted},
        "num_parameters": results[0]["num_parameters"],
        "data": [one["data"] for one in next(iter(seeds.values()))],
        "seeds": list(seeds),
        "selected_on_dev": [one["selected_on_dev"] for one in results],
        "best_epochs": [one["best_epoch"] for one in results],
        "seconds_per_seed": [round(sum(one["seconds"] for one in folds), 1) for folds in seeds.values()],
        "threads": sorted({one["threads"] for one in results}),
        "peak_memory": max(one["peak_memory"] for one in results),  # bytes, of the seed that took most
        **{name: over_seeds([over_folds([one[name] for one in folds]) for folds in seeds.values()]) for name in splits},
        "curves": [one["curve"] for one in results],
    }


def versions() -> dict[str, str]:
    """What the scores were made with."""
    imported = {package.__name__: package.__version__ for package in (torch, transformers, tokenizers)}
    scoring = {name: metadata.version(name) for name in ("seqeval", "scikit-learn")}
    return imported | {"python": platform.python_version()} | scoring


def write_results(summary: dict, output: Path) -> str:
    """Write metrics.json, table.md, scores.png and curves.png; returns the table to print."""
    text = table(summary)
    write_json(output / "metrics.json", summary)
    with written_whole(output / "table.md") as handle:
        handle.write(text)
    draw_scores(summary, output / "scores.png")
    if any(summary["curves"]):
        draw_curves(summary, output / "curves.png")
    return f"{text}\nresults: {output}"


def table(summary: dict) -> str:
    """Markdown: a row for each label, then the averages; other figures below. Mean and deviation over the seeds."""
    split = split_of(summary)
    lines = [f"**{title(summary, split)}**", ""]
    rows = rows_of(summary[split])
    if rows:
        lines += ["| | P | R | F1 | in gold |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        lines.append(f"| {name} | {' | '.join(cell(row[figure]) for figure in FIGURES)} | {row.get('support', '')} |")
    alone = alone_in(summary[split])
    if alone:
        lines += [""] * bool(rows) + ["| | |", "|---|---|"]
        lines += [f"| {name} | {cell(figure)} |" for name, figure in alone.items()]
    return "\n".join(lines) + "\n"


def cell(figure: dict) -> str:
    """`0.512 ± 0.013`; without a deviation when there is one seed."""
    if figure["mean"] is None:
        return "-"  # a type that neither the gold annotations nor the predictions have
    return f"{figure['mean']:.3f}" + (f" ± {figure['deviation']:.3f}" if figure["deviation"] is not None else "")
