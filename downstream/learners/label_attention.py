"""Label attention: each label weighs the tokens of a text by an attention of its own (Mullenbach et al. 2018). A
logistic regression over TF-IDF helps it. The stronger form for labels of texts.

A plain head reads one vector a text, and needs many texts to learn which words belong to a label. A linear model needs
few.

Shapes: B = texts or windows of them, T = their tokens, C = the encoder's width, L = labels.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from downstream.learners.encoder import Encoder
from downstream.learners.form_folder import load_form, save_form
from downstream.learners.term_regression import TermRegression
from downstream.tasks.base import Encoded
from downstream.tasks.classification import TextClassification
from downstream.training import models
from downstream.training.epochs import Epoch, Watch
from downstream.training.heads import Head
from downstream.training.loop import predict

WEIGHTS = models.FORM_WEIGHTS["label-attention"]
# Chosen on dev. Shares of the regression in the logits: 1 would leave the encoder out. Borders: a label of several is
# given above this logit.
SHARES, BORDERS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95), tuple(step / 8 for step in range(-12, 13))
MASKED, DROPOUT = 0.15, 0.2  # shares of the tokens that the encoder does not see in training, and of a text's vectors


class Labels(NamedTuple):
    """logits: (B, L). weights: (L,) of a 1 against a 0 in the loss."""

    logits: Tensor
    weights: Tensor

    def loss(self, targets: Tensor) -> Tensor:
        """targets: (B,) ids, or (B, L) 0 and 1."""
        if targets.dim() == 1:
            return functional.cross_entropy(self.logits.float(), targets)
        return functional.binary_cross_entropy_with_logits(self.logits.float(), targets, pos_weight=self.weights)


class LabelAttention(nn.Module):
    """specials: ids that training does not mask. mask: the mask's id, if there is one."""

    base_model_prefix = "encoder"
    weights: Tensor
    share: Tensor
    border: Tensor

    def __init__(self, encoder, num_labels: int, specials: list[int] | None = None, mask: int | None = None):
        super().__init__()
        self.encoder, self.config = encoder, encoder.config
        self.specials, self.mask = torch.tensor(specials or []), mask
        self.queries = nn.Linear(encoder.config.hidden_size, num_labels, bias=False)
        self.out = nn.Linear(encoder.config.hidden_size, num_labels)
        nn.init.normal_(self.queries.weight, std=0.02)
        nn.init.zeros_(self.out.weight), nn.init.zeros_(self.out.bias)
        self.register_buffer("weights", torch.ones(num_labels))
        self.register_buffer("share", torch.tensor(0.0))
        self.register_buffer("border", torch.tensor(0.0))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **types: Tensor) -> Labels:
        """(B, T) ids to logits."""
        seen = self._masked(input_ids) if self.training else input_ids
        states = self.encoder(input_ids=seen, attention_mask=attention_mask, **types).last_hidden_state.float()
        scores = self.queries(states).float().masked_fill(attention_mask.unsqueeze(-1) == 0, -torch.inf)
        vectors = scores.softmax(1).transpose(1, 2) @ states  # (B, L, C)
        drawn = functional.dropout(vectors, DROPOUT, self.training)
        return Labels((drawn * self.out.weight).sum(-1) + self.out.bias, self.weights)

    def _masked(self, input_ids: Tensor) -> Tensor:
        if self.mask is None:
            return input_ids
        drawn = torch.rand(input_ids.shape, device=input_ids.device) < MASKED
        return input_ids.masked_fill(drawn & ~torch.isin(input_ids, self.specials.to(input_ids.device)), self.mask)

    def joined(self, logits: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """(items, L) logits and those of the regression to one, above 0 where a label of several is given."""
        return joined(logits, counted, float(self.share), float(self.border))


def joined(logits: np.ndarray, counted: np.ndarray, share: float, border: float) -> np.ndarray:
    """Their weighted mean, from the border on."""
    return (1 - share) * logits + share * counted - border


class LabelAttentionLearner(Encoder):
    """Labels of texts by this network and the regression."""

    task: TextClassification
    form = "label-attention"
    fitted_on: Encoded | None = None  # the regression draws nothing: one serves all seeds
    counted: tuple[Encoded, np.ndarray] | None = None  # a split, and what the regression says of it

    def built(self, head: Head, train: Encoded) -> nn.Module:
        """The parts above the encoder are drawn."""
        encoder = models.load_encoder(self.start.folder, self.start.random, self.protocol.dropout)
        specials, mask = self.tokenizer.all_special_ids, self.tokenizer.mask_token_id
        network = LabelAttention(encoder, len(head.names), specials, mask)
        targets = self._targets(train)
        if self.task.multi_label:
            shares = targets.mean(0).clip(1 / len(targets), 1 - 1 / len(targets))
            network.weights.copy_(torch.from_numpy(((1 - shares) / shares) ** 0.5))
        if self.fitted_on is not train:
            self.fitted_on, self.regression = train, TermRegression.fitted(self.task.all_pairs(train), targets)
            self.counted = None
        return network

    def _targets(self, train: Encoded) -> np.ndarray:
        """(items, L) 0 and 1."""
        rows = np.array([target for item in train.items for target in self.task.targets(item)])
        return rows if rows.ndim == 2 else np.eye(len(self.task.names))[rows]

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch | None = None) -> list[Epoch]:
        """As all that are trained. Share and border are those of the kept epoch on the whole of dev."""
        curve = super().fit(train, dev, seed, watch)
        self.num_parameters += self.regression.num_parameters
        self.on_dev(dev)
        return curve

    def on_dev(self, dev: Encoded) -> float:
        """With the share of the regression and the border that are best. It leaves them in the network."""
        if self.counted is None or self.counted[0] is not dev:
            self.counted = dev, self.regression.logits(self.task.all_pairs(dev))
        means, counted = means_of(self.task, dev, predict(self.learned, dev.pieces)), self.counted[1]
        figure = self.task.chief_figure

        def found(share: float, border: float) -> float:
            tallies = self.task.tallies(dev.items, named(self.task, joined(means, counted, share, border)))
            return float(figure.value(np.sum([tally for tally in tallies if tally is not None], axis=0)))

        borders = BORDERS if self.task.multi_label else (0.0,)
        tried = {(share, border): found(share, border) for share in SHARES for border in sorted(borders, key=abs)}
        share, border = best = max(tried, key=tried.__getitem__)
        self.model.share.fill_(share), self.model.border.fill_(border)
        figures = {f"share {share:g}, border {border:g}": one for (share, border), one in tried.items()}
        self.selected = {"regression_share": share, "border": border, "tried": figures}
        return tried[best]

    def head(self) -> Head:
        """The task's, for the output of the network."""
        return super().head()._replace(loss=lambda output, targets: output.loss(targets))

    def answer(self, encoded: Encoded) -> list:
        """By the model as it is now."""
        means = means_of(self.task, encoded, predict(self.learned, encoded.pieces))
        counted = self.regression.logits(self.task.all_pairs(encoded))
        return named(self.task, self.model.joined(means, counted))

    def save(self, target: Path, notes: dict) -> None:
        """A folder with the encoder, its tokenizer and label_attention.safetensors."""
        save_form(self.model, self.start.folder, target, notes, WEIGHTS, self.regression.state())


def means_of(task: TextClassification, encoded: Encoded, rows: list[np.ndarray]) -> np.ndarray:
    """(items, L), the mean logits of the windows of each item."""
    return np.stack([mean[0] for mean in task.means(encoded, rows)])


def named(task: TextClassification, logits: np.ndarray) -> list[tuple[str, ...]]:
    """The labels of each item. The border that was chosen on dev stands in place of the recipe's threshold."""
    return [task.named(row + task.limit) for row in logits]


def load_label_attention(folder: Path, names: tuple[str, ...], config) -> tuple[LabelAttention, TermRegression]:
    """A network and a regression that were saved. Raises InputError for a damaged folder."""
    found = []

    def build(encoder, own: dict[str, Tensor]) -> LabelAttention:
        found.append(TermRegression.of(own))
        return LabelAttention(encoder, len(names))

    return load_form(folder, WEIGHTS, config, build), found[0]
