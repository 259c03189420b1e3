"""Precision, recall and F1 from counts, and means of such rows."""

import statistics
from collections.abc import Iterable

FIGURES = ("precision", "recall", "f1")


def rates(found: int, predicted: int, gold: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of `found` right ones among `predicted` and `gold` ones; 0 where there are none."""
    return found / max(predicted, 1), found / max(gold, 1), 2 * found / max(predicted + gold, 1)


def row(found: int, predicted: int, gold: int) -> dict:
    """The rates with their support."""
    return plain_row(*rates(found, predicted, gold), gold)


def no_row() -> dict:
    """The row of a type that neither side has: no zeros, its figures are None."""
    return dict.fromkeys(FIGURES) | {"support": 0}


def plain_row(precision: float, recall: float, f1: float, support: int) -> dict:
    """The row of rates that a library computed, without its number types."""
    return dict(zip(FIGURES, map(float, (precision, recall, f1)), strict=True)) | {"support": int(support)}


def macro(rows: Iterable[dict]) -> dict:
    """Plain mean over the rows of the types that occur in the gold; 0 when none does."""
    rows = list(rows)
    present = [row for row in rows if row["support"]]
    means = {name: statistics.fmean(row[name] for row in present) if present else 0.0 for name in FIGURES}
    return means | {"support": sum(row["support"] for row in rows)}
