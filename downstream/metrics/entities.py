"""Scores of entity recognition: strict seqeval on words. Entities that no tag sequence holds are in spans.py."""

from collections.abc import Iterable

from downstream.metrics.rows import macro, no_row, plain_row, row

EVALUATION = {
    "scheme": "IOB2",
    "seqeval_mode": "strict",
    "unit": "entity: same type, same first and last word; words are split at white space and around punctuation",
    "macro": "plain mean over the types that occur in the split's gold",
    "deviation": "sample standard deviation over the seeds (n - 1)",
}


def scores(gold: list[list[str]], predicted: list[list[str]], types: Iterable[str]) -> dict:
    """Precision, recall, F1 and support per type, micro and macro, of strict IOB2 sequences (one a document).

    A type that occurs neither in the gold nor in the predictions has no scores (None), only its support of 0.
    """
    from seqeval.metrics import classification_report  # here: they take a second, and --help needs none
    from seqeval.scheme import IOB2

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
