"""The seeds and folds of an experiment taken together: metrics.json, a table in the form of AliBERT's Table 4.

Two pictures are readable without colour: scores by label with their deviation, and the learning curves.
"""

import platform
from importlib import metadata
from pathlib import Path

import tokenizers
import torch
import transformers

from alibert_common.files import write_json, write_text, written_whole
from alibert_common.report.plots import plt
from downstream.metrics.rows import FIGURES
from downstream.metrics.seeds import over_folds, over_seeds
from downstream.tasks.base import Task

FILLS = {"precision": ("0.85", "//"), "recall": ("0.6", ".."), "f1": ("0.25", "")}  # grey and hatch
MARKS = ("o-", "s--", "^:", "D-.", "v-", "x--")  # one a seed, in turn


def summarise(results: list[dict], conditions: dict, task: Task) -> dict:
    """What metrics.json holds: the conditions, how it was scored, the data's counts, and scores over the seeds.

    The score of a seed with several folds is the mean of theirs.
    """
    numbers = dict.fromkeys(result["seed"] for result in results)
    seeds = {number: [result for result in results if result["seed"] == number] for number in numbers}
    splits = [name for name in ("dev", "test") if name in results[0]]
    return {
        **conditions,
        "evaluation": task.evaluation,
        "chief": task.chief._asdict() | {"counted": task.counted},
        "num_parameters": results[0]["num_parameters"],
        "data": [fold["data"] for fold in next(iter(seeds.values()))],
        "seeds": list(seeds),
        "selected_on_dev": [result["selected_on_dev"] for result in results],
        "best_epochs": [result["best_epoch"] for result in results],
        "seconds_per_seed": [round(sum(fold["seconds"] for fold in folds), 1) for folds in seeds.values()],
        "threads": sorted({result["threads"] for result in results}),
        "peak_memory": max(result["peak_memory"] for result in results),  # bytes, of the seed that took most
        **{name: over_seeds([over_folds([run[name] for run in folds]) for folds in seeds.values()]) for name in splits},
        "curves": [result["curve"] for result in results],
    }


def versions() -> dict[str, str]:
    """The releases of the libraries that made the scores."""
    imported = {package.__name__: package.__version__ for package in (torch, transformers, tokenizers)}
    scoring = {name: metadata.version(name) for name in ("seqeval", "scikit-learn")}
    return imported | {"python": platform.python_version()} | scoring


def write_results(summary: dict, output: Path) -> str:
    """Write metrics.json, table.md, scores.png and curves.png; returns the table to print."""
    text = table(summary)
    write_json(output / "metrics.json", summary)
    write_text(output / "table.md", text)
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


def rows_of(figures: dict) -> dict[str, dict]:
    """The rows with precision, recall and F1: of each label, then the averages, `every_gold_span` and so on."""
    rows = {name: row for name, row in figures.items() if isinstance(row, dict) and "precision" in row}
    return labels_in(figures) | {name.replace("_", " "): row for name, row in rows.items()}


def labels_in(figures: dict) -> dict[str, dict]:
    """The rows of the single labels."""
    return figures.get("types") or figures.get("classes") or {}


def alone_in(figures: dict) -> dict[str, dict]:
    """The figures that stand for themselves, as accuracy."""
    alone = {}
    for name, figure in figures.items():
        if isinstance(figure, dict) and "mean" in figure:
            alone[name.replace("_", " ")] = figure
        elif isinstance(figure, dict) and "precision" not in figure and figure is not labels_in(figures):
            alone |= {f"{name}: {below}".replace("_", " "): value for below, value in alone_in(figure).items()}
    return alone


def split_of(summary: dict) -> str:
    """The split whose scores are shown: dev if test was not read."""
    return "test" if "test" in summary else "dev"


def draw_scores(summary: dict, file: Path) -> None:
    """Bars of precision, recall and F1 of each label and average, then one of each other figure.

    Whiskers are one deviation over the seeds.
    """
    split = split_of(summary)
    rows, alone = rows_of(summary[split]), alone_in(summary[split])
    names = [f"{name}\n({row['support']})" if "support" in row else name for name, row in rows.items()] + list(alone)
    figure, axes = plt.subplots(figsize=(max(6, 1.1 * len(names)), 4), layout="constrained")
    for number, (name, fill) in enumerate(FILLS.items() if rows else ()):
        places = [place + (number - 1) * 0.27 for place in range(len(rows))]
        _bars(axes, places, [row[name] for row in rows.values()], fill, name)
    _bars(axes, list(range(len(rows), len(names))), list(alone.values()), FILLS["f1"], None)
    axes.set_xticks(range(len(names)), names)
    axes.axvline(len(labels_in(summary[split])) - 0.5, color="black", linewidth=0.8)
    axes.set(ylim=(0, 1), ylabel="score", title=title(summary, split))
    if rows:
        figure.legend(loc="outside lower center", ncols=3)
    save(figure, file)


def _bars(axes, places: list[float], figures: list[dict], fill: tuple[str, str], label: str | None) -> None:
    means, deviations = ([figure[name] or 0 for figure in figures] for name in ("mean", "deviation"))
    grey, hatch = fill
    style = {"color": grey, "hatch": hatch, "edgecolor": "black", "capsize": 2}
    axes.bar(places, means, 0.27, yerr=deviations, label=label, **style)


def draw_curves(summary: dict, file: Path) -> None:
    """Training loss and the chief figure on dev against the epoch, a line a seed (and fold); a large open mark shows
    the epoch that was kept."""
    figure, (losses, scores) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for number, curve in enumerate(summary["curves"]):
        mark, epochs = MARKS[number % len(MARKS)], [epoch["epoch"] for epoch in curve]
        style = {"color": "black", "markersize": 4, "linewidth": 1}
        label = f"seed {summary['seeds'][number]}" if len(summary["curves"]) == len(summary["seeds"]) else None
        losses.plot(epochs, [epoch["loss"] for epoch in curve], mark, **style)
        scores.plot(epochs, [epoch["dev"] for epoch in curve], mark, label=label, **style)
        kept = summary["best_epochs"][number]
        scores.plot(kept, curve[kept - 1]["dev"], "o", fillstyle="none", color="black", markersize=12)
    losses.set(xlabel="epoch", ylabel="training loss (nats)", ylim=(0, None))
    scores.set(xlabel="epoch", ylabel=f"{' '.join(summary['chief']['path'])} on dev")
    if scores.get_legend_handles_labels()[0]:
        scores.legend()
    figure.suptitle(title(summary, "dev"))
    save(figure, file)


def title(summary: dict, split: str) -> str:
    """Model, task, split, protocol, number of seeds, and of training documents if not all, on one line."""
    model, protocol, seeds = summary["model"], summary["protocol"], len(summary["seeds"])
    name = model["folder"] + f" ({model.get('form')})" * ("form" in model)
    name += " (random initialisation)" * model["random_init"] + " (frozen)" * model["frozen"]
    changes = "".join(f", {change}" for change in protocol["changed"])
    changes += f", {seeds} seed{'s' * (seeds > 1)}"
    if summary.get("train_documents"):
        changes += f", {summary['train_documents']} training documents"
    return f"{name} on {summary['task']} {split}, protocol {protocol['name']}{changes}"


def save(figure, file: Path) -> None:
    """Write a figure as a PNG, whole or not at all, and close it."""
    with written_whole(file, "wb") as handle:
        figure.savefig(handle, format="png", dpi=150)
    plt.close(figure)
