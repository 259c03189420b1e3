"""Marks and colours of pictures. Each model has its own mark, so that a picture is readable without colour too."""

from io import BytesIO
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402

__all__ = ["mark", "plt", "png"]
MARKS = "os^Dv<>PXp*h"  # the second round is open
# Okabe and Ito's palette, which colour-blind readers can tell apart; without its yellow, which is too pale on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")


def mark(number: int) -> dict[str, Any]:
    """Return the arguments of pyplot for the mark of model `number`."""
    colour, is_open = COLOURS[number % len(COLOURS)], number // len(MARKS) % 2
    return {
        "marker": MARKS[number % len(MARKS)],
        "linestyle": "none",
        "markersize": 8,
        "markerfacecolor": "white" if is_open else colour,
        "markeredgecolor": colour if is_open else "black",
    }


def png(figure: Any) -> bytes:
    """Close a figure and return its picture. The release of matplotlib is not written into it."""
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=120, metadata={"Software": None})
    plt.close(figure)
    return stream.getvalue()
