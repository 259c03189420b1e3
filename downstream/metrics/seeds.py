"""The same figures of several seeds, taken together."""

import statistics
from typing import Any


def over_folds(results: list[Any]) -> Any:
    """The same nested dictionary with the mean of each figure over the folds, and the sum of each support.

    A type that does not occur in some of the folds counts in the others.
    """
    values = [value for value in results if value is not None]
    if values and isinstance(values[0], dict):
        keys = dict.fromkeys(key for result in values for key in result)
        columns = {key: [result.get(key) for result in values] for key in keys}
        return {
            key: sum(filter(None, column)) if key == "support" else over_folds(column)
            for key, column in columns.items()
        }
    return statistics.fmean(values) if values else None


def over_seeds(results: list[Any]) -> dict:
    """The same nested dictionary with each figure as {"mean", "deviation", "values"}; support is kept once.

    The deviation of a single seed, and the figures of a type without any, are None.
    """
    first = results[0]
    if isinstance(first, dict):
        return {key: first[key] if key == "support" else over_seeds([seed[key] for seed in results]) for key in first}
    values = [value for value in results if value is not None]
    return {
        "mean": statistics.fmean(values) if values else None,
        "deviation": statistics.stdev(values) if len(values) > 1 else None,
        "values": results,
    }
