"""Named entities: documents to labelled token sequences, predicted tags to entities in the raw text.

Every sub-token of a word is labelled, B- on the first and I- on the rest, so that the saved model gives whole entities
in pipeline("token-classification", aggregation_strategy="simple"). A word's predicted tag is that of its first token.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from downstream.documents import Document
from downstream.spans import Policy, Span, flatten, on_words, spans_of, tags_of, to_characters, words_of
from downstream.windows import Window, cut_ranks, keep_whole, windows

IGNORED = -100  # PyTorch's cross_entropy passes over this label
CONTEXT_SHARE = 8  # context on each side of a cut inside a line: one eighth of a sequence, a sentence or so


class Layout(NamedTuple):
    """How a task lays out its data: label names in the order of their ids, policy, sequence size in tokens, unit."""

    names: list[str]
    policy: Policy
    size: int
    whole_lines: bool


@dataclass
class Example:
    """One document with its words, its flat gold tags (one a word) and the words each token covers."""

    document: Document
    words: list[tuple[int, int]]  # characters
    spans: list[Span]  # gold, in words
    covered: list[tuple[int, int]]  # a token's words, first to last (excluded)

    @property
    def tags(self) -> list[str]:
        return tags_of(self.spans, len(self.words))


@dataclass
class Sequence:
    """What the model reads at once: token ids without specials, a label id for each (IGNORED on context), its place."""

    ids: list[int]
    labels: list[int]
    document: int
    window: Window


@dataclass
class Split:
    """A prepared split: examples to score against, sequences to feed, and counts of what was met on the way."""

    examples: list[Example]
    sequences: list[Sequence]
    counts: Counter


def label_names(types: Iterable[str]) -> list[str]:
    """The label set of a task, in the order of its ids: O, then B- and I- of each type."""
    return ["O"] + [f"{letter}-{kind}" for kind in types for letter in "BI"]


def prepare(documents: list[Document], tokenizer, layout: Layout, training: bool) -> Split:
    """Tokenise a split, once, and cut it into sequences.

    Training sequences are never cut through an entity. Those of other splits are cut without looking at the gold.
    """
    split = Split([], [], Counter(documents=len(documents)))
    encoded = tokenizer(
        [document.text for document in documents], add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    for document, ids, offsets in zip(documents, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        if not document.text.strip():  # byte-level tokenizers make tokens of a blank text, which has no word
            ids, offsets = [], []
        characters = [_trimmed(document.text, start, end) for start, end in offsets]
        example = _example(document, characters, layout.policy, split.counts)
        ranks = cut_ranks(document.text, characters, [first for first, _ in example.covered])
        entities = _token_ranges(example, split.counts)
        if training:
            ranks = keep_whole(ranks, entities)
        cut = windows(ranks, layout.size, layout.size // CONTEXT_SHARE, layout.whole_lines)
        split.counts["entities across a sequence border"] += _across(entities, cut)
        labels = [layout.names.index(tag) for tag in token_tags(example, split.counts)]
        split.sequences += [_sequence(ids, labels, len(split.examples), window) for window in cut]
        split.examples.append(example)
    split.counts["sequences"] = len(split.sequences)
    return split


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The offsets without white space at either end; nothing but white space becomes empty, at its end."""
    kept = text[start:end].strip()
    if not kept:
        return end, end
    start = text.index(kept, start)
    return start, start + len(kept)


def _example(document: Document, characters: list[tuple[int, int]], policy: Policy, counts: Counter) -> Example:
    words = words_of(document.text)
    spans = on_words(flatten(document.entities, policy, counts), words, policy, counts)
    counts.update({"words": len(words), "tokens": len(characters), "empty documents": int(not characters)})
    counts.update({"entities read": len(document.entities), "entities kept": len(spans)})
    starts, ends = [start for start, _ in words], [end for _, end in words]
    covered = []
    for start, end in characters:
        first = min(bisect_right(ends, start), len(words) - 1)  # a token of white space only goes with the next word
        covered.append((first, max(bisect_left(starts, end), first + 1)))
    return Example(document, words, spans, covered)


def _token_ranges(example: Example, counts: Counter) -> list[tuple[int, int]]:
    """The tokens of each gold entity, first to last (excluded); an entity of which no token is left is counted."""
    firsts, lasts = [first for first, _ in example.covered], [last for _, last in example.covered]
    ranges = [(bisect_right(lasts, start), bisect_left(firsts, end)) for start, end, _ in example.spans]
    counts["entities the tokenizer leaves no token of"] += sum(start >= end for start, end in ranges)
    return [(start, end) for start, end in ranges if start < end]


def _across(entities: list[tuple[int, int]], cut: list[Window]) -> int:
    borders = [window.core_start for window in cut]
    return sum(bisect_right(borders, start) != bisect_left(borders, end) for start, end in entities)


def _sequence(ids: list[int], labels: list[int], document: int, window: Window) -> Sequence:
    before, after = window.core_start - window.start, window.end - window.core_end
    own = labels[window.core_start : window.core_end]
    return Sequence(ids[window.start : window.end], [IGNORED] * before + own + [IGNORED] * after, document, window)


def token_tags(example: Example, counts: Counter) -> list[str]:
    """The gold tag of every token: its first word's, continued (I-) if an earlier token has begun that word."""
    tags, labels, begun = example.tags, [], -1
    for first, last in example.covered:
        tag = tags[first]
        counts["tokens across an entity border"] += tags[first:last] != [tag] + [_continued(tag)] * (last - first - 1)
        labels.append(tag if first > begun else _continued(tag))
        begun = max(begun, last - 1)
    return labels


def word_tags(example: Example, tokens: list[str]) -> list[str]:
    """The tag of every word from those of the tokens; a word of which no token is left is O.

    A token over several words gives its tag to the first and continues it on the others.
    """
    tags, begun = ["O"] * len(example.words), -1
    for (first, last), tag in zip(example.covered, tokens, strict=True):
        for word in range(max(first, begun + 1), last):
            tags[word] = tag if word == first else _continued(tag)
        begun = max(begun, last - 1)
    return tags


def _continued(tag: str) -> str:
    return "I-" + tag[2:] if tag.startswith("B-") else tag


def stitch(split: Split, predicted: list[list[int]], names: list[str]) -> list[list[str]]:
    """Word tags of every document from the label ids of every sequence: each token's from the core it belongs to."""
    tokens: list[list[str]] = [[] for _ in split.examples]
    for sequence, ids in zip(split.sequences, predicted, strict=True):
        window = sequence.window
        own = ids[window.core_start - window.start : window.core_end - window.start]
        tokens[sequence.document] += [names[number] for number in own]
    return [word_tags(example, tags) for example, tags in zip(split.examples, tokens, strict=True)]


def predicted_spans(example: Example, tags: list[str]) -> list[Span]:
    """Predicted entities of a document, in characters of its raw text."""
    return to_characters(spans_of(tags), example.words)


def gold_spans(example: Example) -> list[Span | None]:
    """Every annotated entity of a document in characters; None for a discontinuous one, which no span can equal."""
    return [
        Span(entity.start, entity.end, entity.label) if len(entity.fragments) == 1 else None
        for entity in dict.fromkeys(example.document.entities)
    ]
