"""The pictures of a study, readable without colour: each tokenizer has the same mark in all."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed, nor looked for
import matplotlib.pyplot as plt  # noqa: E402

MARKS = "os^Dv<>PXp*h"  # filled first, then open: enough to tell 24 apart
SIZE = 8  # of a mark, in points


def draw(study: dict, directory: Path) -> None:
    """Write the pictures that the report names."""
    _save(_fertility(study), directory / "fertility.png")
    _save(_overlap(study), directory / "overlap.png")
    if study["terms"]:
        _save(_terms(study), directory / "terms.png")


def _mark(number: int) -> dict:
    """How tokenizer `number` is drawn."""
    filled = number // len(MARKS) % 2 == 0
    return {
        "marker": MARKS[number % len(MARKS)],
        "linestyle": "none",
        "markersize": SIZE,
        "color": "black",
        "markerfacecolor": "0.45" if filled else "white",
    }


def _fertility(study: dict):
    """Fewer tokens to the left, fewer words cut above: the best are in the corner above left."""
    names = study["tokenizers"]
    figure, axes = plt.subplots(figsize=(8, max(4, 0.28 * len(names))), layout="constrained")
    for number, (name, one) in enumerate(names.items()):
        axes.plot(one["tokens_per_word"], 100 * one["whole_word_share"], label=_literal(name), **_mark(number))
    axes.set(xlabel="fertility (tokens a white-space word)", ylabel="words in one token (%)")
    axes.grid(color="0.85")
    axes.margins(0.1)
    figure.legend(loc="outside right upper")
    return figure


def _overlap(study: dict):
    names = list(map(_literal, study["tokenizers"]))
    side = 3 + 0.55 * len(names)
    figure, axes = plt.subplots(figsize=(side, side), layout="constrained")
    values = [[one["jaccard"] for one in row] for row in study["overlap"]]
    axes.imshow(values, cmap="Greys", vmin=0, vmax=1)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            axes.text(x, y, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.5 else "black")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set_title("share of pieces in common")
    return figure


def _terms(study: dict):
    """A row a category, in it a line a tokenizer; farther left is fewer pieces."""
    names, categories = study["tokenizers"], study["categories"]
    height = 1.5 + len(categories) * max(0.4, 0.08 * len(names))
    figure, axes = plt.subplots(figsize=(8, height), layout="constrained")
    for number, name in enumerate(names):
        means = [one["means"][number][0] for one in categories.values()]
        lines = [row + 0.8 * (number + 0.5) / len(names) - 0.4 for row in range(len(categories))]
        axes.plot(means, lines, label=_literal(name), **_mark(number))
    axes.set_yticks(range(len(categories)), map(_literal, categories))
    axes.set_yticks([row - 0.5 for row in range(1, len(categories))], minor=True)
    axes.grid(axis="x", color="0.85")
    axes.grid(axis="y", which="minor", color="0.6")
    axes.set(xlabel="mean pieces a term", ylim=(len(categories) - 0.5, -0.5))  # the first on top
    figure.legend(loc="outside right upper")
    return figure


def _literal(name: str) -> str:
    """A dollar sign would begin a formula."""
    return name.replace("$", r"\$")


def _save(figure, file: Path) -> None:
    figure.savefig(file, dpi=120)
    plt.close(figure)
