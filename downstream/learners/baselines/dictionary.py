"""Entities of the training texts, found again wherever the same words stand: what a model knows by heart."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import ClassVar

from downstream.data.spans import Span
from downstream.learners.baselines.base import Baseline
from downstream.tasks.base import Encoded
from downstream.tasks.ner import Example, NamedEntities

Form = tuple[str, ...]  # words, letters' case apart

# A form is kept if at least this share of its matches in training is right. An answer helps F1 as long as it is right
# more often than F1 / 2, which is 1/2 at most: what is left out could only help a dictionary that is bad without it.
SHARE = 0.5


class Dictionary(Baseline):
    """Matches the longest form first, from left to right; a form of several types has its most frequent one."""

    name = "dictionary"
    settings: ClassVar = {"share": SHARE}

    task: NamedEntities

    def learn(self, train: Encoded, dev: Encoded) -> None:
        """A dictionary for each layer of tags."""
        self.layers = [_kept_forms(train.items, layer) for layer in range(self.task.num_layers)]
        self.num_parameters = sum(map(len, self.layers))  # forms

    def answer(self, encoded: Encoded) -> list[list[list[Span]]]:
        """Spans in words, a list for each layer."""
        words = [_words(example) for example in encoded.items]
        return [[list(matches(own, forms)) for forms in self.layers] for own in words]


def _words(example: Example) -> list[str]:
    return [example.document.text[start:end].casefold() for start, end in example.words]


def _kept_forms(items: list[Example], layer: int) -> dict[Form, str]:
    """Forms with their type. Right and wrong matches are those of a dictionary of all forms, on what it is made from:
    words inside a longer form are no match."""
    types: dict[Form, Counter] = defaultdict(Counter)
    texts = [(_words(example), set(example.layers[layer])) for example in items]
    for words, spans in texts:
        for span in sorted(spans):
            types[tuple(words[span.start : span.end])][span.label] += 1
    forms = {form: counts.most_common(1)[0][0] for form, counts in types.items()}
    matched: Counter = Counter()
    right: Counter = Counter()
    for words, spans in texts:
        for span in matches(words, forms):
            form = tuple(words[span.start : span.end])
            matched[form] += 1
            right[form] += span in spans
    return {form: label for form, label in forms.items() if right[form] and right[form] >= SHARE * matched[form]}


def matches(words: list[str], forms: dict[Form, str]) -> Iterator[Span]:
    """The forms in a text, in words: at each place the longest, then on after it."""
    longest, place = max(map(len, forms), default=0), 0
    while place < len(words):
        lengths = range(min(longest, len(words) - place), 0, -1)
        length = next((size for size in lengths if tuple(words[place : place + size]) in forms), 0)
        if length:
            yield Span(place, place + length, forms[tuple(words[place : place + length])])
        place += length or 1
