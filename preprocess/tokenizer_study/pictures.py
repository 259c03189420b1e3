"""The pictures of a study. Each tokenizer has the same mark in all of them."""

from typing import Any

from alibert_common.report.plots import mark, plt, png


def draw(study: dict) -> dict[str, bytes]:
    """PNG files by name."""
    drawers = {"fertility.png": _fertility, "overlap.png": _overlap} | ({"terms.png": _terms} if study["terms"] else {})
    return {name: png(drawer(study)) for name, drawer in drawers.items()}


def _fertility(study: dict) -> Any:
    """The best tokenizers are in the upper left corner: few tokens, few split words."""
    names = study["tokenizers"]
    figure, axes = plt.subplots(figsize=(8, max(4, 0.28 * len(names))), layout="constrained")
    for number, (name, own) in enumerate(names.items()):
        axes.plot(own["tokens_per_word"], 100 * own["whole_word_share"], label=_literal(name), **mark(number))
    axes.set(xlabel="fertility (tokens per word)", ylabel="words in one token (%)")
    axes.grid(color="0.85")
    axes.margins(0.1)
    figure.legend(loc="outside right upper")
    return figure


def _overlap(study: dict) -> Any:
    names = list(map(_literal, study["tokenizers"]))
    side = 3 + 0.55 * len(names)
    figure, axes = plt.subplots(figsize=(side, side), layout="constrained")
    values = [[pair["jaccard"] for pair in row] for row in study["overlap"]]
    axes.imshow(values, cmap="Greys", vmin=0, vmax=1)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            axes.text(x, y, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.5 else "black")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set_title("share of pieces in common")
    return figure


def _terms(study: dict) -> Any:
    """A row per category, and in it a line per tokenizer."""
    names, categories = study["tokenizers"], study["categories"]
    height = 1.5 + len(categories) * max(0.4, 0.08 * len(names))
    figure, axes = plt.subplots(figsize=(8, height), layout="constrained")
    for number, name in enumerate(names):
        means = [category["means"][number][0] for category in categories.values()]
        lines = [row + 0.8 * (number + 0.5) / len(names) - 0.4 for row in range(len(categories))]
        axes.plot(means, lines, label=_literal(name), **mark(number))
    axes.set_yticks(range(len(categories)), map(_literal, categories))
    axes.set_yticks([row - 0.5 for row in range(1, len(categories))], minor=True)
    axes.grid(axis="x", color="0.85")
    axes.grid(axis="y", which="minor", color="0.6")
    axes.set(xlabel="mean pieces per term", ylim=(len(categories) - 0.5, -0.5))  # the first one on top
    figure.legend(loc="outside right upper")
    return figure


def _literal(name: str) -> str:
    """A dollar sign would start a formula."""
    return name.replace("$", r"\$")
