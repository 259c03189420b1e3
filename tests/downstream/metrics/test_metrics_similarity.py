"""Correlations equal to their formulas, DEFT's distance, and constant scores without a warning."""

import math
import random

import pytest

from downstream.metrics.similarity import similarity


def correlation(x, y):
    centred = [[value - math.fsum(side) / len(side) for value in side] for side in (x, y)]
    covariance = math.fsum(left * right for left, right in zip(*centred, strict=True))
    return covariance / math.sqrt(math.prod(math.fsum(value**2 for value in side) for side in centred))


def ranks(values):
    """Mean rank of equal values, by counting."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def test_equal_to_the_formulas():
    draw = random.Random(1)
    for _ in range(60):
        size = draw.randint(3, 12)
        gold = [draw.randint(0, 8) / 2 for _ in range(size)] + [0, 4]  # many ties
        predicted = [draw.choice([draw.uniform(0, 5), 2.5]) for _ in range(size)] + [1, 3]
        report = similarity(gold, predicted)
        assert report["pearson"] == pytest.approx(correlation(gold, predicted))
        assert report["spearman"] == pytest.approx(correlation(ranks(gold), ranks(predicted)))
        assert report["support"] == size + 2


@pytest.mark.parametrize(
    "gold, predicted",
    [
        ([1, 2, 3], [2.5, 2.5, 2.5]),
        ([0, 0, 0], [1, 2, 3]),
        ([1, 2, 3], [2.5, 2.5 + 1e-9, 2.5 - 1e-9]),  # rounding of a constant
        ([1], [2]),
    ],
)
def test_constant_scores_are_worth_nothing_without_a_warning(gold, predicted, recwarn):
    assert similarity(gold, predicted) == {"pearson": 0.0, "spearman": 0.0, "support": len(gold)}
    assert not recwarn.list


def test_small_differences_still_order():
    report = similarity([1, 2, 3], [2.5, 2.5001, 2.5002])
    assert report["pearson"] == pytest.approx(1) and report["spearman"] == pytest.approx(1)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_diverged_model_is_refused(score):
    with pytest.raises(ValueError, match="not a finite number"):
        similarity([1, 2], [1, score])
