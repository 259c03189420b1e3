"""Intervals and comparisons by drawing items again (Efron and Tibshirani 1993, Noreen 1989).

Everything is said of the test items: how a figure of these trained models would vary over other test sets of the size.
How it varies over seeds is the deviation over seeds, beside it. The seeds of a run answer the same items, so they are
drawn and exchanged together, an item with all its seeds; five seeds are not five times as many items.

Where the figure of a seed is the mean of its folds', tallies come as one array a fold: items are drawn and exchanged
within their fold, and the figures of the folds averaged, so that everything is said of the figure that is reported.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from downstream.metrics.sufficient_statistics import Figure

Value = Callable[[np.ndarray], np.ndarray]
Tallies = np.ndarray | Sequence[np.ndarray]  # (seeds, items, k), or one such array a fold

DRAWS = 10_000  # a bound then moves, from seed to seed, by some 0.7% of the width of a 95% interval
CONFIDENCE = 0.95  # the convention
CHUNK = 2_000_000  # numbers of an array at a time: 16 MB, whatever there is to draw
ROUNDING = 1e-12  # differences that are equal but for the order of summation are equal


def interval(tallies: Tallies, figure: Figure, seed: int, draws: int = DRAWS) -> dict:
    """The mean over the seeds (and folds) of a figure, with the bounds of its percentile bootstrap interval.

    tallies: (seeds, items, k) as in sufficient_statistics.py, or one such array a fold.
    """
    folds, generator = _folds(tallies), np.random.default_rng([seed, 0])
    drawn = np.mean([_drawn_figures(fold, figure.value, generator, draws).mean(1) for fold in folds], axis=0)
    return {"figure": _figure(folds, figure.value), **_bounds(drawn), "draws": draws, "seed": seed}


def comparison(first: Tallies, second: Tallies, figure: Figure, seed: int, draws: int = DRAWS) -> dict:
    """first - second on the same items: paired bootstrap interval, and the p value of approximate randomisation.

    first, second: tallies (seeds, items, k) of the same items in the same order, or one such array a fold; the numbers
    of seeds may differ. They are brought to one scale first, for figures that have one (Figure.exchangeable).
    p is two-sided: how often a difference as large comes about when a coin gives each item's answers to either system.
    Chosen over a p value from the bootstrap, which rejects true null hypotheses too often (Riezler and Maxwell 2005).
    It assumes nothing of the figure, so it serves F1 (Yeh 2000, Dror et al. 2018).
    Raises ValueError if the items are not as many.
    """
    first, second = _folds(first), _folds(second)
    shapes, others = ([fold.shape[1:] for fold in folds] for folds in (first, second))
    if shapes != others:
        raise ValueError(f"the systems have tallies of {shapes} and {others} (items, k), not the same")
    differences, generator = [], np.random.default_rng([seed, 0])
    for mine, theirs in zip(first, second, strict=True):
        figures = _drawn_figures(np.concatenate([mine, theirs]), figure.value, generator, draws)
        differences.append(figures[:, : len(mine)].mean(1) - figures[:, len(mine) :].mean(1))
    bounds = _bounds(np.mean(differences, axis=0))
    difference = _figure(first, figure.value) - _figure(second, figure.value)
    first, second = ([figure.exchangeable(fold) for fold in folds] for folds in (first, second))
    least = abs(_figure(first, figure.value) - _figure(second, figure.value)) - ROUNDING
    pairs, generator = zip(first, second, strict=True), np.random.default_rng([seed, 1])
    exchanged = np.mean([_exchanged_differences(*pair, figure.value, generator, draws) for pair in pairs], axis=0)
    # The data as they are count as one of the draws, so p is never 0.
    p = (1 + int(np.sum(np.abs(exchanged) >= least))) / (1 + draws)
    return {"difference": difference, **bounds, "p": p, "draws": draws, "seed": seed}


def holm(ps: Sequence[float]) -> list[float]:
    """The p values of a table, corrected so that the level bounds the share of tables with any false rejection (Holm
    1979): the smallest times their number, the next one times one less and so on, none below the one before."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected


def _folds(tallies: Tallies) -> list[np.ndarray]:
    folds = [tallies] if isinstance(tallies, np.ndarray) else tallies
    return [np.asarray(fold, dtype=float) for fold in folds]


def _figure(folds: list[np.ndarray], value: Value) -> float:
    return float(np.mean([value(fold.sum(1)).mean() for fold in folds]))


def _bounds(drawn: np.ndarray) -> dict:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return {"low": float(low), "high": float(high), "confidence": CONFIDENCE}


def _drawn_figures(tallies: np.ndarray, value: Value, generator: np.random.Generator, draws: int) -> np.ndarray:
    """Figures over items drawn with replacement, the same for all seeds, (draws, seeds)."""
    (seeds, items, k), figures = tallies.shape, []
    for rows in _chunks(draws, max(items, seeds * k)):
        drawn = generator.integers(items, size=(rows, items)) + items * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * items).reshape(rows, items)
        figures.append(value(_weighted(times, tallies)))
    return np.concatenate(figures)


def _exchanged_differences(
    first: np.ndarray, second: np.ndarray, value: Value, generator: np.random.Generator, draws: int
) -> np.ndarray:
    """first - second where a coin for each item exchanges its answers, (draws,).

    Each seed of one system is exchanged with each of the other, and the figures averaged: there is nothing by which to
    pair seeds of different models, and the mean is then the reported one where no coin falls.
    """
    seeds, items, k = first.shape
    sums_first, sums_second = first.sum(1)[:, None], second.sum(1)[None]
    differences = []
    for rows in _chunks(draws, max(items, seeds * len(second) * k)):
        coins = generator.integers(2, size=(rows, items))
        moved = _weighted(coins, second)[:, None] - _weighted(coins, first)[:, :, None]  # (rows, seeds, seeds, k)
        exchanged = value(sums_first + moved) - value(sums_second - moved)
        differences.append(exchanged.mean((1, 2)))
    return np.concatenate(differences)


def _weighted(weights: np.ndarray, tallies: np.ndarray) -> np.ndarray:
    """(draws, items) by (seeds, items, k) to (draws, seeds, k)."""
    seeds, items, k = tallies.shape
    flat = np.moveaxis(tallies, 1, 0).reshape(items, seeds * k)
    return (weights.astype(float) @ flat).reshape(len(weights), seeds, k)


def _chunks(draws: int, width: int) -> Iterator[int]:
    """How many draws to make at a time, so that a chunk of this width stays below CHUNK numbers."""
    step = max(1, CHUNK // width)
    for start in range(0, draws, step):
        yield min(step, draws - start)
