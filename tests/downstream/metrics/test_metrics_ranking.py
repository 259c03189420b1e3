"""Ranked candidates: equal to scikit-learn without ties, and to the worst order of equal scores with them."""

import itertools
import math
import random

import pytest
from sklearn.metrics import label_ranking_average_precision_score

from downstream.metrics.ranking import average_precision, ranking, reciprocal_rank, top_1


def worst(right, scores):
    """The smallest figures over all orders that the scores allow."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[one] >= scores[next_one] for one, next_one in itertools.pairwise(order))
    ]
    figures = []
    for order in orders:
        hits = [candidate in right for candidate in order]
        precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank, hit in enumerate(hits) if hit]
        figures.append((1 / (hits.index(True) + 1), float(hits[0]), sum(precisions) / len(precisions)))
    return tuple(map(min, zip(*figures, strict=True)))


def test_ties_count_against_the_model():
    draw = random.Random(1)
    for _ in range(150):
        size = draw.randint(1, 6)
        scores = [draw.choice([0.1, 0.5, 0.9]) for _ in range(size)]
        right = draw.sample(range(size), draw.randint(1, size))
        mine = (reciprocal_rank(right, scores), top_1(right, scores), average_precision(right, scores))
        assert mine == pytest.approx(worst(right, scores))


def test_mean_average_precision_is_scikit_learns():
    draw = random.Random(2)
    for _ in range(100):
        scores = [draw.sample(range(20), 7) for _ in range(5)]
        right = [draw.sample(range(7), draw.randint(1, 6)) for _ in range(5)]
        table = [[candidate in those for candidate in range(7)] for those in right]
        wanted = label_ranking_average_precision_score(table, scores)
        assert ranking(right, scores)["mean_average_precision"] == pytest.approx(wanted)


def test_by_hand():
    report = ranking([[0], [2], [0, 1], []], [[0.9, 0.1], [0.3, 0.2, 0.1], [0.1, 0.3, 0.2], [1.0]])
    assert report == {
        "mean_reciprocal_rank": pytest.approx((1 + 1 / 3 + 1 + 0) / 4),
        "top_1_accuracy": 0.5,
        "mean_average_precision": pytest.approx((1 + 1 / 3 + (1 + 2 / 3) / 2 + 0) / 4),
        "support": 4,
    }


def test_one_score_for_all_earns_the_last_place():
    assert ranking([[0]], [[0.5] * 4])["mean_reciprocal_rank"] == 0.25


def test_a_diverged_model_is_refused():
    with pytest.raises(ValueError, match="not a finite number"):
        ranking([[0]], [[math.nan, 0.5]])
