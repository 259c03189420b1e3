"""Every figure by name equals the function that computes it outright, and figures are ready for JSON."""

import json
import random
import time
from functools import partial

import numpy as np
import pytest
from scipy import stats

from downstream.data.annotated_text import Entity
from downstream.data.spans import spans_of
from downstream.metrics import extractive_qa, labels, ranking, similarity
from downstream.metrics.bootstrap import comparison, interval
from downstream.metrics.entities import scores, span_scores
from downstream.metrics.sufficient_statistics import FIGURES, OVER_CLASSES, figure, grouped, mean_of

CLASSES = ("none", "a", "b", "c")
POSITIVE = CLASSES[1:]


def tallies(figure, gold, predicted) -> np.ndarray:
    """The tallies of the items, (items, k)."""
    return np.array([figure.tally(*item) for item in zip(gold, predicted, strict=True)], dtype=float)


WORDS = ("lung", "the", "left", "Lung.", "")


def one_label(draw):
    return draw.choice(CLASSES), draw.choice(CLASSES)


def label_sets(draw):
    return [set(draw.sample(CLASSES, draw.randint(0, 4))) for _ in range(2)]


def entities(draw):
    return [
        {Entity(draw.choice("ab"), ((0, draw.randint(1, 3)),)) for _ in range(draw.randint(0, 4))} for _ in range(2)
    ]


def pair(draw):
    return draw.uniform(0, 5), draw.uniform(0, 5.5)


def candidates(draw):
    return draw.sample(range(5), draw.randint(1, 3)), [draw.choice([0.1, 0.2, 0.3]) for _ in range(5)]


def answer(draw):
    phrase = lambda: " ".join(draw.choices(WORDS, k=3))  # noqa: E731
    return [phrase() for _ in range(draw.randint(0, 2))], phrase()


def factoid(draw):
    return draw.sample("abcdefgh", 2), draw.sample("abcdefgh", 7)


def listed(draw):
    return [[name, name * 2] for name in draw.sample("abcd", 2)], draw.choices(("a", "B", "cc", "e"), k=3)


# name: how an item is drawn, and the figure outright.
OUTRIGHT = {
    "entity_micro_f1": (entities, lambda gold, mine: span_scores(gold, mine)["f1"]),
    "accuracy": (one_label, lambda gold, mine: labels.single_label(gold, mine, CLASSES)["accuracy"]),
    "example_f1": (label_sets, lambda gold, mine: labels.multi_label(gold, mine, CLASSES)["example_based"]["f1"]),
    "mean_example_f1": (label_sets, lambda gold, mine: labels.multi_label(gold, mine, CLASSES)["mean_example_f1"]),
    "jaccard": (label_sets, lambda gold, mine: labels.multi_label(gold, mine, CLASSES)["jaccard"]),
    "pearson": (pair, lambda gold, mine: similarity.similarity(gold, mine)["pearson"]),
    "reciprocal_rank": (candidates, lambda gold, mine: ranking.ranking(gold, mine)["mean_reciprocal_rank"]),
    "top_1_accuracy": (candidates, lambda gold, mine: ranking.ranking(gold, mine)["top_1_accuracy"]),
    "average_precision": (candidates, lambda gold, mine: ranking.ranking(gold, mine)["mean_average_precision"]),
    "exact_match": (answer, lambda gold, mine: extractive_qa.reading(gold, mine)["exact_match"]),
    "token_f1": (answer, lambda gold, mine: extractive_qa.reading(gold, mine)["f1"]),
    "lenient_accuracy": (factoid, lambda gold, mine: extractive_qa.factoids(gold, mine)["lenient_accuracy"]),
    "factoid_reciprocal_rank": (factoid, lambda gold, mine: extractive_qa.factoids(gold, mine)["mean_reciprocal_rank"]),
    "list_f1": (listed, lambda gold, mine: extractive_qa.lists(gold, mine)["f1"]),
}


def drawn(item, seed, items=12):
    draw = random.Random(seed)
    return zip(*[item(draw) for _ in range(items)], strict=True)


def assert_equal(figure, gold, predicted, wanted):
    table = tallies(figure, gold, predicted)
    assert table.shape[0] == len(gold) and table.ndim == 2
    assert figure.value(table.sum(0)) == pytest.approx(wanted)


def test_every_name_is_tested():
    assert set(OUTRIGHT) == set(FIGURES)


@pytest.mark.parametrize("name", OUTRIGHT)
def test_the_value_of_the_sums_is_the_figure(name):
    item, outright = OUTRIGHT[name]
    for seed in range(12):
        gold, predicted = drawn(item, seed)
        assert_equal(figure(name), gold, predicted, outright(gold, predicted))


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
@pytest.mark.parametrize("counted", [CLASSES, POSITIVE, ("b",)])
def test_figures_over_classes(average, counted):
    for seed in range(5):
        gold, predicted = drawn(one_label, seed)
        report = labels.single_label(gold, predicted, CLASSES, counted)
        assert_equal(figure(f"{average}_f1", counted), gold, predicted, report[average]["f1"])
        gold, predicted = drawn(label_sets, seed)
        report = labels.multi_label(gold, predicted, CLASSES)
        assert_equal(figure(f"{average}_f1", CLASSES), gold, predicted, report[average]["f1"])


def test_the_macro_f1_of_all_classes_has_those_that_nobody_gives():
    for items in (2, 3, 12):
        gold, predicted = drawn(one_label, seed=items, items=items)
        wanted = labels.yes_no(gold, predicted, CLASSES)["macro"]["f1"]
        assert_equal(figure("macro_f1_of_all", CLASSES), gold, predicted, wanted)


def test_a_label_set_is_right_in_any_order():
    assert_equal(figure("accuracy"), [["a", "b"], ["a"]], [["b", "a"], ["b"]], 0.5)


def test_an_entity_that_is_there_twice_counts_twice():
    sides = [["x", "x"]], [["x", "x", "y"]]
    assert_equal(figure("entity_micro_f1"), *sides, 4 / 5)


def test_entities_of_tags():
    draw = random.Random(1)
    for _ in range(50):
        sides = [[[draw.choice(["O", "B-a", "I-a", "B-b"]) for _ in range(6)] for _ in range(3)] for _ in range(2)]
        spans = [[spans_of(tags) for tags in side] for side in sides]
        assert_equal(figure("entity_micro_f1"), *spans, scores(*sides, "ab")["micro"]["f1"])


@pytest.mark.parametrize("name", [*FIGURES, *OVER_CLASSES])
def test_many_sums_at_once(name):
    """As a bootstrap asks for them; no item drawn, or none that counts, is 0 and no warning."""
    item = OUTRIGHT[name][0] if name in OUTRIGHT else one_label
    one = figure(name, POSITIVE)
    table = tallies(one, *drawn(item, 3))
    sums = np.stack([table[:5], table[5:10]]).cumsum(1)  # (2, 5, k)
    values = one.value(sums)
    assert values.shape == (2, 5) and np.isfinite(values).all()
    assert values[1, 4] == pytest.approx(one.value(sums[1, 4]))
    with np.errstate(all="raise"):
        assert one.value(np.zeros_like(sums)).tolist() == [[0.0] * 5] * 2


def test_constant_scores_have_no_correlation_in_sums_either():
    for constant in ([2.7] * 3, [0.1] * 3, [2.5, 2.5, 2.5 + 1e-7]):
        assert_equal(figure("pearson"), [1, 2, 3], constant, 0.0)
        assert_equal(figure("pearson"), constant, [1, 2, 3], 0.0)
    assert_equal(figure("pearson"), [1, 2, 3], [2.5, 2.501, 2.502], 1.0)


def test_rank_correlation_has_no_tally():
    with pytest.raises(KeyError):
        figure("spearman")


def test_a_mean_of_ones_own():
    french = mean_of(partial(extractive_qa.token_f1, language="fr"))
    assert_equal(french, [["l'os"], ["le bras"]], ["os", "jambe"], 0.5)


def test_the_tally_of_a_group_is_that_of_its_items():
    table = np.arange(24.0).reshape(2, 4, 3)
    wanted = np.stack([table[:, 0] + table[:, 2], table[:, 1] + table[:, 3]], axis=1)
    assert np.array_equal(grouped(table, ["d2", "d1", "d2", "d1"]), wanted)


def test_adding_up_many_groups_takes_no_square_of_their_number():
    table, started = np.ones((1, 40_000, 3)), time.perf_counter()
    assert grouped(table, range(40_000)).sum() == 120_000
    assert time.perf_counter() - started < 1  # some hundredths; a pass for each group took seconds


def test_standardised_predictions_have_mean_0_and_spread_1_of_each_seed():
    gold, predicted = [1.0, 2.0, 4.0, 4.5], np.array([[10.0, 12.0, 11.0, 15.0], [0.1, 0.2, 0.1, 0.4]])
    pearson = figure("pearson")
    table = np.stack([tallies(pearson, gold, one) for one in predicted])
    wanted = stats.zscore(predicted, axis=1)
    assert pearson.exchangeable(table) == pytest.approx(np.stack([tallies(pearson, gold, one) for one in wanted]))
    by_document = grouped(table, ["a", "b", "b", "a"])
    assert pearson.exchangeable(by_document) == pytest.approx(grouped(pearson.exchangeable(table), "abba"))


def leaves(report):
    if isinstance(report, dict | list):
        values = report.values() if isinstance(report, dict) else report
        return {kind for value in values for kind in leaves(value)}
    return {type(report)}


def reports():
    for name, (item, _) in OUTRIGHT.items():
        gold, predicted = drawn(item, 5)
        table = tallies(figure(name), gold, predicted)[None]
        yield interval(table, figure(name), seed=1, draws=20)
        yield comparison(table, table, figure(name), seed=1, draws=20)
    yield labels.single_label(*drawn(one_label, 5), CLASSES)
    yield labels.yes_no(["yes"], ["no"])
    yield labels.confusion(*drawn(one_label, 5), CLASSES)
    yield labels.multi_label(*drawn(label_sets, 5), CLASSES)
    yield similarity.similarity(*drawn(pair, 5))
    yield ranking.ranking(*drawn(candidates, 5))
    yield extractive_qa.reading(*drawn(answer, 5))
    yield extractive_qa.factoids(*drawn(factoid, 5))
    yield extractive_qa.lists(*drawn(listed, 5))
    yield span_scores(*drawn(entities, 5))
    yield scores([["B-a", "O"]], [["B-a", "B-b"]], "abc")


def test_reports_are_plain():
    for report in reports():
        assert leaves(report) <= {float, int, str, type(None)}, report
        json.dumps(report, allow_nan=False)
