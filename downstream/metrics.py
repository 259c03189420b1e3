"""Scores of entity recognition: strict seqeval on words, and exact spans against everything that was annotated."""

import statistics
from collections import Counter
from collections.abc import Iterable

from seqeval.metrics import classification_report
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.scheme import IOB2

EVALUATION = {
    "scheme": "IOB2",
    "seqeval_mode": "strict",
    "unit": "entity: same type, same first and last word; words are split at white space and around punctuation",
    "macro": "plain mean over the types that occur in the split's gold",
    "deviation": "sample standard deviation over the seeds (n - 1)",
}
FIGURES = ("precision", "recall", "f1")


def micro_f1(gold: list[list[str]], predicted: list[list[str]]) -> float:
    """Strict micro F1, the figure that chooses the best epoch on dev."""
    return float(seqeval_f1(gold, predicted, mode="strict", scheme=IOB2, zero_division=0))


def scores(gold: list[list[str]], predicted: list[list[str]], types: Iterable[str]) -> dict:
    """Precision, recall, F1 and support per type, micro and macro, of strict IOB2 sequences (one a document).

    A type that occurs neither in the gold nor in the predictions has no scores (None), only its support of 0.
    """
    if not any(tag[0] == "B" for tags in gold + predicted for tag in tags):  # seqeval would divide by zero types
        report: dict = {}
    else:
        report = classification_report(gold, predicted, mode="strict", scheme=IOB2, output_dict=True, zero_division=0)
    per_type = {kind: _row(report.get(kind)) for kind in types}
    present = [row for row in per_type.values() if row["support"]]
    macro = {name: statistics.fmean(row[name] for row in present) if present else 0.0 for name in FIGURES}
    micro = _row(report["micro avg"]) if report else dict.fromkeys(FIGURES, 0.0) | {"support": 0}
    return {"types": per_type, "micro": micro, "macro": macro | {"support": micro["support"]}}


def _row(report: dict | None) -> dict:
    if report is None:
        return dict.fromkeys(FIGURES) | {"support": 0}
    figures = (report["precision"], report["recall"], report["f1-score"])
    return dict(zip(FIGURES, map(float, figures), strict=True)) | {"support": int(report["support"])}


def exact_spans(gold: list[list], predicted: list[list]) -> dict:
    """Micro precision, recall and F1 of spans, one list a document, by multiset intersection.

    Used against every annotated entity, those a flat sequence cannot hold (None: never found) included.
    """
    found = sum((Counter(mine) & Counter(theirs)).total() for mine, theirs in zip(predicted, gold, strict=True))
    num_predicted, num_gold = sum(map(len, predicted)), sum(map(len, gold))
    precision, recall = found / max(num_predicted, 1), found / max(num_gold, 1)
    f1 = 2 * found / max(num_predicted + num_gold, 1)
    return {"precision": precision, "recall": recall, "f1": f1, "support": num_gold}


def over_folds(results: list[dict]) -> dict:
    """The same nested dictionary with the mean of each figure over the folds, and the sum of each support.

    A type that does not occur in some of the folds counts in the others.
    """
    values = [value for value in results if value is not None]
    if values and isinstance(values[0], dict):
        keys = dict.fromkeys(key for one in values for key in one)
        columns = {key: [one.get(key) for one in values] for key in keys}
        return {
            key: sum(filter(None, column)) if key == "support" else over_folds(column)
            for key, column in columns.items()
        }
    return statistics.fmean(values) if values else None


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
