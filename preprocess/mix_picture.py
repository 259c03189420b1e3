"""The picture of a mix, as ouBioBERT's Figure 3 (Wada et al. 2020): documents as they are, and in the order of use.

A cell is a document, or a number of them where there are many. The corpora go from dark to light, so the picture reads
without colour. The red frames are one document of the first corpus and its copies.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")  # no display is needed, nor looked for
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import Patch, Rectangle  # noqa: E402

from preprocess.files import written_whole  # noqa: E402
from preprocess.mixing import copies, order_of_use  # noqa: E402

CELLS = 800  # of the larger panel: 20 rows of 40, each still seen
COLUMNS = 40


class Corpus(NamedTuple):
    """A corpus of the mix: its name, its documents, and how often each is used in an epoch."""

    name: str
    documents: int
    weight: float


class Cells(NamedTuple):
    """What the picture shows: documents, numbered through all corpora."""

    documents_a_cell: int
    unmixed: np.ndarray  # in the order of the files
    mixed: np.ndarray  # copies, in the order of their use
    corpus: np.ndarray  # the number of the corpus of each document


def cells_of(corpora: Sequence[Corpus], seed: int, epoch: int = 1) -> Cells:
    """Draw as training does; of large corpora fewer documents, with weights that keep the shares."""
    most = max(sum(one.documents for one in corpora), sum(one.documents * one.weight for one in corpora))
    together = max(1, math.ceil(most / CELLS))
    shown = [max(1, round(one.documents / together)) for one in corpora]
    weights = [one.documents * one.weight / together / number for one, number in zip(corpora, shown, strict=True)]
    counts = [copies(*part, seed, epoch, number) for number, part in enumerate(zip(shown, weights, strict=True))]
    corpus = np.repeat(np.arange(len(shown)), shown)
    return Cells(together, np.arange(len(corpus)), order_of_use(counts, seed, epoch), corpus)


def draw_mix(corpora: Sequence[tuple[str, int, float]], seed: int, file: Path) -> None:
    """Write a PNG of the first epoch of the mix of corpora, each given as (name, documents, weight)."""
    corpora = [Corpus(*one) for one in corpora]
    cells = cells_of(corpora, seed)
    colours = matplotlib.colormaps["cividis"](np.linspace(0, 1, max(2, len(corpora))))
    rows = math.ceil(max(len(cells.unmixed), len(cells.mixed)) / COLUMNS)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 2.2 + 0.15 * rows), layout="constrained")
    _draw_cells(left, cells.unmixed, cells.corpus, colours, rows)
    _draw_cells(right, cells.mixed, cells.corpus, colours, rows)
    left.set_title(f"one file of all documents, as they are\n{_shares(corpora, [1] * len(corpora))}")
    right.set_title(f"the mix, in the order of use\n{_shares(corpora, [one.weight for one in corpora])}")
    labels = [f"{one.name}: {one.documents:,} documents, weight {one.weight:.4g}" for one in corpora]
    legend = [Patch(color=colour, label=label) for colour, label in zip(colours, labels, strict=False)]
    legend.append(Patch(fill=False, edgecolor="red", linewidth=2, label=f"a cell of {corpora[0].name} and its copies"))
    a_cell = "one document" if cells.documents_a_cell == 1 else f"{cells.documents_a_cell:,} documents"
    figure.legend(handles=legend, loc="outside lower center", ncols=3, title=f"a cell is {a_cell}")
    with written_whole(file, "wb") as handle:
        figure.savefig(handle, format="png", dpi=120)
    plt.close(figure)


def _shares(corpora: Sequence[Corpus], weights: Sequence[float]) -> str:
    used = [one.documents * weight for one, weight in zip(corpora, weights, strict=True)]
    said = [f"{one.name} {number / sum(used):.1%}" for one, number in zip(corpora, used, strict=True)]
    return f"{', '.join(said)} of the documents"


def _draw_cells(axes, documents: np.ndarray, corpus: np.ndarray, colours: np.ndarray, rows: int) -> None:
    """Fill the rows from left to right, from the top down; the first document is framed wherever it stands."""
    for place, document in enumerate(documents.tolist()):
        left, top = place % COLUMNS, place // COLUMNS
        axes.add_patch(Rectangle((left, top), 0.9, 0.9, color=colours[corpus[document]], linewidth=0))
        if document == 0:
            axes.add_patch(Rectangle((left, top), 0.9, 0.9, fill=False, edgecolor="red", linewidth=2, zorder=2))
    axes.set(xlim=(-0.2, COLUMNS + 0.1), ylim=(rows + 0.1, -0.2), aspect="equal")
    axes.axis("off")
