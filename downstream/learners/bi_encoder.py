"""The bi-encoder: it reads question and candidate apart, and the cosine of their vectors ranks. The stronger form for
rankings.

A plain head reads each pair together. Here a text is read once, and all questions of a batch teach each other: the
candidates of the others are wrong ones (Karpukhin et al. 2020). A vector is the mean of
the last hidden states (Reimers and Gurevych 2019).
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from alibert_common.errors import InputError
from downstream.learners.encoder import Encoder, Start
from downstream.learners.text_vectors import HIDDEN, cosines_of
from downstream.tasks.base import Encoded, Piece
from downstream.tasks.candidates import Ranking
from downstream.training import models
from downstream.training.heads import Head
from downstream.training.loop import Machine
from downstream.training.protocol import Protocol

TEMPERATURE = 0.05  # of the cosines in the loss (SimCSE, Gao et al. 2021)


class Candidate(NamedTuple):
    """The right candidate of a piece: its ids, and the numbers of the question's text and of its own."""

    ids: list[int]
    texts: tuple[int, int]

    @staticmethod
    def together(rows: "list[Candidate]", width: int, device: torch.device) -> "Candidates":
        """Those of a batch, padded to the longest of them."""
        parts = [torch.tensor(row.ids) for row in rows]
        ids = nn.utils.rnn.pad_sequence(parts, batch_first=True)
        real = nn.utils.rnn.pad_sequence([torch.ones_like(part) for part in parts], batch_first=True)
        return Candidates(ids.to(device), real.to(device), torch.tensor([row.texts for row in rows]).to(device))


class Candidates(NamedTuple):
    """ids, real: (B, T) padded with 0, and which of them are no padding. texts: (B, 2)."""

    ids: Tensor
    real: Tensor
    texts: Tensor


class Cosines(NamedTuple):
    """values: (B, B), each question with each candidate. texts: (B, 2)."""

    values: Tensor
    texts: Tensor

    def loss(self) -> Tensor:
        """Cross-entropy of each question's own candidate, and of each candidate's own question."""
        first, second = self.texts.T
        # A text that occurs twice is not a wrong one.
        same = (first == first[:, None]) | (second == second[:, None]) | (first[:, None] == second)
        same &= ~torch.eye(len(same), dtype=torch.bool, device=same.device)
        scores = (self.values.float() / TEMPERATURE).masked_fill(same, -torch.inf)
        own = torch.arange(len(scores), device=scores.device)
        return (functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)) / 2


class BiEncoderNetwork(nn.Module):
    """An encoder that reads both texts with the same weights."""

    base_model_prefix = "encoder"

    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.config = encoder, encoder.config

    def forward(self, input_ids: Tensor, attention_mask: Tensor, beside: Candidates, **types: Tensor) -> Cosines:
        """input_ids: (B, T) of the questions."""
        first, second = self._vectors(input_ids, attention_mask, **types), self._vectors(beside.ids, beside.real)
        with torch.autocast(input_ids.device.type, enabled=False):  # bfloat16 has steps of 0.004 near 1
            return Cosines(first @ second.T, beside.texts)

    def _vectors(self, ids: Tensor, real: Tensor, **types: Tensor) -> Tensor:
        """(B, C), of length 1."""
        states = self.encoder(input_ids=ids, attention_mask=real, **types).last_hidden_state.float()
        return functional.normalize((states * real.unsqueeze(-1)).sum(1), dim=-1)  # a mean has the same direction


class BiEncoder(Encoder):
    """It learns from right candidates alone: the wrong ones of the data are not read in training."""

    task: Ranking
    form = "bi-encoder"

    def __init__(self, task: Ranking, start: Start, protocol: Protocol, machine: Machine):
        super().__init__(task, start, protocol, machine)
        if protocol.batch < 2:
            raise InputError("batch is 1; --form bi-encoder compares the questions of a batch: give 2 or more.")

    def encode(self, items: list, training: bool) -> Encoded:
        """For training, it makes a piece for each right candidate, and reads the first window of a long text.

        Otherwise it makes a piece for each candidate, without ids: `answer` reads each text once.
        """
        split = Encoded(items, [], Counter())
        numbers: dict[tuple[int, ...], int] = {}
        for number, item in enumerate(items):
            for place, (pair, [target]) in enumerate(zip(self.task.pairs(item), self.task.targets(item), strict=True)):
                split.counts["empty texts"] += "" in pair
                piece = Piece([], [target], number, place)
                if training and target:
                    piece.ids, ids = (self._window(text, split.counts) for text in pair)
                    first, second = (numbers.setdefault(tuple(one), len(numbers)) for one in (piece.ids, ids))
                    piece.beside = Candidate(ids, (first, second))
                    split.counts["tokens"] += piece.num_tokens
                if target or not training:
                    split.pieces.append(piece)
        split.counts["sequences"] = len(split.pieces)
        return split

    def _window(self, text: str | None, counts: Counter) -> list[int]:
        """The first window of a text. A text that is longer is counted."""
        ids = self.tokenizer(text or "", add_special_tokens=False, verbose=False)["input_ids"]
        room = self.frame.room(self.conditions["max_tokens"])
        counts["texts cut in training"] += len(ids) > room
        return self.frame.around(ids[:room])[0]

    def built(self, head: Head, train: Encoded) -> nn.Module:
        """There is no head: every weight is the encoder's. Raises InputError for a single right candidate."""
        if len(train.pieces) < 2:
            raise InputError(f"{self.task.recipe.task}: one right candidate; --form bi-encoder needs two or more.")
        return BiEncoderNetwork(models.load_encoder(self.start.folder, self.start.random, self.protocol.dropout))

    def head(self) -> Head:
        """The loss needs no targets: a piece is a right candidate."""
        return super().head()._replace(loss=lambda output, targets: output.loss())

    def answer(self, encoded: Encoded) -> list:
        """Cosines of the encoder as it is now."""
        pairs = self.task.all_pairs(encoded)
        learned = self.learned._replace(model=self.model.encoder, head=HIDDEN)
        rows = cosines_of(pairs, self.tokenizer, self.frame, self.conditions["max_tokens"], learned)
        return self.task.decode(encoded, list(rows))

    def save(self, target: Path, notes: dict) -> None:
        """A folder of the encoder alone, which AutoModel loads."""
        models.save_model(self.model.encoder, self.start.folder, target, notes)
