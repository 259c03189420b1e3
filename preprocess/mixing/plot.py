"""The picture of a mix, as ouBioBERT's Figure 3 (Wada et al. 2020): the text as it is, and in the order of use.

A cell is so much text, the same of every corpus, as the paper's shards are. The corpora go from dark to light, so the
picture reads without colour. The red frames are one cell of the first corpus and its copies.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from alibert_common.files import written_whole
from alibert_common.report.plots import plt, png
from preprocess.mixing.mix_file import copies, order_of_use

CELLS = 800  # of the larger panel: 20 rows of 40, each still seen
COLUMNS = 40


class Corpus(NamedTuple):
    """A corpus of the mix: its name, its size in the unit of the picture, and how often it is used in an epoch."""

    name: str
    size: int
    weight: float


class Cells(NamedTuple):
    """What the picture shows: cells, numbered through all corpora."""

    size: int  # of a cell
    unmixed: np.ndarray  # in the order of the files
    mixed: np.ndarray  # copies, in the order of their use
    corpus: np.ndarray  # the number of the corpus of each cell


def cells_of(corpora: Sequence[Corpus], seed: int, epoch: int = 1) -> Cells:
    """Draw cells as training draws documents, with weights that keep the shares."""
    most = max(sum(one.size for one in corpora), sum(one.size * one.weight for one in corpora))
    together = max(1, math.ceil(most / CELLS))
    shown = [max(1, round(one.size / together)) for one in corpora]
    weights = [one.size * one.weight / together / number for one, number in zip(corpora, shown, strict=True)]
    counts = [copies(*part, seed, epoch, number) for number, part in enumerate(zip(shown, weights, strict=True))]
    corpus = np.repeat(np.arange(len(shown)), shown)
    return Cells(together, np.arange(len(corpus)), order_of_use(counts, seed, epoch), corpus)


def draw_mix(uses: Sequence[tuple[str, int, float]], seed: int, file: Path, unit: str = "byte") -> None:
    """Write a PNG of the first epoch of the mix of corpora, each given as (name, size, weight), sizes in a unit."""
    corpora = [Corpus(name.replace("$", r"\$"), size, weight) for name, size, weight in uses]  # no formula
    cells = cells_of(corpora, seed)
    colours = plt.get_cmap("cividis")(np.linspace(0, 1, max(2, len(corpora))))
    rows = math.ceil(max(len(cells.unmixed), len(cells.mixed)) / COLUMNS)
    labels = _labels(corpora, unit)
    height = 1.6 + 0.15 * rows + 0.12 * len(labels)  # inches; the legend has two columns
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, height), layout="constrained")
    _draw_cells(left, cells.unmixed, cells.corpus, colours, rows)
    _draw_cells(right, cells.mixed, cells.corpus, colours, rows)
    left.set_title("one file of all text, as it is")
    right.set_title("the mix, in the order of use")
    legend = [Patch(color=colour, label=label) for colour, label in zip(colours, labels, strict=False)]
    legend.append(Patch(fill=False, edgecolor="red", linewidth=2, label=f"a cell of {corpora[0].name} and its copies"))
    figure.legend(handles=legend, loc="outside lower center", ncols=2, title=f"a cell is {_many(cells.size, unit)}")
    with written_whole(file, "wb") as handle:
        handle.write(png(figure))


def _many(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'s' * (number != 1)}"


def _labels(corpora: Sequence[Corpus], unit: str) -> list[str]:
    """What each corpus has before and after."""
    size, used = sum(one.size for one in corpora), sum(one.size * one.weight for one in corpora)
    return [
        f"{one.name}: {_many(one.size, unit)}, {one.size / size:.1%} as it is, "
        f"{one.size * one.weight / used:.1%} with weight {one.weight:.4g}"
        for one in corpora
    ]


def _draw_cells(axes, cells: np.ndarray, corpus: np.ndarray, colours: np.ndarray, rows: int) -> None:
    """Fill the rows from left to right, from the top down; the first cell is framed wherever it stands."""
    corners = np.stack([np.arange(len(cells)) % COLUMNS, np.arange(len(cells)) // COLUMNS], axis=1)
    squares = corners[:, None] + 0.9 * np.array([(0, 0), (1, 0), (1, 1), (0, 1)])  # (cells, corners, 2)
    axes.add_collection(PolyCollection(list(squares), facecolors=colours[corpus[cells]], linewidths=0))
    frames = squares[cells == 0]
    axes.add_collection(PolyCollection(frames, facecolors="none", edgecolors="red", linewidths=2, zorder=2))
    axes.set(xlim=(-0.2, COLUMNS + 0.1), ylim=(rows + 0.1, -0.2), aspect="equal")
    axes.axis("off")
