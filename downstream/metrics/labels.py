"""Classification: one label an item (relations, inference, yes/no questions), or any number of labels an item."""

import statistics
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from operator import eq
from typing import Any

import numpy as np

from downstream.metrics.rows import FIGURES, no_row, plain_row, rates

YES_NO = ("yes", "no")  # BioASQ
MAYBE = "maybe"  # PubMedQA has it too


def single_label(
    gold: Sequence[str], predicted: Sequence[str], classes: Sequence[str], counted: Sequence[str] | None = None
) -> dict:
    """Accuracy over all items; per class of `counted`, and micro, macro and weighted over these, P, R, F1 and support.

    counted: the classes that count, by default all of them. For relations, all but the negative one: the micro F1 of
    ChemProt and DDI in BLUE and BLURB (003 Table 4). An item of another class still costs precision where a counted one
    is predicted. macro: over the counted classes that occur in the gold.
    Raises ValueError on a label that is not in `classes`.
    """
    _check_known({*gold, *predicted}, classes)
    keys = {name: name for name in (classes if counted is None else counted)}
    figures = _figures(gold, predicted, keys, used={*gold, *predicted})
    return {"accuracy": _accuracy(gold, predicted), **figures}


def yes_no(gold: Sequence[str], predicted: Sequence[str], answers: Sequence[str] = YES_NO) -> dict:
    """`single_label`, its macro figures over every answer, also one that the gold never gives.

    So BioASQ's official measures have it: (F1 of yes + F1 of no) / 2 whatever the questions are.
    """
    report = single_label(gold, predicted, answers)
    rows = report["classes"].values()
    means = {name: statistics.fmean(row[name] or 0.0 for row in rows) for name in FIGURES}
    return report | {"macro": means | {"support": len(gold)}}


def confusion(gold: Sequence[str], predicted: Sequence[str], classes: Sequence[str]) -> dict:
    """How often each class was taken for each: a list of counts a class of the gold, in the order of `classes`."""
    from sklearn.metrics import confusion_matrix

    _check_known({*gold, *predicted}, classes)
    return {"classes": list(classes), "counts": confusion_matrix(gold, predicted, labels=list(classes)).tolist()}


def multi_label(gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]], classes: Sequence[str]) -> dict:
    """Figures of label sets, one collection an item: by label, by item, and of whole sets.

    classes, micro, macro, weighted: as in `single_label`. DrBenchmark's figure of MORFITT is the weighted F1.
    example_based: the means of the items' precision and recall, and the F1 of these two means (Zhang and Zhou 2014). So
    BLUE scores HoC, and 003 with it; 002 says "F1" and has the same splits.
    mean_example_f1: the mean of the items' F1, another number; scikit-learn's average="samples".
    exact_match: the share of items whose set is right. jaccard: the mean of shared / united labels, which DrBenchmark
    calls the Hamming score of FrenchMedMCQA; it is not 1 - Hamming loss.
    Raises ValueError on a label that is not in `classes`, and on fewer than two classes.
    """
    used = {name for item in (*gold, *predicted) for name in item}
    _check_known(used, classes)
    if len(classes) < 2:  # scikit-learn takes a single column for the labels 0 and 1
        raise ValueError(f"label sets need two classes or more, not {list(classes)}; one class is a yes/no question")
    theirs, mine = (
        np.array([[name in item for name in classes] for item in side], dtype=int) for side in (gold, predicted)
    )
    columns = {name: column for column, name in enumerate(classes)}
    precision, recall, f1, jaccard = map(statistics.fmean, zip(*map(agreement, gold, predicted), strict=True))
    of_means = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        **_figures(theirs, mine, columns, used),
        "example_based": {"precision": precision, "recall": recall, "f1": of_means},
        "mean_example_f1": f1,
        "exact_match": _accuracy(list(map(set, gold)), list(map(set, predicted))),
        "jaccard": jaccard,
    }


def agreement(gold: Collection[str], predicted: Collection[str]) -> tuple[float, float, float, float]:
    """Precision, recall, F1 and Jaccard index of one item's labels.

    No label where none is right is full agreement, as it is for exact match; BLUE's script has no such item.
    """
    theirs, mine = set(gold), set(predicted)
    if not theirs and not mine:
        return 1.0, 1.0, 1.0, 1.0
    shared = len(theirs & mine)
    return *rates(shared, len(mine), len(theirs)), shared / len(theirs | mine)


def _accuracy(gold: Sequence, predicted: Sequence) -> float:
    """The share of answers that equal the gold."""
    return sum(map(eq, gold, predicted)) / len(gold)


def _check_known(labels: set[str], classes: Sequence[str]) -> None:
    if unknown := labels - set(classes):
        raise ValueError(f"labels {sorted(unknown)} are not among the classes {list(classes)}")


def _figures(gold: Any, predicted: Any, keys: Mapping[str, str | int], used: Collection[str]) -> dict:
    """Rows by class, micro, macro, weighted. keys: scikit-learn's names of the classes; used: those that occur."""
    from sklearn.metrics import precision_recall_fscore_support  # here: it takes a second, and --help needs none

    scored = partial(precision_recall_fscore_support, gold, predicted, zero_division=0)
    by_class = zip(*scored(labels=list(keys.values()), average=None), strict=True)
    rows = {name: plain_row(*row) if name in used else no_row() for name, row in zip(keys, by_class, strict=True)}
    in_gold = [keys[name] for name, row in rows.items() if row["support"]]
    support = sum(row["support"] for row in rows.values())
    averages = {
        average: plain_row(*((*scored(labels=labels, average=average)[:3], support) if in_gold else (0, 0, 0, 0)))
        for average, labels in [("micro", list(keys.values())), ("macro", in_gold), ("weighted", in_gold)]
    }
    return {"classes": rows, **averages}
