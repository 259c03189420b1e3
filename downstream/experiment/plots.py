"""Two pictures of a run, readable without colour: scores by label with their deviation, and the learning curves."""

from pathlib import Path

from alibert_common.files import written_whole
from alibert_common.report.plots import plt

FILLS = {"precision": ("0.85", "//"), "recall": ("0.6", ".."), "f1": ("0.25", "")}  # grey and hatch
MARKS = ("o-", "s--", "^:", "D-.", "v-", "x--")  # one a seed, in turn


def rows_of(figures: dict) -> dict[str, dict]:
    """Those with precision, recall and F1: of each label, then the averages, `every_gold_span` and so on."""
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
        mark, epochs = MARKS[number % len(MARKS)], [one["epoch"] for one in curve]
        style = {"color": "black", "markersize": 4, "linewidth": 1}
        label = f"seed {summary['seeds'][number]}" if len(summary["curves"]) == len(summary["seeds"]) else None
        losses.plot(epochs, [one["loss"] for one in curve], mark, **style)
        scores.plot(epochs, [one["dev"] for one in curve], mark, label=label, **style)
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
    name = model["folder"] + " (random initialisation)" * model["random_init"] + " (frozen)" * model["frozen"]
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
