"""A conditional random field over the words of a sentence and their neighbours: named entities before networks."""

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pycrfsuite

from alibert_common.errors import InputError
from alibert_common.files import read_text
from downstream.data.spans import Span, spans_of, words_of
from downstream.data.word_features import AFFIXES, NEIGHBOURS, features, sentences
from downstream.learners.baselines.base import Baseline
from downstream.tasks.base import Encoded
from downstream.tasks.ner import Example, NamedEntities

# L1 and L2 regularisation; L1 drops most of the features. Of seven pairs from 0 to 1 this is within 0.01 F1 of the best
# on both dev parts of QUAERO.
TRAINING = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}
CLUSTERS = (64, 256, 1024)  # kinds of words, coarse to fine
VECTORS = {"sg": 1, "vector_size": 64, "window": 5, "negative": 5, "min_count": 3, "epochs": 3, "seed": 1}


class Crf(Baseline):
    """One field a layer of tags; a sentence is a line, or the whole document where the recipe packs lines."""

    name = "crf"
    settings: ClassVar = {"affixes": AFFIXES, "neighbours": NEIGHBOURS, **TRAINING}
    libraries: ClassVar[tuple[str, ...]] = ("python-crfsuite",)

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
            for number, begin, end, words in self._sentences(train):
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
        for number, begin, end, some in self._sentences(encoded):
            for layer, tagger in enumerate(taggers):
                tags[number][layer][begin:end] = tagger.tag(some)
        return [list(map(spans_of, layers)) for layers in tags]

    def _sentences(self, encoded: Encoded) -> Iterator[tuple[int, int, int, list[list[str]]]]:
        """(number of its item, first word, last word (excluded), features of each) of every sentence."""
        for number, (example, ranges) in enumerate(zip(encoded.items, encoded.notes, strict=True)):
            words = [example.document.text[start:end] for start, end in example.words]
            for begin, end in ranges:
                yield number, begin, end, self.features(words[begin:end])

    def features(self, words: list[str]) -> list[list[str]]:
        """Of each word of a sentence."""
        return features(words)


class ClusteredCrf(Crf):
    """A word is also known by clusters of word vectors, coarse and fine, so that a new name resembles old ones.

    Vectors are skip-grams of a text file, or else of the training texts (Turian et al. 2010; Guo et al. 2014).
    """

    name = "crf_clusters"
    settings: ClassVar = {**Crf.settings, "clusters": CLUSTERS, "vectors": VECTORS}
    libraries = ("python-crfsuite", "gensim", "scikit-learn")

    def __init__(self, task: NamedEntities, text: Path | None = None):
        super().__init__(task)
        self.lines = read_text(text).splitlines() if text else None
        digest = hashlib.sha256("\n".join(self.lines or []).encode()).hexdigest()
        self.conditions["vectors"] = VECTORS | {"text": text and {"name": text.name, "sha256": digest}}
        self.clusters: dict[str, list[str]] = {}
        self.learned_from: list[str] | None = None

    def learn(self, train: Encoded, dev: Encoded) -> None:
        lines = self.lines
        if lines is None:
            lines = [line for example in train.items for line in example.document.text.splitlines()]
        if lines != self.learned_from:
            self.clusters, self.learned_from = clusters_of(lines), lines
        super().learn(train, dev)

    def features(self, words: list[str]) -> list[list[str]]:
        """With the clusters of each word and of its neighbours."""
        own = [self.clusters.get(word.lower(), []) for word in words]
        rows = super().features(words)
        for place, row in enumerate(rows):
            row += own[place]
            for step in NEIGHBOURS:
                if 0 <= place + step < len(words):
                    row += [f"{step:+d} {name}" for name in own[place + step]]
        return rows


def clusters_of(lines: list[str], numbers: tuple[int, ...] = CLUSTERS) -> dict[str, list[str]]:
    """Features of each word, in lower case. Raises InputError for a text that has too few words."""
    from gensim.models import Word2Vec  # here: it takes seconds, and only this baseline needs it
    from sklearn.cluster import MiniBatchKMeans

    words = [[sys.intern(line[start:end].lower()) for start, end in words_of(line)] for line in lines]
    try:
        vectors = Word2Vec(sentences=words, workers=1, **VECTORS).wv  # several workers would race
    except RuntimeError:  # gensim's way to say that no word is left
        raise InputError("the text that word vectors are learned from repeats no word; give more of it.") from None
    table = vectors.get_normed_vectors()
    found: dict[str, list[str]] = {word: [] for word in vectors.index_to_key}
    for number in numbers:
        if number < len(table):
            kinds = MiniBatchKMeans(number, random_state=1, n_init=1, batch_size=4096).fit_predict(table)
            for word, kind in zip(vectors.index_to_key, kinds, strict=True):
                found[word].append(f"{number} cluster={kind}")
    return found
