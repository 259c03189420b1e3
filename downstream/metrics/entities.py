"""Scores of entity recognition: strict seqeval on words, and exact spans against everything that was annotated."""

from collections import Counter
from collections.abc import Iterable

from seqeval.metrics import classification_report
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.scheme import IOB2

from downstream.metrics.rows import macro, no_row, plain_row, row

EVALUATION = {
    "scheme": "IOB2",
    "seqeval_mode": "strict",
    "unit": "entity: same type, same first and last word; words are split at white space and around punctuation",
    "macro": "plain mean over the types that occur in the split's gold",
    "deviation": "sample standard deviation over the seeds (n - 1)",
}


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
    micro = _row(report["micro avg"]) if report else row(0, 0, 0)
    return {"types": per_type, "micro": micro, "macro": macro(per_type.values())}


def _row(report: dict | None) -> dict:
    if report is None:
        return no_row()
    return plain_row(report["precision"], report["recall"], report["f1-score"], report["support"])


def exact_spans(gold: list[list], predicted: list[list]) -> dict:
    """Micro precision, recall and F1 of spans, one list a document, by multiset intersection.

    Used against every annotated entity, those a flat sequence cannot hold (None: never found) included.
    """
    found = sum((Counter(mine) & Counter(theirs)).total() for mine, theirs in zip(predicted, gold, strict=True))
    return row(found, sum(map(len, predicted)), sum(map(len, gold)))
