"""A conditional random field over the words of a sentence and their neighbours: named entities before networks."""

import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pycrfsuite
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import normalize

from alibert_common.errors import InputError
from alibert_common.files import read_text
from downstream.data.spans import Span, spans_of, words_of
from downstream.data.word_features import AFFIXES, NEIGHBOURS, features, sentences
from downstream.learners.baselines.base import Baseline
from downstream.tasks.base import Encoded
from downstream.tasks.ner import Example, NamedEntities
from downstream.training import models
from downstream.training.tokenizer import load_tokenizer

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

    Vectors are skip-grams of a text file, or else of the training texts (Turian et al. 2010; Guo et al. 2014); or means
    of the input embeddings of an encoder. Raises InputError for both a text and an encoder.
    """

    name = "crf_clusters"
    settings: ClassVar = {**Crf.settings, "clusters": CLUSTERS, "vectors": VECTORS}
    libraries = ("python-crfsuite", "gensim", "scikit-learn")

    def __init__(self, task: NamedEntities, text: Path | None = None, model: Path | None = None):
        super().__init__(task)
        if text and model:
            raise InputError("--vectors-text and --vectors-model both give the vectors of words; leave one out.")
        self.lines = read_text(text).splitlines() if text else None
        digest = hashlib.sha256("\n".join(self.lines or []).encode()).hexdigest()
        self.conditions["vectors"] = VECTORS | {"text": text and {"name": text.name, "sha256": digest}}
        self.look_up: Callable[[str], list[str]] = EmbeddingClusters(model) if model else lambda word: []
        self.learns_vectors, self.learned_from = model is None, list[str]()
        if model:
            self.conditions["vectors"] = {"model": model.resolve().name, "sha256": models.fingerprint(model)}

    def learn(self, train: Encoded, dev: Encoded) -> None:
        lines = self.lines
        if lines is None:
            lines = [line for example in train.items for line in example.document.text.splitlines()]
        if self.learns_vectors and lines != self.learned_from:
            clusters, self.learned_from = clusters_of(lines), lines
            self.look_up = lambda word: clusters.get(word, [])
        super().learn(train, dev)

    def features(self, words: list[str]) -> list[list[str]]:
        """With the clusters of each word and of its neighbours."""
        own = [self.look_up(word.lower()) for word in words]
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

    words = [[sys.intern(line[start:end].lower()) for start, end in words_of(line)] for line in lines]
    try:
        vectors = Word2Vec(sentences=words, workers=1, **VECTORS).wv  # several workers would race
    except RuntimeError:  # gensim's way to say that no word is left
        raise InputError("the text that word vectors are learned from repeats no word; give more of it.") from None
    table = vectors.get_normed_vectors()
    found: dict[str, list[str]] = {word: [] for word in vectors.index_to_key}
    for number in numbers:
        if number < len(table):
            kinds = kmeans(number).fit_predict(table)
            for word, kind in zip(vectors.index_to_key, kinds, strict=True):
                found[word].append(f"{number} cluster={kind}")
    return found


def kmeans(number: int):
    """Of so many clusters."""
    return MiniBatchKMeans(number, random_state=1, n_init=1, batch_size=4096)


class EmbeddingClusters:
    """Clusters of the subwords' input embeddings. A word is the mean of its subwords, so each word has clusters."""

    def __init__(self, folder: Path, numbers: tuple[int, ...] = CLUSTERS):
        """Raises InputError for a folder that is no pretrained encoder."""
        self.tokenizer, encoder = load_tokenizer(folder), models.load_encoder(folder, random_init=False)
        self.known: dict[str, list[str]] = {}
        self.table = normalize(encoder.get_input_embeddings().weight.detach().numpy())
        self.clusters = {number: kmeans(number).fit(self.table) for number in numbers if number < len(self.table)}

    def __call__(self, word: str) -> list[str]:
        """Features of a word."""
        if word not in self.known:
            ids = self.tokenizer(word, add_special_tokens=False)["input_ids"]
            mean = normalize(self.table[ids].mean(0, keepdims=True)) if ids else self.table[:0]
            kinds = {number: found.predict(mean) for number, found in self.clusters.items() if ids}
            self.known[word] = [f"{number} cluster={kind[0]}" for number, kind in kinds.items()]
        return self.known[word]
