"""Named entities: documents to labelled token sequences, predicted tags to entities in the raw text.

Every sub-token of a word is labelled, B- on the first and I- on the rest, so that the saved model gives whole entities
in pipeline("token-classification", aggregation_strategy="simple"). A word's predicted tag is that of its first token.
"""

import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress
from pathlib import Path
from typing import ClassVar

import numpy as np

from alibert_common.errors import InputError
from downstream.data.alignment import deciding_tokens, token_ranges, token_tags, trimmed, word_tags, words_covered
from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.spans import ScoredSpan, Span, layers_of, merged, spans_of, tags_of, to_characters, words_of
from downstream.data.windows import Window, cut_ranks, keep_whole, windows
from downstream.metrics.entities import EVALUATION, scores, span_scores
from downstream.tasks.base import IGNORED, Chief, Encoded, HeadSpec, Piece, Task
from downstream.tasks.ner_recipe import NerRecipe

CONTEXT_SHARE = 8  # context on each side of a cut inside a line: one eighth of a sequence, a sentence or so


@dataclass
class Example:
    """One document with its words, as characters, and its gold in words: a list of flat spans for each layer."""

    document: AnnotatedText
    words: list[tuple[int, int]]
    layers: list[list[Span]]
    patient: str = field(default="", repr=False)

    def tags(self, layer: int = 0) -> list[str]:
        return tags_of(self.layers[layer], len(self.words))


class NamedEntities(Task):
    """Flat tags, in as many layers as the recipe's `nested` needs: one, or one a type."""

    recipe: NerRecipe
    chiefs: ClassVar = {"micro_f1": Chief(("micro", "f1"), "entity_micro_f1")}

    def __init__(self, recipe: NerRecipe):
        super().__init__(recipe)
        self.policy = recipe.policy()
        self.names = label_names(recipe.types)
        self.per_type = recipe.nested == "per_type"
        if self.per_type:
            self.names = tuple(f"{kind}/{tag}" for kind in recipe.types for tag in "OBI")
        self.num_layers = len(recipe.types) if self.per_type else 1  # of flat tags

    @property
    def evaluation(self) -> dict[str, str]:  # type: ignore[override]
        """With the policies."""
        return EVALUATION | asdict(self.policy)

    def read(self, path: Path, format: str, counts: Counter) -> list[Example]:
        """Raises InputError for annotations that cannot be used."""
        return [self.example(document, counts) for document in super().read(path, format, counts)]

    def example(self, document: AnnotatedText, counts: Counter) -> Example:
        """A document with what of its gold can be held."""
        words = words_of(document.text)
        layers = layers_of(document.entities, words, self.policy, self.recipe.types, counts)
        return Example(document, words, layers, document.patient)

    def begin(self, items: list[Example]) -> None:
        """Concatenated labels are those that occur in training."""
        if not any(layer for example in items for layer in example.layers):
            raise InputError(
                f"{self.recipe.task}: no entity to learn from is left of the training split; see the recipe's types, "
                "nested, discontinuous, partial_words."
            )
        if self.recipe.nested == "concatenated":
            self.names = label_names(sorted(set(_labels(items))))

    def head(self) -> HeadSpec:
        """A classifier of the words' tags, or one for each type."""
        return HeadSpec("label_per_token", self.names, self.num_layers)

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """The tags of each layer, in the order of their ids."""
        return [label_names([kind]) for kind in self.recipe.types] if self.per_type else [self.names]

    def encode(self, items: list[Example], tokenizer, frame, training: bool) -> Encoded:
        """Training sequences are cut through no entity that fits in one, others without looking at the gold.

        Notes are, of each item, the words that each of its tokens covers, first to last (excluded).
        """
        sizes = {
            "documents": len(items),
            "empty documents": sum(not example.words for example in items),
            "words": sum(len(example.words) for example in items),
            "entities read": sum(len(example.document.entities) for example in items),
            "entities kept": sum(len(self.entities(example, example.layers)) for example in items),
        }
        split, texts = Encoded(items, [], Counter(sizes)), [example.document.text for example in items]
        encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        size = frame.room(self.recipe.max_tokens)
        for number, example in enumerate(items):
            ids, offsets = encoded["input_ids"][number], encoded["offset_mapping"][number]
            if not example.words:  # byte-level tokenizers make tokens of a blank text, which has no word
                ids, offsets = [], []
            text = example.document.text
            characters = [trimmed(text, start, end) for start, end in offsets]
            covered = words_covered(example.words, characters)
            ranks = cut_ranks(text, characters, [first for first, _ in covered])
            spans = [span for layer in example.layers for span in layer]
            entities = token_ranges(spans, covered, split.counts)
            if training:
                ranks = keep_whole(ranks, entities)
            cut = windows(ranks, size, size // CONTEXT_SHARE, self.recipe.sequence == "line")
            borders = [window.core_start for window in cut]
            split.counts["entities across a sequence border"] += sum(
                bisect_right(borders, start) != bisect_left(borders, end) for start, end in entities
            )
            targets = self._targets(example, covered, split.counts)
            split.pieces += [_piece(ids, targets, number, window, frame) for window in cut]
            split.notes.append(covered)
            split.counts["tokens"] += len(ids)
        split.counts["sequences"] = len(split.pieces)
        return split

    def _targets(self, example: Example, covered: list[tuple[int, int]], counts: Counter) -> list[list[int]]:
        """A row a token, of a label id a layer; IGNORED for a label that training has not."""
        layers = []
        for layer, names in enumerate(self.tags):
            ids = {name: number for number, name in enumerate(names)}
            layers.append([ids.get(tag, IGNORED) for tag in token_tags(example.tags(layer), covered, counts)])
        return [list(row) for row in zip(*layers, strict=True)]

    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[list[list[Span]]]:
        """Spans in words, a list for each layer."""
        answers = []
        for example, covered, rows in zip(encoded.items, encoded.notes, _by_item(encoded, outputs), strict=True):
            layers = [[names[row[at]] for row in rows] for at, names in enumerate(self.tags)]
            answers.append([spans_of(word_tags(len(example.words), covered, tags)) for tags in layers])
        return answers

    def scored(
        self, encoded: Encoded, answers: list, probabilities: Sequence[np.ndarray]
    ) -> Iterator[list[ScoredSpan]]:
        """The entities of each item with their scores; probabilities: of each token's answer, one a layer."""
        tokens_of = _by_item(encoded, probabilities)
        for example, covered, layers, rows in zip(encoded.items, encoded.notes, answers, tokens_of, strict=True):
            tokens = deciding_tokens(len(example.words), covered)
            spans = []
            for span in self.entities(example, layers):
                inside = [span.start <= start and end <= span.end for start, end in example.words]
                layer = self.recipe.types.index(span.label) if self.per_type else 0
                own = [rows[token][layer] for token in compress(tokens, inside) if token is not None]
                spans.append(ScoredSpan.of(span, statistics.fmean(own)))
            yield spans

    def score(self, items: list[Example], answers: list) -> dict:
        """Strict figures of the layers; then against every annotated entity, and what a perfect tagger has there."""
        pairs = list(zip(items, answers, strict=True))
        gold = [example.tags(layer) for example in items for layer in range(self.num_layers)]
        mine = [tags_of(spans, len(example.words)) for example, layers in pairs for spans in layers]
        best = [(example, example.layers) for example in items]
        # Of concatenated labels the rows are those of the gold, so that every seed has the same ones.
        rows = sorted(set(_labels(items))) if self.recipe.nested == "concatenated" else self.recipe.types
        return {
            **scores(gold, mine, rows),
            "every_gold_span": self._against_everything(pairs),
            "ceiling": self._against_everything(best),
        }

    def _against_everything(self, pairs: list[tuple[Example, list]]) -> dict:
        """Micro figures of these layers against all that was annotated, nested and discontinuous entities included."""
        mine = [as_entities(self.entities(*pair)) for pair in pairs]
        return span_scores([gold_entities(example) for example, _ in pairs], mine)

    def entities(self, example: Example, layers: list[list[Span]]) -> list[Span]:
        """Entities in characters of the raw text, in its order."""
        spans = [span for spans in layers for span in spans]
        if self.recipe.nested == "concatenated":
            spans = merged(spans)
        return to_characters(sorted(spans), example.words)

    def sides(self, item: Example, answer: list) -> tuple[list, list]:
        """Spans, each with the layer that it is in."""

        def placed(layers: list[list[Span]]) -> list[tuple]:
            return [(number, *span) for number, layer in enumerate(layers) for span in layer]

        return placed(item.layers), placed(answer)

    def record(self, item: Example, answer: list) -> dict:
        """The raw text; gold (as the policies left it) and predicted entities, offsets into it."""
        text, sides = item.document.text, {}
        for side, layers in (("gold", item.layers), ("predicted", answer)):
            sides[side] = [
                span._asdict() | {"text": text[span.start : span.end]} for span in self.entities(item, layers)
            ]
        return {"id": item.document.id, "text": text, **sides}

    def id_of(self, item: Example) -> str:
        """The document's."""
        return item.document.id

    def unseen(self, items: list[Example]) -> tuple[int, int]:
        """Of concatenated labels; all others are those of the recipe, whether they occur in training or not."""
        if self.recipe.nested != "concatenated":
            return 0, 0
        labels = _labels(items)
        return sum(f"B-{label}" not in self.names for label in labels), len(labels)

    def learned(self, items: list[Example]) -> dict[str, int]:
        """Entities of each type, as the policies leave them."""
        return dict(sorted(Counter(span.label for item in items for span in self.entities(item, item.layers)).items()))

    def is_scored(self, item: Example) -> bool:
        """Where there is no entity, F1 only tells false ones: a split of such documents has 0, whatever is answered."""
        return any(item.layers)

    def texts(self, item: Example) -> Iterable[str]:
        """Its lines."""
        return item.document.text.splitlines()

    def describe(self, items: list[Example]) -> dict[str, int]:
        """Entities of each type, before the policies."""
        return dict(sorted(Counter(entity.label for item in items for entity in item.document.entities).items()))


def label_names(types: Iterable[str]) -> tuple[str, ...]:
    """The label set of a layer, in the order of its ids: O, then B- and I- of each type."""
    return ("O", *(f"{letter}-{kind}" for kind in types for letter in "BI"))


def gold_entities(example: Example) -> list[Entity]:
    """Every annotated entity of a document. White space at an end of one, which an annotator has marked by a slip, is
    no part of it; a discontinuous one, which no span can equal, stays as it is."""
    text = example.document.text
    return [
        Entity(entity.label, (trimmed(text, entity.start, entity.end),)) if len(entity.fragments) == 1 else entity
        for entity in example.document.entities
    ]


def _labels(items: list[Example]) -> list[str]:
    """The label of every gold span."""
    return [span.label for example in items for layer in example.layers for span in layer]


def as_entities(spans: Iterable[Span]) -> list[Entity]:
    """Spans in characters as entities of one fragment."""
    return [Entity(span.label, ((span.start, span.end),)) for span in spans]


def _by_item(encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[list]:
    """The rows of each item's tokens, in their order, without context and special tokens."""
    tokens: list[list] = [[] for _ in encoded.items]
    for piece, rows in zip(encoded.pieces, outputs, strict=True):
        first, last = piece.place
        tokens[piece.item] += rows[first:last].tolist()
    return tokens


def _piece(ids: list[int], targets: list[list[int]], item: int, window: Window, frame) -> Piece:
    """A sequence; its place is where its core stands in it. Context and special tokens are not learned."""
    framed, _ = frame.around(ids[window.start : window.end])
    ignored = [IGNORED] * len(targets[0])
    first = len(frame.prefix) + window.core_start - window.start
    own = targets[window.core_start : window.core_end]
    target = [ignored] * first + own
    return Piece(framed, target + [ignored] * (len(framed) - len(target)), item, (first, first + len(own)))
