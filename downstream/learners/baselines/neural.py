"""A convolutional and a recurrent network over fastText vectors (003, Table 6)."""

import hashlib
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import torch
from torch import nn

from alibert_common.errors import InputError
from alibert_common.files import read_text
from downstream.learners.baselines.base import conditions_of
from downstream.learners.baselines.word_vectors import SETTINGS, Vectors, WordIds
from downstream.learners.networks import Convolutions, Recurrence
from downstream.learners.trained import Trained
from downstream.tasks.base import Encoded, Task
from downstream.training.epochs import Epoch, Watch
from downstream.training.heads import Head
from downstream.training.loop import Machine
from downstream.training.protocol import Protocol
from downstream.training.tokenizer import Frame

# One edge before a text, and one after the second of two, so that none is empty.
FRAME = Frame([WordIds.EDGE], [], WordIds.PADDING, 1_000_000, ([WordIds.EDGE], [], [WordIds.EDGE]), True)


class OverWords(Trained):
    """Vectors are learned once, from a text file or else from the training texts, and stay as they are.

    name: on the command line and in tables.
    """

    name: ClassVar[str]
    frame = FRAME

    def __init__(self, task: Task, protocol: Protocol, machine: Machine, text: Path | None = None):
        """Raises InputError for a text that cannot be used, and for rates that the parts of an encoder have."""
        if protocol.layer_decay != 1 or protocol.head_learning_rate is not None or protocol.replaced_words:
            raise InputError(
                f"layer_decay, head_learning_rate, replaced_words: {self.name} has no layers of an encoder; leave them "
                "out, or take a protocol without them, as vectors."
            )
        self.task, self.protocol, self.machine = task, protocol, machine
        self.tokenizer = WordIds()
        self.lines = read_text(text).splitlines() if text else None
        self.known: dict[str, Vectors] = {}  # by what they were learned from; some 40 MB each, of each fold one
        self.conditions = {
            **conditions_of(self.name, protocol.recorded(), ("gensim",)),
            "vectors": SETTINGS | {"text": text and {"name": text.name, "sha256": _digest(self.lines or [])}},
            "max_tokens": task.recipe.max_tokens,
            "precision": machine.precision,
            "device": machine.device.type,
        }

    @abstractmethod
    def network(self, vectors: torch.Tensor, head: Head, pairs: bool) -> nn.Module:
        """Before training."""

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch | None = None) -> list[Epoch]:
        """As all that are trained; it reads pairs where training has one."""
        self.pairs = any(piece.types for piece in train.pieces)
        curve = super().fit(self._paired(train), dev, seed, watch)
        own = sum(weight.numel() for weight in self.model.parameters() if weight.requires_grad)
        self.num_parameters = own + self.vectors.num_parameters  # vectors of words met later left out
        return curve

    def _paired(self, encoded: Encoded) -> Encoded:
        """Where it reads pairs, a text without a second (a question without snippets) is one beside an empty text."""
        if not self.pairs:
            return encoded
        end = self.frame.pair[2]
        pieces = [
            piece if piece.types else replace(piece, ids=piece.ids + end, types=[0] * len(piece.ids) + [1] * len(end))
            for piece in encoded.pieces
        ]
        return replace(encoded, pieces=pieces)

    def built(self, head: Head, train: Encoded) -> nn.Module:
        """Vectors first, which draw from their own seed."""
        lines = self.lines
        if lines is None:
            lines = [line for item in train.items for text in self.task.texts(item) for line in text.splitlines()]
        digest = _digest(lines)
        if digest not in self.known:
            self.known[digest] = Vectors(lines)
        self.vectors = self.known[digest]
        return self.network(torch.from_numpy(self.vectors.rows(self.tokenizer)), head, self.pairs)

    def answer(self, encoded: Encoded) -> list:
        """WordIds that were met since training have vectors, too."""
        if len(self.tokenizer) > self.model.words.num_embeddings:
            rows = torch.from_numpy(self.vectors.rows(self.tokenizer)).to(self.machine.device)
            self.model.words = nn.Embedding.from_pretrained(rows, freeze=True, padding_idx=WordIds.PADDING)
        return super().answer(self._paired(encoded))


class Cnn(OverWords):
    """Kim's convolutions."""

    name = "cnn"

    def network(self, vectors: torch.Tensor, head: Head, pairs: bool) -> nn.Module:
        return Convolutions(vectors, len(head.names), pairs, self.protocol.dropout or 0.0)


class Rnn(OverWords):
    """A bidirectional LSTM, which also tags words."""

    name = "rnn"

    def network(self, vectors: torch.Tensor, head: Head, pairs: bool) -> nn.Module:
        return Recurrence(vectors, len(head.names), pairs, self.protocol.dropout or 0.0, head.per_token)


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
