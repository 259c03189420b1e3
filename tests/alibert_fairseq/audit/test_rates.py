"""AUC, true positives at few false ones and their intervals, against counting and against known values."""

import numpy as np
import pytest

from alibert_fairseq.audit import rates
from alibert_fairseq.audit.rates import FALSE_POSITIVES, separation, share_interval


def counted(scores, members):
    """(AUC, true positives at each share of false ones) by looking at every pair and every threshold."""
    mine, theirs = scores[members], scores[~members]
    auc = np.mean([(one > other) + (one == other) / 2 for one in mine for other in theirs])
    found = []
    for share in FALSE_POSITIVES:
        thresholds = [t for t in (*scores, np.inf) if np.mean(theirs >= t) <= share]
        found.append(max(np.mean(mine >= t) for t in thresholds))
    return [auc, *found]


@pytest.mark.parametrize("levels", [3, 50, 10**6])
def test_rates_are_those_of_counting(levels):
    generator = np.random.default_rng(levels)
    members = generator.random(260) < 0.5
    scores = generator.integers(levels, size=260) + 0.2 * levels * members
    found = separation(scores, members, np.arange(260), seed=1)
    assert [found.auc.value, *(rate.value for rate in found.true_positives.values())] == pytest.approx(
        counted(scores, members)
    )
    assert found.curve[0] == (0, 0) and found.curve[-1] == (1, 1)
    assert (found.members, found.others) == (members.sum(), (~members).sum())


def test_a_perfect_score_and_one_that_tells_nothing():
    members = np.arange(200) % 2 == 0
    perfect = separation(members.astype(float), members, np.arange(200), seed=1)
    assert perfect.auc.value == perfect.auc.low == 1 and perfect.true_positives[0.001].value == 1
    nothing = separation(np.zeros(200), members, np.arange(200), seed=1)
    assert nothing.auc.value == nothing.auc.high == 0.5 and nothing.true_positives[0.01].value == 0


def test_the_interval_holds_the_true_value_as_often_as_it_says(monkeypatch):
    """Normal scores, one standard deviation apart: AUC = Phi(1 / sqrt 2) = 0.7602. 100 draws, 95 % +- 6 points."""
    monkeypatch.setattr(rates, "RESAMPLES", 300)
    held = 0
    for seed in range(100):
        generator = np.random.default_rng(seed)
        members = np.arange(300) < 150
        found = separation(generator.normal(size=300) + members, members, np.arange(300), seed)
        held += found.auc.low <= 0.7602 <= found.auc.high
    assert 0.89 <= held / 100 < 1


def test_documents_of_one_patient_are_resampled_together():
    """Ten documents with one score for each patient tell as much as the patients alone."""
    generator = np.random.default_rng(3)
    members = np.arange(60) < 30
    scores = generator.normal(size=60) + members
    alone = separation(scores, members, np.arange(60), seed=1).auc
    tenfold = separation(*(np.repeat(values, 10) for values in (scores, members, np.arange(60))), seed=1).auc
    apart = separation(np.repeat(scores, 10), np.repeat(members, 10), np.arange(600), seed=1).auc
    assert tenfold.high - tenfold.low == pytest.approx(alone.high - alone.low, rel=0.15)
    assert apart.high - apart.low < 0.5 * (alone.high - alone.low)


@pytest.mark.parametrize(
    "hits, number, low, high", [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0, 1)]
)
def test_intervals_of_shares_are_wilsons(hits, number, low, high):
    """Brown, Cai and DasGupta 2001; the values are those of statsmodels' proportion_confint(method='wilson')."""
    rate = share_interval(hits, number)
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=1e-4)
