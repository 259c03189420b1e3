"""A conditional random field over the words of a sentence and their neighbours: named entities before networks."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pycrfsuite

from downstream.data.spans import Span, spans_of
from downstream.data.word_features import AFFIXES, NEIGHBOURS, features, sentences
from downstream.learners.baselines.base import Baseline
from downstream.tasks.base import Encoded
from downstream.tasks.ner import Example, NamedEntities

# L1 and L2 regularisation; L1 drops most of the features. Of seven pairs from 0 to 1 this is within 0.01 F1 of the best
# on both dev parts of QUAERO.
TRAINING = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}


class Crf(Baseline):
    """One field a layer of tags; a sentence is a line, or the whole document where the recipe packs lines."""

    name = "crf"
    settings: ClassVar = {"affixes": AFFIXES, "neighbours": NEIGHBOURS, **TRAINING}
    libraries: ClassVar = ("python-crfsuite",)

    task: NamedEntities

    def encode(self, items: list[Example], training: bool) -> Encoded:
        """Notes are, of each item, its sentences as ranges of words. Features are made when they are needed: those of
        all words at once would take a hundred times the memory of the texts."""
        split = super().encode(items, training)
        by_line = self.task.recipe.sequence == "line"
        split.notes = [sentences(example.document.text, example.words, by_line) for example in items]
        split.counts["sequences"] = sum(map(len, split.notes))
        return split

    def learn(self, train: Encoded, dev: Encoded) -> None:
        self.models: list[bytes] = []  # files
        self.num_parameters = 0  # weights that are not 0
        for layer in range(self.task.num_layers):
            tags = [example.tags(layer) for example in train.items]
            trainer = pycrfsuite.Trainer("lbfgs", TRAINING, verbose=False)
            for number, begin, end, words in _sentences(train):
                trainer.append(words, tags[number][begin:end])
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "model")
                trainer.train(str(file))
                self.models.append(file.read_bytes())
            if trainer.logparser.last_iteration:  # of one tag alone there is nothing to learn, and it is every answer
                self.num_parameters += trainer.logparser.last_iteration["active_features"]

    def answer(self, encoded: Encoded) -> list[list[list[Span]]]:
        """Spans in words, a list for each layer."""
        taggers = [pycrfsuite.Tagger() for _ in self.models]
        for tagger, model in zip(taggers, self.models, strict=True):
            tagger.open_inmemory(model)  # which reads the bytes wherever they are: they have to outlive it
        tags = [[["O"] * len(example.words) for _ in taggers] for example in encoded.items]
        for number, begin, end, some in _sentences(encoded):
            for layer, tagger in enumerate(taggers):
                tags[number][layer][begin:end] = tagger.tag(some)
        return [list(map(spans_of, layers)) for layers in tags]


def _sentences(encoded: Encoded) -> Iterator[tuple[int, int, int, list[list[str]]]]:
    """(number of its item, first word, last word (excluded), features of each) of every sentence."""
    for number, (example, ranges) in enumerate(zip(encoded.items, encoded.notes, strict=True)):
        words = [example.document.text[start:end] for start, end in example.words]
        for begin, end in ranges:
            yield number, begin, end, features(words[begin:end])
