"""Label attention: each label has a mean of the text of its own, weighed by an attention that is learned (Mullenbach et
al. 2018). Beside it stands a logistic regression over TF-IDF of subwords. The stronger form for labels of texts.

A plain head reads one vector a text. From some hundred texts it learns late which words speak for which label. A
linear model learns that at once.

Shapes: B = texts or windows of them, T = their tokens, C = the encoder's width, V = its vocabulary, L = labels.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional

from downstream.learners.encoder import Encoder
from downstream.learners.form_folder import load_form, save_form
from downstream.tasks.base import Encoded, Piece
from downstream.tasks.classification import TextClassification
from downstream.training import models
from downstream.training.epochs import Epoch, Watch, unwatched
from downstream.training.heads import Head
from downstream.training.loop import predict

WEIGHTS = models.FORM_WEIGHTS["label-attention"]
# Chosen on dev. Shares of the regression in the logits: 1 would leave the encoder out. Borders: a label of several is
# given above this logit.
SHARES, BORDERS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9), tuple(np.arange(-12, 13) / 8)
STRENGTH, ITERATIONS = (
    10.0,
    1000,
)  # C of the regression; 3 to 30 are alike on MORFITT's dev set (docs/results/speedrun.md)
MASKED, DROPOUT = 0.15, 0.2  # shares of the tokens that the encoder does not see in training, and of a text's vectors
TOGETHER = 256  # pieces whose counts of subwords are in memory together


class Parts(NamedTuple):
    """logits: (B, 2, L) of the attention and of the regression. weights: (L,) of a 1 against a 0 in the loss."""

    logits: Tensor
    weights: Tensor

    def loss(self, targets: Tensor) -> Tensor:
        """Of the attention: the regression is fitted. targets: (B,) ids, or (B, L) 0 and 1."""
        logits = self.logits[:, 0].float()
        if targets.dim() == 1:
            return functional.cross_entropy(logits, targets)
        return functional.binary_cross_entropy_with_logits(logits, targets, pos_weight=self.weights)


class LabelAttention(nn.Module):
    """hidden: ids that are no words. They have no weight in the regression, and are not masked. mask: the mask's id."""

    base_model_prefix = "encoder"
    idf: Tensor
    weights: Tensor
    share: Tensor
    border: Tensor

    def __init__(self, encoder, num_labels: int, hidden: list[int] | None = None, mask: int | None = None):
        super().__init__()
        self.encoder, self.config = encoder, encoder.config
        self.hidden, self.mask = torch.tensor(hidden or []), mask
        width, vocabulary = encoder.config.hidden_size, encoder.config.vocab_size
        self.queries = nn.Linear(width, num_labels, bias=False)
        self.out = nn.Linear(width, num_labels)
        self.terms = nn.Linear(vocabulary, num_labels).requires_grad_(False)
        nn.init.normal_(self.queries.weight, std=0.02)
        nn.init.zeros_(self.out.weight), nn.init.zeros_(self.out.bias)
        self.register_buffer("idf", torch.zeros(vocabulary))
        self.register_buffer("weights", torch.ones(num_labels))
        self.register_buffer("share", torch.tensor(0.0))
        self.register_buffer("border", torch.tensor(0.0))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **types: Tensor) -> Parts:
        """(B, T) ids to the logits of both parts."""
        seen = self._masked(input_ids) if self.training else input_ids
        states = self.encoder(input_ids=seen, attention_mask=attention_mask, **types).last_hidden_state
        scores = self.queries(states).float().masked_fill(attention_mask.unsqueeze(-1) == 0, -torch.inf)
        vectors = scores.softmax(1).transpose(1, 2) @ states.float()  # (B, L, C)
        vectors = functional.dropout(vectors, DROPOUT, self.training)
        found = (vectors * self.out.weight).sum(-1) + self.out.bias
        with torch.autocast(input_ids.device.type, enabled=False):
            counted = self.terms(self.tf_idf(input_ids, attention_mask))
        return Parts(torch.stack([found, counted], 1), self.weights)

    def _masked(self, input_ids: Tensor) -> Tensor:
        if self.mask is None:
            return input_ids
        drawn = torch.rand(input_ids.shape, device=input_ids.device) < MASKED
        return input_ids.masked_fill(drawn & ~torch.isin(input_ids, self.hidden.to(input_ids.device)), self.mask)

    def tf_idf(self, input_ids: Tensor, real: Tensor) -> Tensor:
        """(B, V) rows of length 1 (or 0): 1 + log of a subword's count, times its weight."""
        counts = torch.zeros(len(input_ids), len(self.idf), device=input_ids.device)
        counts.scatter_add_(1, input_ids, real.float())
        return functional.normalize(torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0) * self.idf, dim=1)

    @torch.no_grad()
    def fit_terms(self, pieces: list[Piece], targets: np.ndarray) -> None:
        """Fit the regression. targets: (pieces,) ids, or (pieces, L) 0 and 1. It draws nothing."""
        counts = torch.zeros(len(self.idf))
        for piece in pieces:
            counts[list(set(piece.ids))] += 1
        self.idf.copy_(torch.where(counts > 0, ((1 + len(pieces)) / (1 + counts)).log() + 1, 0))  # scikit-learn's
        self.idf[self.hidden] = 0
        rows = [self._row(pieces[start : start + TOGETHER]) for start in range(0, len(pieces), TOGETHER)]
        features, several = sparse.vstack(rows, format="csr"), targets.ndim == 2
        # For two labels scikit-learn fits one difference: here each label has its own weights.
        columns = targets.T if several else (targets == np.arange(len(self.weights))[:, None])
        for number, column in enumerate(columns.astype(int)):
            weights, bias = _regression(features, column)
            self.terms.weight[number], self.terms.bias[number] = torch.from_numpy(weights), bias

    def _row(self, pieces: list[Piece]) -> sparse.csr_matrix:
        rows = [torch.tensor(piece.ids) for piece in pieces]
        real = nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        return sparse.csr_matrix(self.tf_idf(nn.utils.rnn.pad_sequence(rows, batch_first=True), real).numpy())

    def joined(self, rows: np.ndarray) -> np.ndarray:
        """(2, L) logits of a text to (L,), above 0 where a label of several is given."""
        share = float(self.share)
        return (1 - share) * rows[0] + share * rows[1] - float(self.border)


def _regression(features: sparse.csr_matrix, column: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias. A label that every text has, or none, has no weights."""
    share = column.mean()
    if share in (0, 1):
        return np.zeros(features.shape[1]), 4.0 * (2 * share - 1)
    fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=ITERATIONS).fit(features, column)
    return fitted.coef_[0], float(fitted.intercept_[0])


class LabelAttentionLearner(Encoder):
    """Labels of texts by this network."""

    task: TextClassification
    form = "label-attention"

    def built(self, head: Head, train: Encoded) -> nn.Module:
        """The parts above the encoder are drawn; the regression is fitted."""
        encoder = models.load_encoder(self.start.folder, self.start.random, self.protocol.dropout)
        tokenizer = self.tokenizer
        network = LabelAttention(encoder, len(head.names), tokenizer.all_special_ids, tokenizer.mask_token_id)
        targets = np.array([piece.target for piece in train.pieces])
        network.fit_terms(train.pieces, targets)
        if targets.ndim == 2:
            shares = targets.mean(0).clip(1 / len(targets), 1 - 1 / len(targets))
            network.weights.copy_(torch.from_numpy(((1 - shares) / shares) ** 0.5))
        return network

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch = unwatched) -> list[Epoch]:
        """As all that are trained. Then share and border are chosen on the whole of dev."""
        curve = super().fit(train, dev, seed, watch)
        self._choose(dev, BORDERS if self.task.multi_label else (0.0,))
        return curve

    def on_dev(self, dev: Encoded) -> float:
        """With the best share of the regression."""
        return self._choose(dev, (0.0,))

    def _choose(self, dev: Encoded, borders: tuple[float, ...]) -> float:
        """Choose the share, then the border. Returns the figure that they have."""
        rows, model = predict(self.learned, dev.pieces), self.model

        def figure(share: float, border: float) -> float:
            model.share.fill_(share), model.border.fill_(border)
            answers, _ = joined_answers(self.task, model, dev, rows)
            return self.task.chosen(self.task.score(dev.items, answers))

        tried = {(share, 0.0): figure(share, 0.0) for share in SHARES}
        share, _ = max(tried, key=tried.__getitem__)
        tried |= {(share, border): figure(share, border) for border in borders}
        share, border = best = max(tried, key=tried.__getitem__)
        figure(*best)
        figures = {f"share {share:g}, border {border:g}": found for (share, border), found in tried.items()}
        self.selected = {"regression_share": share, "border": border, "tried": figures}
        return tried[best]

    def head(self) -> Head:
        return label_attention_head(super().head())

    def answer(self, encoded: Encoded) -> list:
        """By the model as it is now."""
        return joined_answers(self.task, self.model, encoded, predict(self.learned, encoded.pieces))[0]

    def save(self, target: Path, notes: dict) -> None:
        """A folder with the encoder, its tokenizer and label_attention.safetensors."""
        save_form(self.model, self.start.folder, target, notes, WEIGHTS)


def joined_answers(
    task: TextClassification, model: LabelAttention, encoded: Encoded, rows: list[np.ndarray]
) -> tuple[list, list[np.ndarray]]:
    """The labels of each item, and the logits of each piece (L,), from the logits of both parts. The border that was
    chosen on dev stands in place of the recipe's threshold."""
    joined = [model.joined(row) for row in rows]
    return task.decode(encoded, [row + task.limit for row in joined]), joined


def label_attention_head(head: Head) -> Head:
    """The task's head, for the output of the network."""
    return head._replace(loss=lambda output, targets: output.loss(targets))


def load_label_attention(folder: Path, names: tuple[str, ...], config) -> LabelAttention:
    """A network that was saved. Raises InputError for a damaged folder."""
    return load_form(folder, WEIGHTS, config, lambda encoder, own: LabelAttention(encoder, len(names)))
