"""Two pictures of a run, readable without colour: scores by type with their deviation, and the learning curves."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed, nor looked for
import matplotlib.pyplot as plt  # noqa: E402

from downstream.files import written_whole  # noqa: E402

FILLS = {"precision": ("0.85", "//"), "recall": ("0.6", ".."), "f1": ("0.25", "")}  # grey and hatch
MARKS = ("o-", "s--", "^:", "D-.", "v-", "x--")  # one a seed, in turn


def draw_scores(summary: dict, file: Path) -> None:
    """Bars of precision, recall and F1 for each type, micro and macro; whiskers are one deviation over the seeds."""
    split = "test" if "test" in summary else "dev"
    rows = summary[split]["types"] | {name: summary[split][name] for name in ("micro", "macro")}
    figure, axes = plt.subplots(figsize=(max(6, 1.1 * len(rows)), 4), layout="constrained")
    for number, (name, (grey, hatch)) in enumerate(FILLS.items()):
        places = [place + (number - 1) * 0.27 for place in range(len(rows))]
        means = [row[name]["mean"] or 0 for row in rows.values()]
        deviations = [row[name]["deviation"] or 0 for row in rows.values()]
        style = {"color": grey, "hatch": hatch, "edgecolor": "black", "capsize": 2}
        axes.bar(places, means, 0.27, yerr=deviations, label=name, **style)
    axes.set_xticks(range(len(rows)), [f"{name}\n({row['support']})" for name, row in rows.items()])
    axes.axvline(len(rows) - 2.5, color="black", linewidth=0.8)
    axes.set(ylim=(0, 1), ylabel="strict entity score", title=title(summary, split))
    figure.legend(loc="outside lower center", ncols=3)
    _save(figure, file)


def draw_curves(summary: dict, file: Path) -> None:
    """Training loss and micro F1 on dev against the epoch, a line a seed; the chosen epoch has a large open mark."""
    figure, (losses, scores) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for number, (seed, curve) in enumerate(zip(summary["seeds"], summary["curves"], strict=True)):
        mark, epochs = MARKS[number % len(MARKS)], [one["epoch"] for one in curve]
        style = {"color": "black", "markersize": 4, "linewidth": 1}
        losses.plot(epochs, [one["loss"] for one in curve], mark, **style)
        scores.plot(epochs, [one["dev_f1"] for one in curve], mark, label=f"seed {seed}", **style)
        chosen = summary["best_epochs"][number]
        scores.plot(chosen, curve[chosen - 1]["dev_f1"], "o", fillstyle="none", color="black", markersize=12)
    losses.set(xlabel="epoch", ylabel="training loss (nats a token)", ylim=(0, None))
    scores.set(xlabel="epoch", ylabel="strict micro F1 on dev", ylim=(0, None))
    scores.legend()
    figure.suptitle(title(summary, "dev"))
    _save(figure, file)


def title(summary: dict, split: str) -> str:
    """Model, task, split, protocol and number of seeds, on one line."""
    model, protocol, seeds = summary["model"], summary["protocol"], len(summary["seeds"])
    name = model["folder"] + (" (random initialisation)" if model["random_init"] else "")
    changes = "".join(f", {change}" for change in protocol["changed"])
    return f"{name} on {summary['task']} {split}, protocol {protocol['name']}{changes}, {seeds} seed{'s' * (seeds > 1)}"


def _save(figure, file: Path) -> None:
    with written_whole(file, "wb") as handle:
        figure.savefig(handle, format="png", dpi=150)
    plt.close(figure)
