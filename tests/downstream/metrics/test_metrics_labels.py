"""Figures of labels: equal to counting by hand and to scikit-learn, and as BLUE, BioASQ and DrBenchmark define them."""

import random

import pytest
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

from downstream.metrics.labels import confusion, multi_label, single_label, yes_no

CLASSES = ["none", "a", "b", "c"]
FIGURES = ("precision", "recall", "f1")


def counted_by_hand(gold, predicted, classes):
    """Sets of (item, label) pairs, as if each decision were an entity."""
    gold = {(number, name) for number, names in enumerate(gold) for name in names if name in classes}
    predicted = {(number, name) for number, names in enumerate(predicted) for name in names if name in classes}

    def rates(theirs, mine):
        both = len(theirs & mine)
        precision, recall = both / len(mine) if mine else 0, both / len(theirs) if theirs else 0
        return precision, recall, 2 * both / (len(theirs) + len(mine)) if theirs or mine else 0

    rows = {
        name: rates({pair for pair in gold if pair[1] == name}, {pair for pair in predicted if pair[1] == name})
        for name in classes
    }
    support = {name: sum(pair[1] == name for pair in gold) for name in classes}
    used = {name for _, name in gold | predicted}
    present = [rows[name] for name in classes if support[name]]
    each = [rows[name] for name in classes for _ in range(support[name])]
    means = [
        [sum(column) / len(rows) for column in zip(*rows, strict=True)] if rows else [0, 0, 0]
        for rows in (present, each)
    ]
    return rows, support, used, {"micro": rates(gold, predicted), "macro": means[0], "weighted": means[1]}


def assert_equal_by_hand(report, gold, predicted, classes):
    rows, support, used, averages = counted_by_hand(gold, predicted, classes)
    assert list(report["classes"]) == list(classes)
    for name, row in report["classes"].items():
        wanted = rows[name] if name in used else [None] * 3
        assert [row[figure] for figure in FIGURES] == pytest.approx(wanted) and row["support"] == support[name]
    for average, wanted in averages.items():
        assert [report[average][figure] for figure in FIGURES] == pytest.approx(wanted), average
        assert report[average]["support"] == sum(support.values())


@pytest.mark.parametrize("counted", [CLASSES, CLASSES[1:], ["b"]])
def test_one_label_an_item(counted):
    draw = random.Random(1)
    for _ in range(25):
        names = draw.sample(CLASSES, draw.randint(1, 4))
        gold, predicted = ([draw.choice(names) for _ in range(9)] for _ in range(2))
        report = single_label(gold, predicted, CLASSES, counted)
        assert_equal_by_hand(report, [{name} for name in gold], [{name} for name in predicted], counted)
        assert report["accuracy"] == pytest.approx(sum(map(str.__eq__, gold, predicted)) / len(gold))


def test_the_negative_class_counts_only_where_a_positive_one_is_predicted():
    gold, predicted = ["none", "none", "a", "a", "b"], ["none", "a", "a", "none", "b"]
    report = single_label(gold, predicted, CLASSES, counted=["a", "b", "c"])
    assert report["micro"] == {"precision": 2 / 3, "recall": 2 / 3, "f1": pytest.approx(2 / 3), "support": 3}
    assert report["accuracy"] == 0.6 and "none" not in report["classes"]
    assert report["macro"]["f1"] == 0.75  # a 0.5, b 1; c is nowhere


def test_nothing_of_what_counts_is_zero_without_a_warning(recwarn):
    report = single_label(["none"], ["a"], CLASSES, counted=["a", "b"])
    zero = dict.fromkeys(FIGURES, 0.0) | {"support": 0}
    assert report["micro"] == report["macro"] == report["weighted"] == zero and not recwarn.list


def test_a_question_that_nobody_answers_with_no_halves_bioasqs_macro_f1():
    assert yes_no(["yes", "yes"], ["yes", "yes"])["macro"]["f1"] == 0.5
    assert single_label(["yes", "yes"], ["yes", "yes"], ["yes", "no"])["macro"]["f1"] == 1.0


def test_yes_no_maybe():
    gold, predicted = ["yes", "yes", "no", "maybe", "no"], ["yes", "no", "no", "yes", "no"]
    report = yes_no(gold, predicted, ("yes", "no", "maybe"))
    assert report["accuracy"] == 0.6 and report["classes"]["yes"]["f1"] == 0.5
    assert report["classes"]["no"]["f1"] == 0.8 and report["classes"]["maybe"]["f1"] == 0.0
    assert report["macro"]["f1"] == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))
    assert report["macro"]["support"] == 5


def test_confusion_has_the_gold_in_its_lists():
    matrix = confusion(["a", "a", "b"], ["a", "b", "b"], CLASSES)
    assert matrix == {"classes": CLASSES, "counts": [[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]}
    assert {type(count) for row in matrix["counts"] for count in row} == {int}


@pytest.mark.parametrize("score", [single_label, confusion, multi_label])
def test_a_label_that_is_no_class_is_refused(score):
    with pytest.raises(ValueError, match=r"\['other'\] are not among the classes"):
        score(["a"], ["other"], CLASSES) if score is not multi_label else score([["a"]], [["other"]], CLASSES)


def label_sets(seed, cases=25, fewest=0):
    draw = random.Random(seed)
    for _ in range(cases):
        names = draw.sample(CLASSES, draw.randint(max(fewest, 1), 4))
        yield [[set(draw.sample(names, draw.randint(fewest, len(names)))) for _ in range(8)] for _ in range(2)]


def test_any_number_of_labels_an_item():
    for gold, predicted in label_sets(2):
        assert_equal_by_hand(multi_label(gold, predicted, CLASSES), gold, predicted, CLASSES)


def test_figures_by_item_are_scikit_learns():
    for gold, predicted in label_sets(3, fewest=1):  # of no label at all scikit-learn has no figure by item
        report = multi_label(gold, predicted, CLASSES)
        sides = [MultiLabelBinarizer(classes=CLASSES).fit_transform(side) for side in (gold, predicted)]
        assert report["exact_match"] == pytest.approx(metrics.accuracy_score(*sides))
        assert report["jaccard"] == pytest.approx(metrics.jaccard_score(*sides, average="samples"))
        assert report["mean_example_f1"] == pytest.approx(metrics.f1_score(*sides, average="samples"))
        for name, score in [("precision", metrics.precision_score), ("recall", metrics.recall_score)]:
            assert report["example_based"][name] == pytest.approx(score(*sides, average="samples"))
        weighted = metrics.f1_score(*sides, average="weighted", zero_division=0)
        assert report["weighted"]["f1"] == pytest.approx(weighted)


def test_blues_example_based_f1_is_not_the_mean_of_the_items_f1():
    report = multi_label([{"a", "b"}, {"a"}], [{"a"}, {"a", "b"}], CLASSES)
    assert report["example_based"] == {"precision": 0.75, "recall": 0.75, "f1": 0.75}
    assert report["mean_example_f1"] == pytest.approx(2 / 3)


def test_drbenchmarks_hamming_score_is_a_jaccard_index():
    gold, predicted = [{"a", "b", "c"}, {"a"}], [{"a", "b"}, {"b"}]
    assert multi_label(gold, predicted, CLASSES)["jaccard"] == pytest.approx((2 / 3 + 0) / 2)
    sides = [MultiLabelBinarizer(classes=CLASSES).fit_transform(side) for side in (gold, predicted)]
    assert 1 - metrics.hamming_loss(*sides) == pytest.approx(5 / 8)


def test_no_label_where_none_is_right_is_right():
    report = multi_label([set(), set(), {"a"}], [set(), {"a"}, set()], CLASSES)
    assert report["example_based"] == {"precision": 1 / 3, "recall": 1 / 3, "f1": pytest.approx(1 / 3)}
    assert report["mean_example_f1"] == report["exact_match"] == report["jaccard"] == pytest.approx(1 / 3)


def test_nothing_right_is_zero():
    report = multi_label([{"a"}], [{"b"}], CLASSES)
    assert report["example_based"]["f1"] == report["mean_example_f1"] == report["jaccard"] == 0.0


def test_one_class_is_no_label_set():
    with pytest.raises(ValueError, match="two classes or more"):
        multi_label([{"a"}], [set()], ["a"])
