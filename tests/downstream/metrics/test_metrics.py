"""Scores: equal to plain set arithmetic, strict where the lenient habit would be kinder, and honest about the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score

from downstream.data.spans import spans_of
from downstream.metrics.entities import scores
from downstream.metrics.seeds import over_seeds

TAGS = st.sampled_from(["O", "O", "B-a", "I-a", "B-b", "I-b", "B-c"])
PAIRS = st.lists(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=8), min_size=1, max_size=5)


def by_hand(gold: set, predicted: set) -> tuple[float, float, float]:
    found = len(gold & predicted)
    precision, recall = found / len(predicted) if predicted else 0.0, found / len(gold) if gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if found else 0.0


@given(PAIRS)
def test_scores_equal_set_arithmetic(pairs):
    gold = [[left for left, _ in document] for document in pairs]
    predicted = [[right for _, right in document] for document in pairs]
    sets = [
        {(number, *span) for number, tags in enumerate(side) for span in spans_of(tags)} for side in (gold, predicted)
    ]
    report = scores(gold, predicted, ["a", "b", "c"])
    wanted = by_hand(*sets)
    assert [report["micro"][name] for name in ("precision", "recall", "f1")] == pytest.approx(wanted)
    f1s = []
    for kind in "abc":
        mine = [{span for span in side if span[3] == kind} for side in sets]
        row = report["types"][kind]
        assert row["support"] == len(mine[0])
        if any(mine):
            assert row["f1"] == pytest.approx(by_hand(*mine)[2])
        else:
            assert row["f1"] is None
        f1s += [row["f1"]] if mine[0] else []
    assert report["macro"]["f1"] == pytest.approx(sum(f1s) / len(f1s) if f1s else 0.0)


def test_macro_is_over_the_types_of_the_gold_and_micro_pays_for_the_others():
    report = scores([["B-a", "O"]], [["B-a", "B-c"]], ["a", "b", "c"])
    assert report["macro"]["f1"] == 1.0 and report["micro"]["precision"] == 0.5
    assert report["types"]["c"]["f1"] == 0.0 and report["types"]["b"]["f1"] is None


def test_an_entity_that_begins_with_i_is_no_entity():
    gold, predicted = [["B-a", "I-a"]], [["I-a", "I-a"]]
    assert f1_score(gold, predicted) == 1.0  # seqeval's default, conlleval's habit
    assert scores(gold, predicted, "a")["micro"]["f1"] == 0.0


def test_nothing_to_find_and_nothing_found_is_zero_without_a_warning(recwarn):
    report = scores([["O", "O"]], [["O", "I-a"]], ["a"])
    assert report["micro"]["f1"] == report["macro"]["f1"] == 0.0 and not recwarn.list


def test_mean_and_sample_deviation_over_seeds():
    results = [{"micro": {"f1": value, "support": 7}, "a": None} for value in (0.1, 0.2, 0.6)]
    summary = over_seeds(results)
    assert summary["micro"]["support"] == 7
    assert summary["micro"]["f1"]["mean"] == pytest.approx(0.3)
    assert summary["micro"]["f1"]["deviation"] == pytest.approx(0.07**0.5)
    assert summary["a"] == {"mean": None, "deviation": None, "values": [None] * 3}
    assert over_seeds(results[:1])["micro"]["f1"]["deviation"] is None
