"""The seeds of a run taken together: metrics.json, and the table in the form of AliBERT's Table 4."""

import platform
from importlib import metadata
from pathlib import Path

import tokenizers
import torch
import transformers

from downstream.files import write_json, written_whole
from downstream.metrics.entities import EVALUATION
from downstream.metrics.rows import FIGURES
from downstream.metrics.seeds import over_seeds
from downstream.plots import draw_curves, draw_scores, title
from downstream.spans import Policy


def summarise(results: list[dict], conditions: dict, counts: dict) -> dict:
    """What metrics.json holds: the conditions, how it was scored, the data's counts, and scores over the seeds."""
    recipe = conditions["recipe"]
    policies = {name: recipe[name] for name in Policy.__dataclass_fields__}
    scored = [name for name in results[0] if name.split("_")[0] in ("dev", "test")]
    return {
        **conditions,
        "evaluation": EVALUATION | policies,
        "num_parameters": results[0]["num_parameters"],
        "data": counts,
        "seeds": [one["seed"] for one in results],
        "best_epochs": [one["best_epoch"] for one in results],
        "seconds_per_seed": [one["seconds"] for one in results],
        **{name: over_seeds([one[name] for one in results]) for name in scored},
        "curves": [one["curve"] for one in results],
    }


def versions() -> dict[str, str]:
    """What the scores were made with."""
    packages = (torch, transformers, tokenizers)
    return {package.__name__: package.__version__ for package in packages} | {
        "python": platform.python_version(),
        "seqeval": metadata.version("seqeval"),
    }


def write_results(summary: dict, output: Path) -> str:
    """Write metrics.json, table.md, scores.png and curves.png; returns the table to print."""
    text = table(summary)
    write_json(output / "metrics.json", summary)
    with written_whole(output / "table.md") as handle:
        handle.write(text)
    draw_scores(summary, output / "scores.png")
    draw_curves(summary, output / "curves.png")
    return f"{text}\nmetrics, pictures and the best seed's model: {output}"


def table(summary: dict) -> str:
    """Markdown: a row a type, then micro and macro; mean and deviation over the seeds."""
    split = "test" if "test" in summary else "dev"  # dev where test was not read
    rows = [*summary[split]["types"].items(), *((name, summary[split][name]) for name in ("micro", "macro"))]
    lines = [f"**{title(summary, split)}**: strict entities (seqeval, IOB2)", "", "| Entities | P | R | F1 | in gold |"]
    lines.append("|---|---|---|---|---|")
    for name, row in rows:
        lines.append(f"| {name} | {' | '.join(cell(row[figure]) for figure in FIGURES)} | {row['support']} |")
    every, ceiling = summary[f"{split}_every_gold_span"], summary[f"{split}_ceiling"]
    lines += [
        "",
        f"Against all {every['support']} annotated entities, those no flat sequence can hold included: F1 "
        f"{cell(every['f1'])}; a perfect flat tagger would reach {ceiling['f1']['mean']:.3f}.",
    ]
    return "\n".join(lines) + "\n"


def cell(figure: dict) -> str:
    """`0.512 ± 0.013`; without a deviation when there is one seed."""
    if figure["mean"] is None:
        return "-"  # a type that neither the gold annotations nor the predictions have
    return f"{figure['mean']:.3f}" + (f" ± {figure['deviation']:.3f}" if figure["deviation"] is not None else "")
