"""The tagger: an encoder that reads words as well as subwords, for named entities. The stronger of the two forms.

The plain head (learners/encoder.py) is a folder that every pipeline of transformers loads. This one is more exact, and
is used through `downstream.tag.Tagger`, which spaCy and edsnlp can call. docs/downstream/tagger.md shows both.
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from downstream.data.alignment import deciding_tokens
from downstream.data.word_features import CHARACTERS, characters, hashed_features, how_often, sentences
from downstream.learners.encoder import Encoder
from downstream.learners.form_folder import load_form, save_form
from downstream.learners.tagger_decoding import decide
from downstream.learners.tagger_network import Disturbance, TaggerNetwork, WordBatch
from downstream.tasks.base import Encoded, HeadSpec, Piece
from downstream.tasks.ner import Example, NamedEntities
from downstream.training import models
from downstream.training.epochs import Epoch, Watch
from downstream.training.heads import Head, head_of
from downstream.training.loop import Learned, predict
from downstream.training.tokenizer import pieces_by_place

WEIGHTS = models.FORM_WEIGHTS["tagger"]
# The decision is chosen on dev from these. Shares of a word's scores that are the mean over its document: a leaflet
# repeats a name in one sense, an oncologist's report does not. What O loses: entities are few, so the likeliest tags
# find too few of them (Minkov et al. 2006).
SHARES, OUTSIDE = (0.8, 0.5, 0.0), (0.25, 0.5, 0.75, 1.0, 1.5)


class Words(NamedTuple):
    """The words of a piece: the tokens of each, first to last (excluded), (w,); characters (w, 20); features (w, F).

    continues: (1,), whether its first word stands in the line of the piece before.
    """

    first: np.ndarray
    last: np.ndarray
    characters: np.ndarray
    features: np.ndarray
    continues: np.ndarray

    @staticmethod
    def together(rows: "list[Words]", width: int, device: torch.device) -> WordBatch:
        """Of a batch of pieces, padded to a width in tokens. Numbers are kept in few bytes, and torch needs int64."""
        offsets = np.repeat(np.arange(len(rows)) * width, [len(row.first) for row in rows])
        first, last, signs, features, continues = (np.concatenate(part) for part in zip(*rows, strict=True))
        parts = first + offsets, last + offsets, signs.astype(np.int64), features.astype(np.int64), continues
        return WordBatch(*(torch.from_numpy(part).to(device) for part in parts))


class TaggerLearner(Encoder):
    """Named entities by the network of tagger_network.py."""

    task: NamedEntities
    form = "tagger"

    def encode(self, items: list[Example], training: bool) -> Encoded:
        """As for the plain head; and each piece has its words, those that begin in its core."""
        encoded = super().encode(items, training)
        add_words(encoded, self.task.recipe.sequence == "line")
        if training:
            encoded.pieces = [piece for piece in encoded.pieces if len(piece.beside.first)]
        return encoded

    def built(self, head: Head, train: Encoded) -> torch.nn.Module:
        """The parts above the encoder are drawn; features are those of the training words."""
        features = np.concatenate([piece.beside.features.ravel() for piece in train.pieces])
        known = torch.from_numpy(np.unique(features[features > 0]).astype(np.int64))
        encoder = models.load_encoder(self.start.folder, self.start.random, self.protocol.dropout)
        disturbance = disturbance_of(self.tokenizer, encoder.config.vocab_size, self.protocol.replaced_words)
        return TaggerNetwork(encoder, self.task.head(), known, disturbance)

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch | None = None) -> list[Epoch]:
        """As all that are trained. Then the decision is chosen on the whole of dev."""
        curve = super().fit(train, dev, seed, watch)
        self._choose(dev, OUTSIDE)
        return curve

    def on_dev(self, dev: Encoded) -> float:
        """With the best share of the document."""
        return self._choose(dev, ())

    def _choose(self, dev: Encoded, outside: tuple[float, ...]) -> float:
        """Choose the share of the document, then how much O loses. Returns the figure that they have."""
        scores = predict(self.learned, dev.pieces)
        loss = np.zeros(self.model.crf.begins.shape[-1], dtype=np.float32)

        def figure(share: float, less: float) -> float:
            loss[0] = less
            [tags] = tags_of(self.model, dev.pieces, [rows - loss for rows in scores], share)
            return self.task.chosen(self.task.score(dev.items, self.task.decode(dev, tags)))

        tried = {(share, 0.0): figure(share, 0.0) for share in SHARES}
        share, _ = max(tried, key=tried.__getitem__)
        tried |= {(share, less): figure(share, less) for less in outside}
        share, less = best = max(tried, key=tried.__getitem__)
        self.model.document_share.fill_(share)
        with torch.no_grad():
            self.model.out.bias.view(self.model.num_layers, -1)[:, 0] -= less
        figures = {f"share {share:g}, outside -{less:g}": found for (share, less), found in tried.items()}
        self.selected = {"document_share": share, "outside": -less, "tried": figures}
        return tried[best]

    def head(self) -> Head:
        return tagger_head(self.task.head())

    def answer(self, encoded: Encoded) -> list:
        """By the model as it is now."""
        [tags] = decided(self.learned, encoded)
        return self.task.decode(encoded, tags)

    def save(self, target: Path, notes: dict) -> None:
        """A folder with the encoder, its tokenizer and tagger.safetensors."""
        save_form(self.model, self.start.folder, target, notes, WEIGHTS)


def tagger_head(spec: HeadSpec) -> Head:
    """What `fit` and `predict` do with the output of the network."""
    return head_of(spec)._replace(
        loss=lambda output, targets: output.loss(targets), read=lambda output: output.logits.float()
    )


def decided(learned: Learned, encoded: Encoded, probabilities: bool = False) -> list[list[np.ndarray]]:
    """The tags of each piece's tokens, as the task decodes them; and, if asked for, how likely each is."""
    model, pieces = learned.model, encoded.pieces
    assert isinstance(model, TaggerNetwork)
    return tags_of(model, pieces, predict(learned, pieces), float(model.document_share), probabilities)


def tags_of(
    model: TaggerNetwork, pieces: list[Piece], scores: list[np.ndarray], share: float, probabilities: bool = False
) -> list[list[np.ndarray]]:
    """The same from the scores of words. share: see `in_documents`."""
    found = decide(model.crf, pieces, scores, share, probabilities)
    tags = [rows[..., 0].astype(int) for rows in found]
    open_after_cuts(pieces, tags)
    return [tags, [rows[..., 1] for rows in found]] if probabilities else [tags]


def disturbance_of(tokenizer, vocabulary: int, replaced: float) -> Disturbance:
    """With the subwords of the whole vocabulary: those of a few documents would be known after an epoch."""
    known = ([n for n in ids.values() if n < vocabulary] for ids in pieces_by_place(tokenizer))
    first, later = (torch.tensor(sorted(ids) or [0]) for ids in known)
    return Disturbance(first, later, tokenizer.mask_token_id, replaced)


def load_tagger(folder: Path, task: NamedEntities, config) -> tuple[TaggerNetwork, Head]:
    """A tagger that was saved, and its head. Raises InputError for a damaged folder."""
    network = load_form(folder, WEIGHTS, config, lambda encoder, own: TaggerNetwork(encoder, task.head(), own["known"]))
    return network, tagger_head(task.head())


def add_words(encoded: Encoded, by_line: bool) -> None:
    """Give each piece the words that begin in its core. by_line: whether a line is a sentence."""
    looks = [_looks(item, by_line) for item in encoded.items]
    deciding = [_tokens_of(item, covered) for item, covered in zip(encoded.items, encoded.notes, strict=True)]
    done: Counter = Counter()
    for piece in encoded.pieces:
        (first, last), begin = piece.place, done[piece.item]
        end = begin + last - first
        done[piece.item] = end
        words, tokens, ends = deciding[piece.item]
        some = slice(*np.searchsorted(tokens, [begin, end]))
        signs, features = (look[words[some]] for look in looks[piece.item])
        continues = np.array([some.start > 0 and _inside_a_line(encoded.items[piece.item], words[some])])
        starts, stops = tokens[some] - begin + first, np.minimum(ends[some], end) - begin + first
        piece.beside = Words(starts, stops, signs, features, continues)


def _inside_a_line(item: Example, words: np.ndarray) -> bool:
    """Whether another word stands before the first of these in its line."""
    if not len(words) or words[0] == 0:
        return False
    (_, before), (start, _) = item.words[words[0] - 1], item.words[words[0]]
    return "\n" not in item.document.text[before:start]


def open_after_cuts(pieces: list[Piece], tags: list[np.ndarray]) -> None:
    """Make a B- of an I- that continues no entity of the piece before. tags: of each piece's tokens, one a layer; an
    I- has the number after its B-."""
    before = np.array(0)  # the tag of the word before
    for piece, rows in zip(pieces, tags, strict=True):
        if not len(piece.beside.first):
            continue
        first, last = piece.beside.first[[0, -1]]
        tag = rows[first]
        inside = (tag > 0) & (tag % 2 == 0)
        rows[first] -= piece.beside.continues[0] & inside & (before != tag) & (before != tag - 1)
        before = rows[last]


def _looks(item: Example, by_line: bool) -> tuple[np.ndarray, np.ndarray]:
    """(words, 20) characters and (words, F) features, whose neighbours are of the same sentence."""
    words = [item.document.text[start:end] for start, end in item.words]
    rows = [hashed_features(words[first:last]) for first, last in sentences(item.document.text, item.words, by_line)]
    signs = np.array([characters(word) for word in words], dtype=np.int16).reshape(-1, CHARACTERS)
    return signs, np.column_stack([np.concatenate([hashed_features([]), *rows]), how_often(words)])


def _tokens_of(item: Example, covered: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words that have a token of their own to decide, that token, and the one behind their last."""
    last = {word: token for token, (first, end) in enumerate(covered) for word in range(first, end)}
    found = [
        (word, token, last[word] + 1)
        for word, token in enumerate(deciding_tokens(len(item.words), covered))
        if token is not None and covered[token][0] == word
    ]
    words, tokens, ends = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return words, tokens, ends
