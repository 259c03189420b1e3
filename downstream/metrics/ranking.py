"""Ranked candidates: mean reciprocal rank (004 Table 5), top-1 accuracy and mean average precision.

Ties are broken against the model: among equal scores the wrong candidates come first. Otherwise a model that gives all
candidates one score would be paid for the order of the file, in which the right one often stands first.
"""

import math
import statistics
from collections.abc import Collection, Sequence


def ranking(right: Sequence[Collection[int]], scores: Sequence[Sequence[float]]) -> dict:
    """Figures over questions, the number of which is the support.

    right: the right candidates of each question, from 0. scores: one a candidate, higher is better.
    A question without a right candidate earns 0 in each. Raises ValueError on a score that is not finite.
    """
    questions = list(zip(right, scores, strict=True))
    return {
        "mean_reciprocal_rank": statistics.fmean(reciprocal_rank(*question) for question in questions),
        "top_1_accuracy": statistics.fmean(top_1(*question) for question in questions),
        "mean_average_precision": statistics.fmean(average_precision(*question) for question in questions),
        "support": len(questions),
    }


def reciprocal_rank(right: Collection[int], scores: Sequence[float]) -> float:
    """1 / the rank of the first right candidate."""
    return 1 / min(ranks_of(right, scores), default=math.inf)


def top_1(right: Collection[int], scores: Sequence[float]) -> float:
    """1 if the candidate with the highest score is a right one, else 0."""
    return float(1 in ranks_of(right, scores))


def average_precision(right: Collection[int], scores: Sequence[float]) -> float:
    """Mean over the right candidates of the share of right ones among those down to its rank."""
    ranks = ranks_of(right, scores)
    return sum(number / rank for number, rank in enumerate(ranks, start=1)) / max(len(ranks), 1)


def ranks_of(right: Collection[int], scores: Sequence[float]) -> list[int]:
    """The ranks, from 1, of the right candidates, best first."""
    if not all(map(math.isfinite, scores)):
        raise ValueError("the score of a candidate is not a finite number; the model that gave it has diverged")
    order = sorted(range(len(scores)), key=lambda candidate: (-scores[candidate], candidate in right))
    return [rank for rank, candidate in enumerate(order, start=1) if candidate in right]
