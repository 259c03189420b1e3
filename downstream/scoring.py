"""A prepared split and its predicted tags, turned into scores, counts and readable records."""

from collections import Counter

from downstream.metrics.entities import exact_spans, scores
from downstream.tasks.ner import Split, gold_spans, predicted_spans


def gold_tags(split: Split) -> list[list[str]]:
    """The flat gold of a split: IOB2 tags of every word, one list a document."""
    return [example.tags for example in split.examples]


def counts_of(split: Split) -> dict:
    """What was read, changed and dropped, and the entities of each type before the policies."""
    types = Counter(entity.label for example in split.examples for entity in example.document.entities)
    return dict(split.counts) | {"types": dict(sorted(types.items()))}


def evaluate(split: Split, name: str, tags: list[list[str]], types: list[str]) -> dict:
    """Scores of a split under its own name, and against everything annotated under NAME_every_gold_span.

    NAME_ceiling is what a perfect flat tagger would reach there: what the policies leave out costs it recall.
    """
    everything = [gold_spans(example) for example in split.examples]
    found = [predicted_spans(example, mine) for example, mine in zip(split.examples, tags, strict=True)]
    perfect = [predicted_spans(example, example.tags) for example in split.examples]
    return {
        name: scores(gold_tags(split), tags, types),
        f"{name}_every_gold_span": exact_spans(everything, found),
        f"{name}_ceiling": exact_spans(everything, perfect),
    }


def describe(split: Split, name: str, tags: list[list[str]]) -> list[dict]:
    """One record a document: gold (as the policies left it) and predicted entities, offsets into the raw text."""
    records = []
    for example, mine in zip(split.examples, tags, strict=True):
        text, sides = example.document.text, {}
        for side, side_tags in (("gold", example.tags), ("predicted", mine)):
            spans = predicted_spans(example, side_tags)
            sides[side] = [span._asdict() | {"text": text[span.start : span.end]} for span in spans]
        records.append({"split": name, "id": example.document.id, **sides})
    return records
