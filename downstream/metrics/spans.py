"""Strict figures of nested and discontinuous entities, which no tag sequence can hold and so seqeval cannot score."""

from collections import Counter
from collections.abc import Iterable, Sequence

from downstream.data.annotated_text import Entity
from downstream.metrics.rows import macro, row, type_row


def span_scores(gold: Sequence[Iterable[Entity]], predicted: Sequence[Iterable[Entity]], types: Iterable[str]) -> dict:
    """Precision, recall, F1 and support per type, micro and macro, of entities, one collection a document.

    Found: the same document, type and fragments. Sets: an entity annotated or predicted twice is one.
    Laid out as `entities.scores`. Raises ValueError if the two sides differ in their number of documents.
    """
    found: Counter = Counter()
    in_predicted: Counter = Counter()
    in_gold: Counter = Counter()
    for theirs, mine in zip(map(set, gold), map(set, predicted), strict=True):
        found.update(entity.label for entity in theirs & mine)
        in_predicted.update(entity.label for entity in mine)
        in_gold.update(entity.label for entity in theirs)
    per_type = {kind: type_row(found[kind], in_predicted[kind], in_gold[kind]) for kind in types}
    micro = row(found.total(), in_predicted.total(), in_gold.total())
    return {"types": per_type, "micro": micro, "macro": macro(per_type.values())}
