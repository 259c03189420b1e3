"""Intervals and comparisons by drawing items again (Efron and Tibshirani 1993, Noreen 1989).

Everything is said of the test items: how a figure of these trained models would vary over other test sets of the size.
How it varies over seeds is the deviation over seeds, beside it. The seeds of a run answer the same items, so they are
drawn and exchanged together, an item with all its seeds; five seeds are not five times as many items.
"""

from collections.abc import Callable, Iterator

import numpy as np

Value = Callable[[np.ndarray], np.ndarray]

DRAWS = 10_000  # a bound then moves, from seed to seed, by some 0.7% of the width of a 95% interval
CONFIDENCE = 0.95  # the convention
CHUNK = 2_000_000  # numbers of an array at a time: 16 MB, whatever there is to draw
ROUNDING = 1e-12  # differences that are equal but for the order of summation are equal


def interval(tallies: np.ndarray, value: Value, seed: int, draws: int = DRAWS, confidence: float = CONFIDENCE) -> dict:
    """The mean over the seeds of a figure, with the bounds of its percentile bootstrap interval.

    tallies: (seeds, items, k), and value: sums (..., k) to figures (...), as in tallies.py.
    """
    tallies = np.asarray(tallies, dtype=float)
    drawn = np.concatenate([value(sums).mean(1) for sums in _drawn_sums(tallies, seed, draws)])
    return {"figure": _figure(tallies, value), **_bounds(drawn, confidence), "draws": draws, "seed": seed}


def comparison(
    first: np.ndarray,
    second: np.ndarray,
    value: Value,
    seed: int,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> dict:
    """first - second on the same items: paired bootstrap interval, and the p value of approximate randomisation.

    first, second: tallies (seeds, items, k) of the same items in the same order; the numbers of seeds may differ.
    p is two-sided: how often a difference as large comes about when a coin gives each item's answers to either system.
    Chosen over a p value from the bootstrap, which rejects true null hypotheses too often (Riezler and Maxwell 2005).
    It assumes nothing of the figure, so it serves F1 (Yeh 2000, Dror et al. 2018).
    Raises ValueError if the items are not as many.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"the systems have tallies of {first.shape[1:]} and {second.shape[1:]} (items, k), not the same"
        )
    number = len(first)
    both = np.concatenate([first, second])
    figures = [value(sums) for sums in _drawn_sums(both, seed, draws)]
    drawn = np.concatenate([one[:, :number].mean(1) - one[:, number:].mean(1) for one in figures])
    difference = _figure(first, value) - _figure(second, value)
    exchanged = _exchanged_differences(first, second, value, seed, draws)
    as_large = int(np.sum(np.abs(exchanged) >= abs(difference) - ROUNDING))
    p = (1 + as_large) / (1 + draws)  # the data as they are count as one of the draws, so p is never 0
    return {"difference": difference, **_bounds(drawn, confidence), "p": p, "draws": draws, "seed": seed}


def _figure(tallies: np.ndarray, value: Value) -> float:
    return float(value(tallies.sum(1)).mean())


def _bounds(drawn: np.ndarray, confidence: float) -> dict:
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return {"low": float(low), "high": float(high), "confidence": confidence}


def _drawn_sums(tallies: np.ndarray, seed: int, draws: int) -> Iterator[np.ndarray]:
    """Sums over items drawn with replacement, the same for all seeds: (draws of a chunk, seeds, k), chunk by chunk."""
    generator, (seeds, items, k) = np.random.default_rng([seed, 0]), tallies.shape
    for rows in _chunks(draws, max(items, seeds * k)):
        drawn = generator.integers(items, size=(rows, items)) + items * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * items).reshape(rows, items)
        yield _weighted(times, tallies)


def _exchanged_differences(first: np.ndarray, second: np.ndarray, value: Value, seed: int, draws: int) -> np.ndarray:
    """first - second where a coin for each item exchanges its answers, (draws,).

    Each seed of one system is exchanged with each of the other, and the figures averaged: there is nothing by which to
    pair seeds of different models, and the mean is then the reported one where no coin falls.
    """
    generator, (seeds, items, k) = np.random.default_rng([seed, 1]), first.shape
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
