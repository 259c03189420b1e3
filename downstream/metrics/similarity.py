"""How well predicted scores follow the gold ones: correlations."""

from collections.abc import Sequence

import numpy as np

# A spread below a millionth of the size of the values counts as none: sums of squares in double precision, which the
# bootstrap has (sufficient_statistics.py), cannot tell it from rounding.
NO_SPREAD = 1e-6


def similarity(gold: Sequence[float], predicted: Sequence[float]) -> dict:
    """Pearson's and Spearman's correlation (ties have their mean rank), and the number of pairs as support.

    Constant scores, and a single pair, have no correlation. Both are 0 there: a model that gives every pair the same
    score is worth as much as guessing, and a table needs the figure. Raises ValueError on a score that is not finite.
    """
    sides = np.array([gold, predicted], dtype=float)
    if not np.isfinite(sides).all():
        raise ValueError("a similarity score is not a finite number; the model that gave it has diverged")
    if (sides.var(axis=1) <= NO_SPREAD**2 * (sides**2).mean(axis=1)).any():  # no spread to compute a correlation from
        return {"pearson": 0.0, "spearman": 0.0, "support": len(gold)}
    from scipy import stats  # here: it takes most of a second, and --help needs none

    pearson, spearman = stats.pearsonr(gold, predicted), stats.spearmanr(gold, predicted)
    return {"pearson": float(pearson.statistic), "spearman": float(spearman.statistic), "support": len(gold)}
