"""Intervals that cover, tests that keep their level, and both exact where everything can be listed."""

import itertools

import numpy as np
import pytest
from test_metrics_sufficient_statistics import tallies

from downstream.metrics import bootstrap
from downstream.metrics.bootstrap import comparison, holm, interval
from downstream.metrics.sufficient_statistics import figure, mean_of

F1 = figure("entity_micro_f1")
MEAN = mean_of(float)


def scores(*seeds):
    """Tallies of a mean, from a score an item and seed."""
    values = np.array(seeds, dtype=float)
    return np.stack([values, np.ones_like(values)], axis=-1)


def documents(generator, items, recall=0.8, precision=0.7, seeds=1):
    """Tallies of entities: the gold of a document is the same for all seeds, what is found is not."""
    gold = np.broadcast_to(generator.integers(0, 6, items), (seeds, items))
    found = generator.binomial(gold, recall)
    return np.stack([found, found + generator.negative_binomial(2, precision, (seeds, items)), gold], axis=-1)


def test_the_bounds_are_those_of_all_drawings(monkeypatch):
    """Of five items there are 5 ** 5 drawings: all of them listed, with two seeds that share each drawing."""
    table = documents(np.random.default_rng(5), items=5, seeds=2).astype(float)
    every = [F1.value(table[:, list(drawn)].sum(1)).mean() for drawn in itertools.product(range(5), repeat=5)]
    monkeypatch.setattr(bootstrap, "CONFIDENCE", 0.8)
    report = interval(table, F1, seed=3)
    assert [report["low"], report["high"]] == pytest.approx(np.quantile(every, [0.1, 0.9]), abs=0.01)
    assert report["figure"] == pytest.approx(F1.value(table.sum(1)).mean())
    assert (report["confidence"], report["draws"], report["seed"]) == (0.8, bootstrap.DRAWS, 3)


def test_the_interval_of_a_mean_is_the_normal_one():
    values = np.random.default_rng(2).normal(size=400)
    report = interval(scores(values), MEAN, seed=1)
    half = 1.96 * values.std() / 20
    assert [report["low"], report["high"]] == pytest.approx(
        [values.mean() - half, values.mean() + half], abs=0.05 * half
    )


def test_seeds_are_no_further_items():
    values = np.random.default_rng(2).normal(size=200)
    one, five = interval(scores(values), MEAN, seed=1), interval(scores(*[values] * 5), MEAN, seed=1)
    assert five == pytest.approx(one)


def test_the_same_seed_gives_the_same_report_and_another_one_another():
    table = documents(np.random.default_rng(1), items=50, seeds=2)
    other = documents(np.random.default_rng(2), items=50, seeds=2)
    assert interval(table, F1, seed=1) == interval(table, F1, seed=1)
    assert interval(table, F1, seed=1)["low"] != interval(table, F1, seed=2)["low"]
    assert comparison(table, other, F1, seed=1) == comparison(table, other, F1, seed=1)


def test_small_chunks_give_the_same(monkeypatch):
    table, other = (documents(np.random.default_rng(seed), items=40, seeds=2) for seed in (1, 2))
    whole = interval(table, F1, seed=1, draws=1001), comparison(table, other, F1, seed=1, draws=1001)
    monkeypatch.setattr(bootstrap, "CHUNK", 400)
    parts = interval(table, F1, seed=1, draws=1001), comparison(table, other, F1, seed=1, draws=1001)
    for one, another in zip(whole, parts, strict=True):
        assert one == pytest.approx(another, abs=0.01)


def test_95_percent_intervals_cover():
    """Of 200 data sets with a known figure. 95% of 200 are missed by 90% or 99% once in 600 times."""
    generator = np.random.default_rng(5)
    found, extra, gold = 0.8 * 2.5, 2 * 0.3 / 0.7, 2.5  # means of a document
    truths = {"f1": 2 * found / (found + extra + gold), "mean": 0.7}
    covered = dict.fromkeys(truths, 0)
    for number in range(200):
        drawn = {
            "f1": interval(documents(generator, items=120), F1, seed=number, draws=1000),
            "mean": interval(scores(generator.random(120) < 0.7), MEAN, seed=number, draws=1000),
        }
        for name, report in drawn.items():
            covered[name] += report["low"] <= truths[name] <= report["high"]
    assert all(180 <= number <= 198 for number in covered.values()), covered


def test_p_is_that_of_all_exchanges():
    """Of eight items there are 2 ** 8 exchanges: all of them listed."""
    generator = np.random.default_rng(4)
    for recall in (0.8, 0.5, 0.2):
        gold = generator.integers(1, 6, 8)
        first, second = (np.stack([generator.binomial(gold, r), gold, gold], -1)[None] for r in (0.8, recall))
        observed = F1.value(first.sum(1))[0] - F1.value(second.sum(1))[0]
        every = []
        for coins in itertools.product([False, True], repeat=8):
            sides = [
                np.where(np.array(coins)[:, None], *pair) for pair in ((second[0], first[0]), (first[0], second[0]))
            ]
            every.append(F1.value(sides[0].sum(0)) - F1.value(sides[1].sum(0)))
        exact = np.mean(np.abs(every) >= abs(observed) - 1e-9)
        assert comparison(first, second, F1, seed=1)["p"] == pytest.approx(exact, abs=0.02)


def test_p_of_several_seeds_is_that_of_exchanging_their_means():
    """For a mean, seeds come to the mean of an item over them."""
    generator = np.random.default_rng(6)
    first, second = generator.normal(0.5, 1, (2, 8)), generator.normal(0, 1, (3, 8))
    gaps = first.mean(0) - second.mean(0)
    every = [np.mean(gaps * signs) for signs in itertools.product([1, -1], repeat=8)]
    exact = np.mean(np.abs(every) >= abs(gaps.mean()) - 1e-9)
    assert comparison(scores(*first), scores(*second), MEAN, seed=1)["p"] == pytest.approx(exact, abs=0.02)


def test_the_difference_has_the_interval_of_the_paired_bootstrap():
    generator = np.random.default_rng(3)
    hard = generator.normal(size=300)  # what makes items hard is hard for both
    first, second = scores(hard + 0.1 * generator.normal(size=300)), scores(hard - 0.05)
    report = comparison(first, second, MEAN, seed=1)
    values = first[0, :, 0] - second[0, :, 0]
    half = 1.96 * values.std() / 300**0.5
    assert report["difference"] == pytest.approx(values.mean())
    assert report["low"] == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert report["high"] == pytest.approx(values.mean() + half, abs=0.05 * half)
    assert report["p"] == 1 / (1 + bootstrap.DRAWS)


def test_the_other_way_round_it_is_the_same():
    first, second = (documents(np.random.default_rng(seed), items=60, seeds=seed) for seed in (2, 3))
    there, back = comparison(first, second, F1, seed=1), comparison(second, first, F1, seed=1)
    assert there["difference"] == -back["difference"] and there["p"] == pytest.approx(back["p"], abs=0.02)
    assert there["low"] == pytest.approx(-back["high"], abs=0.005)


def test_a_system_does_not_differ_from_itself():
    table = documents(np.random.default_rng(1), items=30, seeds=3)
    report = comparison(table, table, F1, seed=1, draws=100)
    assert report["p"] == 1.0 and report["difference"] == report["low"] == report["high"] == 0.0


def test_unequal_numbers_of_seeds():
    generator = np.random.default_rng(8)
    base = documents(generator, items=80)
    report = comparison(np.concatenate([base] * 5), base, F1, seed=1, draws=200)
    assert report["difference"] == pytest.approx(0) and report["p"] == 1.0
    better = documents(generator, items=80, recall=0.99, precision=0.9, seeds=2)
    assert comparison(better, documents(generator, 80, 0.5, 0.7, 3), F1, seed=1, draws=999)["p"] == 0.001


def test_another_number_of_items_is_refused():
    with pytest.raises(ValueError, match="not the same"):
        comparison(scores([1, 2]), scores([1, 2, 3]), MEAN, seed=1)


def test_the_interval_over_folds_is_of_the_mean_of_their_figures(monkeypatch):
    """Of three documents a fold there are 27 drawings, of two folds 27 * 27: all of them listed."""
    folds = [documents(np.random.default_rng(seed), items=3, seeds=2).astype(float) for seed in (5, 6)]
    of_folds = [[F1.value(one[:, list(drawn)].sum(1)).mean() for drawn in itertools.product(range(3), repeat=3)]
                for one in folds]  # fmt: skip
    every = [np.mean(pair) for pair in itertools.product(*of_folds)]
    monkeypatch.setattr(bootstrap, "CONFIDENCE", 0.8)
    report = interval(folds, F1, seed=3)
    assert [report["low"], report["high"]] == pytest.approx(np.quantile(every, [0.1, 0.9]), abs=0.01)
    assert report["figure"] == pytest.approx(np.mean([F1.value(one.sum(1)).mean() for one in folds]))


def test_the_difference_over_folds_is_of_the_means_of_their_figures():
    """Of four documents a fold there are 16 exchanges, of two folds 256: all of them listed."""
    generator = np.random.default_rng(9)
    first, second = ([documents(generator, 4, recall).astype(float) for _ in range(2)] for recall in (0.9, 0.5))
    of_folds = []
    for one, other in zip(first, second, strict=True):
        swapped = [np.array(coins)[:, None] for coins in itertools.product([False, True], repeat=4)]
        of_folds.append([F1.value(np.where(coins, other[0], one[0]).sum(0))
                         - F1.value(np.where(coins, one[0], other[0]).sum(0)) for coins in swapped])  # fmt: skip
    every, observed = [np.mean(pair) for pair in itertools.product(*of_folds)], np.mean([one[0] for one in of_folds])
    report = comparison(first, second, F1, seed=1)
    assert report["difference"] == pytest.approx(observed) and report["low"] < observed < report["high"]
    exact = np.mean(np.abs(every) >= abs(observed) - 1e-9)
    assert 0.02 < exact < 0.5 and report["p"] == pytest.approx(exact, abs=0.02)


def pearson_of(gold, *seeds):
    """Tallies of the correlation, from predictions of each seed."""
    return np.stack([tallies(figure("pearson"), gold, predicted) for predicted in seeds])


@pytest.mark.parametrize("scale, shift", [(0.01, 0), (20, 0), (1, 1000)])
def test_p_of_a_correlation_does_not_depend_on_the_scale_of_predictions(scale, shift):
    generator, pearson = np.random.default_rng(3), figure("pearson")
    gold = generator.uniform(0, 5, 60)
    better, worse = (gold + generator.normal(0, spread, (2, 60)) for spread in (1.0, 1.4))
    plain = comparison(pearson_of(gold, *better), pearson_of(gold, *worse), pearson, seed=1, draws=999)
    moved = [scale * better[0] + shift, better[1]]  # one of the seeds only
    report = comparison(pearson_of(gold, *moved), pearson_of(gold, *worse), pearson, seed=1, draws=999)
    assert report["p"] == pytest.approx(plain["p"], abs=0.002) and 0.001 < plain["p"] < 0.2


def test_constant_predictions_are_told_from_good_ones_on_any_scale():
    generator, pearson = np.random.default_rng(3), figure("pearson")
    gold = generator.uniform(0, 5, 60)
    good = pearson_of(gold, gold + generator.normal(0, 1, 60))
    found = {comparison(good, pearson_of(gold, [constant] * 60), pearson, seed=1, draws=999)["p"]
             for constant in (0.0, 2.5, 1e5)}  # fmt: skip
    assert found == {0.001}


def test_equal_correlations_on_two_scales_are_told_apart_in_five_percent():
    """Cosines beside scores from 0 to 5; as in the test of equal systems below."""
    generator, pearson, rejected = np.random.default_rng(7), figure("pearson"), 0
    for number in range(300):
        gold = generator.uniform(0, 5, 60)
        scores_to_5, cosines = gold + generator.normal(0, 1, 60), 0.8 + (gold + generator.normal(0, 1, 60)) / 50
        both = pearson_of(gold, scores_to_5), pearson_of(gold, cosines)
        rejected += comparison(*both, pearson, seed=number, draws=199)["p"] <= 0.05
    assert 4 <= rejected <= 27, rejected


def test_holm_against_cases_by_hand():
    assert holm([]) == [] and holm([0.03]) == [0.03]
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02, 0.02, 0.02, 0.001]) == pytest.approx([0.06, 0.06, 0.06, 0.004])


@pytest.mark.parametrize("seeds", [(1, 1), (3, 3), (4, 2)])
def test_equal_systems_are_told_apart_in_five_percent(seeds):
    """Of 300 pairs of equal systems, 15 are expected and 4 to 27 are three standard deviations.

    Each model has its own taste in items, which all its seeds share: if seeds were exchanged as if they were items, the
    test would find a difference in a quarter of the pairs (measured with three seeds).
    """
    generator = np.random.default_rng(seeds)
    rejected = 0
    for number in range(300):
        hard = generator.normal(0, 1, 60)
        systems = []
        for count in seeds:
            taste = hard + generator.normal(0, 1, 60)
            systems.append(scores(*(taste + generator.normal(0, 0.5, (count, 60)))))
        rejected += comparison(*systems, MEAN, seed=number, draws=499)["p"] <= 0.05
    assert 4 <= rejected <= 27, rejected


def test_equal_taggers_are_told_apart_in_five_percent():
    generator = np.random.default_rng(11)
    rejected = 0
    for number in range(300):
        gold = generator.integers(0, 6, 60)
        systems = []
        for seeds in (2, 3):
            taste = generator.beta(8, 2, 60)  # of a model for documents
            found = generator.binomial(gold, taste, (seeds, 60))
            extra = generator.poisson(0.5, (seeds, 60))
            systems.append(np.stack([found, found + extra, np.broadcast_to(gold, found.shape)], -1))
        rejected += comparison(*systems, F1, seed=number, draws=499)["p"] <= 0.05
    assert 4 <= rejected <= 27, rejected
