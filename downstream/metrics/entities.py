"""Scores of entity recognition: strict seqeval on words, and by sets, of entities that no tag sequence holds."""

from collections.abc import Iterable, Sequence

from downstream.data.annotated_text import Entity
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
    keys = ("precision", "recall", "f1-score", "support")
    rows = {kind: plain_row(*map(rates.get, keys)) for kind, rates in report.items()}
    per_type = {kind: rows.get(kind) or no_row() for kind in types}
    return {"types": per_type, "micro": rows.get("micro avg") or row(0, 0, 0), "macro": macro(per_type.values())}


def span_scores(gold: Sequence[Iterable[Entity]], predicted: Sequence[Iterable[Entity]]) -> dict:
    """Micro precision, recall, F1 and support of entities, nested and discontinuous ones too; a collection a document.

    Found: the same document, type and fragments. Sets: an entity annotated or predicted twice is one.
    Raises ValueError if the two sides differ in their number of documents.
    """
    pairs = list(zip(map(set, gold), map(set, predicted), strict=True))
    found = sum(len(theirs & mine) for theirs, mine in pairs)
    return row(found, sum(len(mine) for _, mine in pairs), sum(len(theirs) for theirs, _ in pairs))
