"""From annotated entities to what one flat IOB2 sequence can hold, with a count of everything it cannot.

A flat sequence has no discontinuous entity, no two entities on one word, and no border inside a word. What becomes of
them is said by a Policy; whatever it changes or drops is counted under a name of its own.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tokenizers.pre_tokenizers import Punctuation, Sequence, WhitespaceSplit

from downstream.data.annotated_text import Entity

# Words are the same for every model, so that scores of models with different tokenizers can be compared.
WORDS = Sequence([WhitespaceSplit(), Punctuation("isolated")])


class Span(NamedTuple):
    """One typed, contiguous stretch; `start` and `end` (excluded) are characters, or words where it is said."""

    start: int
    end: int
    label: str


class ScoredSpan(Span):
    """A span that a model has found. score: the mean probability of its words' tags."""

    score: float

    @classmethod
    def of(cls, span: Span, score: float) -> "ScoredSpan":
        """The span with its score."""
        scored = cls(*span)
        scored.score = score
        return scored


@dataclass(frozen=True)
class Policy:
    """What becomes of entities that a flat sequence cannot hold; see the fields of NerRecipe."""

    nested: str
    discontinuous: str
    partial_words: str


def words_of(text: str) -> list[tuple[int, int]]:
    """Offsets of the words of a text: split at white space, every punctuation mark a word of its own."""
    return [offsets for _, offsets in WORDS.pre_tokenize_str(text)]


def flatten(entities: Iterable[Entity], policy: Policy, counts: Counter) -> list[Span]:
    """The entities that can stand together in one flat sequence, in order of the text; spans are characters."""
    unique = _continuous(entities, policy.discontinuous, counts)
    sign = 1 if policy.nested == "innermost" else -1
    kept: list[Span] = []
    for span in sorted(unique, key=lambda span: sign * (span.end - span.start)):  # stable: ties in the file's order
        rival = next((other for other in kept if span.start < other.end and other.start < span.end), None)
        if rival is None:
            kept.append(span)
        else:
            counts[_relation(span, rival)] += 1
    return sorted(kept)


def _continuous(entities: Iterable[Entity], policy: str, counts: Counter) -> list[Span]:
    """Each span once, in the order of the entities."""
    spans = []
    for entity in entities:
        if len(entity.fragments) == 1:
            spans.append(Span(entity.start, entity.end, entity.label))
            continue
        counts[f"discontinuous entities ({policy})"] += 1
        if policy == "split":
            spans += [Span(start, end, entity.label) for start, end in entity.fragments]
        elif policy == "hull":
            spans.append(Span(entity.start, entity.end, entity.label))
    unique = list(dict.fromkeys(spans))
    counts["duplicates dropped"] += len(spans) - len(unique)
    return unique


def _relation(span: Span, kept: Span) -> str:
    if span[:2] == kept[:2]:
        return "second types of one span dropped"
    inside = kept.start <= span.start and span.end <= kept.end
    around = span.start <= kept.start and kept.end <= span.end
    return "nested entities dropped" if inside or around else "crossing entities dropped"


def on_words(spans: list[Span], words: list[tuple[int, int]], policy: Policy, counts: Counter) -> list[Span]:
    """The same spans in words, first to last (excluded); `spans` are flat and sorted.

    A span that begins or ends inside a word is expanded to the whole word or dropped, as policy.partial_words says.
    """
    starts, ends = [start for start, _ in words], [end for _, end in words]
    placed: list[Span] = []
    for span in spans:
        first, last = bisect_right(ends, span.start), bisect_left(starts, span.end)
        if first == last:
            counts["entities without a word dropped"] += 1
            continue
        if starts[first] < span.start or span.end < ends[last - 1]:
            counts[f"entities on partial words ({policy.partial_words})"] += 1
            if policy.partial_words == "drop":
                continue
        if placed and placed[-1].end > first:
            counts["entities on a word already taken dropped"] += 1
            continue
        placed.append(Span(first, last, span.label))
    return placed


def layers_of(
    entities: list[Entity], words: list[tuple[int, int]], policy: Policy, types: Iterable[str], counts: Counter
) -> list[list[Span]]:
    """What flat layers hold of the entities, as spans in words: one layer, or (per_type) one for each type."""
    if policy.nested == "per_type":
        own = [[entity for entity in entities if entity.label == kind] for kind in types]
        return [on_words(flatten(of_kind, policy, counts), words, policy, counts) for of_kind in own]
    if policy.nested == "concatenated":
        spans = _continuous(entities, policy.discontinuous, counts)
        placed = [word_span for span in spans for word_span in on_words([span], words, policy, counts)]
        stretches = concatenated(placed)
        counts["entities that concatenated labels change"] += (Counter(placed) - Counter(merged(stretches))).total()
        return [stretches]
    return [on_words(flatten(entities, policy, counts), words, policy, counts)]


def concatenated(spans: Iterable[Span]) -> list[Span]:
    """Stretches of words that the same spans cover, labelled with the types of these, sorted, with a + between them."""
    spans = list(spans)
    borders = sorted({border for span in spans for border in span[:2]})
    stretches = []
    for start, end in pairwise(borders):
        labels = {span.label for span in spans if span.start <= start and end <= span.end}
        if labels:
            stretches.append(Span(start, end, "+".join(sorted(labels))))
    return stretches


def merged(spans: Iterable[Span]) -> list[Span]:
    """Entities from stretches of concatenated labels: neighbours that differ but share a type hold one entity of it.

    The way back from `concatenated` but for two entities of one type that touch or lie in each other.
    """
    entities: list[Span] = []
    before: Span | None = None
    still_open: dict[str, int] = {}  # the stretch before, and which of `found` each of its types ends
    for span in sorted(spans):
        goes_on = before is not None and before.end == span.start and before.label != span.label
        opened = {}
        for label in span.label.split("+"):
            if goes_on and label in still_open:
                opened[label] = still_open[label]
                entities[opened[label]] = entities[opened[label]]._replace(end=span.end)
            else:
                opened[label] = len(entities)
                entities.append(Span(span.start, span.end, label))
        before, still_open = span, opened
    return sorted(entities)


def tags_of(spans: Iterable[Span], length: int) -> list[str]:
    """IOB2 tags of a sequence of `length` words; spans are in words and do not overlap."""
    tags = ["O"] * length
    for start, end, label in spans:
        tags[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    return tags


def spans_of(tags: list[str]) -> list[Span]:
    """Spans, in words, of a strict IOB2 sequence: only B opens, only I of the same type goes on."""
    spans: list[Span] = []
    open_label = None
    for position, tag in enumerate(tags):
        letter, _, label = tag.partition("-")
        if letter == "B":
            spans.append(Span(position, position + 1, label))
            open_label = label
        elif letter == "I" and label == open_label:
            spans[-1] = spans[-1]._replace(end=position + 1)
        else:
            open_label = None
    return spans


def to_characters(spans: Iterable[Span], words: list[tuple[int, int]]) -> list[Span]:
    """Spans in words as spans in characters of the raw text."""
    return [Span(words[start][0], words[end - 1][1], label) for start, end, label in spans]
