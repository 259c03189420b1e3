"""The same figures of several seeds, taken together."""

import statistics


def over_seeds(results: list[dict]) -> dict:
    """The same nested dictionary with each figure as {"mean", "deviation", "values"}; support is kept once.

    The deviation of a single seed, and the figures of a type without any, are None.
    """
    first = results[0]
    if isinstance(first, dict):
        return {key: first[key] if key == "support" else over_seeds([one[key] for one in results]) for key in first}
    values = [value for value in results if value is not None]
    return {
        "mean": statistics.fmean(values) if values else None,
        "deviation": statistics.stdev(values) if len(values) > 1 else None,
        "values": results,
    }
