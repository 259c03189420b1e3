"""The network of the tagger: an encoder's subwords, pooled to words, beside what a word looks like, under a CRF.

An encoder of lower-cased subwords does not see capitals, and one of an hour has not seen every suffix. Characters and
the features of the CRF baseline know both.

Shapes: B = sequences, T = their tokens, N = words of the batch, L = layers of tags, K = tags of a layer.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from downstream.data.word_features import CODES
from downstream.learners.chain_crf import ChainCrf
from downstream.tasks.base import IGNORED, HeadSpec

CHARACTER_SIZE, MAPS, KERNEL = 32, 64, 3  # of the convolution over a word's characters
# Shares that are left out in training, chosen on the dev sets of QUAERO (docs/results/speedrun.md).
DROPOUT, FEATURE_DROPOUT, TOKEN_DROPOUT = 0.4, 0.5, 0.15


class WordBatch(NamedTuple):
    """The words of a batch, sentence after sentence.

    first, last: (N,) place of its first token and behind its last one, in (B x T) tokens. characters: (N, 20).
    features: (N, F) numbers of `hashed_features`. goes_on: (B,) whether a sequence goes on.
    """

    first: Tensor
    last: Tensor
    characters: Tensor
    features: Tensor
    goes_on: Tensor


class TaggerOutput(NamedTuple):
    """logits: (B, T, L, K), 0 but at the first token of a word, where `begins` (B, T) is True."""

    logits: Tensor
    begins: Tensor
    goes_on: Tensor
    crf: ChainCrf

    def by_word(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (B, W, L, K), which of them are words (B, W), and the token that each is of (B, W)."""
        order = self.begins.int().argsort(dim=1, descending=True, stable=True)  # words first, in their order
        place = order[:, : max(1, int(self.begins.sum(1).max()))]
        rows = self.logits.gather(1, place[..., None, None].expand(-1, -1, *self.logits.shape[2:]))
        return rows, self.begins.gather(1, place), place

    def loss(self, targets: Tensor) -> Tensor:
        """targets: (B, T) or (B, T, L); a word whose tag is IGNORED counts as the first tag, O."""
        rows, real, place = self.by_word()
        tags = targets.view(*targets.shape[:2], -1)
        tags = tags.gather(1, place.unsqueeze(-1).expand(-1, -1, tags.shape[2]))
        return self.crf.loss(rows.float(), real, self.goes_on, tags.masked_fill(tags == IGNORED, 0))

    def _at_tokens(self, values: Tensor, place: Tensor) -> Tensor:
        """(B, T, ...) from (B, W, ...), 0 at tokens that begin no word."""
        found = values.new_zeros(*self.begins.shape, *values.shape[2:])
        index = place.view(*place.shape, *[1] * (values.dim() - 2)).expand_as(values)
        return found.scatter(1, index, values)

    def tags(self) -> Tensor:
        """(B, T, L), the likeliest tags; 0 at tokens that begin no word."""
        rows, real, place = self.by_word()
        return self._at_tokens(self.crf.best(rows.float(), real, self.goes_on), place)

    def tags_and_probabilities(self) -> Tensor:
        """(B, T, L, 2), the likeliest tags and how likely each is."""
        rows, real, place = self.by_word()
        tags = self.crf.best(rows.float(), real, self.goes_on)
        likely = self.crf.probabilities(rows.float(), real, self.goes_on).gather(-1, tags.unsqueeze(-1))
        return self._at_tokens(torch.cat([tags.unsqueeze(-1).float(), likely], -1), place)


class TaggerNetwork(nn.Module):
    """known: (F,) sorted numbers of the features that training has; mask_id: the token that hides another."""

    base_model_prefix = "encoder"
    known: Tensor

    def __init__(self, encoder, spec: HeadSpec, known: Tensor, mask_id: int | None):
        super().__init__()
        self.encoder, self.config = encoder, encoder.config
        self.mask_id, self.num_layers = mask_id, spec.num_layers
        tags = spec.names[: len(spec.names) // spec.num_layers]
        names = [tag.rpartition("/")[2] for tag in tags] if spec.kind == "label_per_token_and_type" else tags
        self.register_buffer("known", known)
        self.characters = nn.Embedding(CODES, CHARACTER_SIZE, padding_idx=0)
        self.maps = nn.Conv1d(CHARACTER_SIZE, MAPS, KERNEL, padding=KERNEL // 2)
        self.out = nn.Linear(2 * encoder.config.hidden_size + MAPS, len(spec.names))
        self.features = nn.Embedding(len(known) + 1, len(spec.names), padding_idx=0)
        nn.init.zeros_(self.features.weight)
        self.crf = ChainCrf(names, spec.num_layers)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, words: WordBatch, **types: Tensor) -> TaggerOutput:
        """(B, T) ids to the scores of words."""
        if self.training and self.mask_id is not None:
            hidden = torch.rand(input_ids.shape, device=input_ids.device) < TOKEN_DROPOUT
            inside = torch.zeros_like(hidden).flatten().index_fill(0, words.first, True).view_as(hidden)
            input_ids = input_ids.masked_fill(hidden & inside, self.mask_id)
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state
        first, mean = self._pooled(states.flatten(0, 1), words)
        seen = [first, mean, self._characters(words)]
        drawn = functional.dropout(torch.cat(seen, -1), DROPOUT, self.training)
        scores = self.out(drawn) + self._features(words)  # (N, L x K)
        logits = scores.new_zeros(input_ids.numel(), scores.shape[-1]).index_copy(0, words.first, scores)
        begins = torch.zeros(input_ids.numel(), dtype=torch.bool, device=scores.device).index_fill(0, words.first, True)
        shape = (*input_ids.shape, self.num_layers, -1)
        return TaggerOutput(logits.view(shape), begins.view(input_ids.shape), words.goes_on, self.crf)

    @staticmethod
    def _pooled(states: Tensor, words: WordBatch) -> tuple[Tensor, Tensor]:
        """(N, C) the first token of each word, and the mean of all its tokens."""
        sums = functional.pad(states.cumsum(0, dtype=torch.float64), (0, 0, 1, 0))
        mean = (sums[words.last] - sums[words.first]) / (words.last - words.first).unsqueeze(-1)
        return states[words.first], mean.to(states.dtype)

    def _characters(self, words: WordBatch) -> Tensor:
        """(N, MAPS), the largest value of each map."""
        return self.maps(self.characters(words.characters).transpose(1, 2)).relu().amax(-1)

    def _features(self, words: WordBatch) -> Tensor:
        """(N, L x K), the sum of a weight for each feature that training has."""
        place = torch.searchsorted(self.known, words.features).clamp(max=len(self.known) - 1)
        ids = torch.where(self.known[place] == words.features, place + 1, 0)
        if self.training:
            kept = torch.rand(ids.shape, device=ids.device) >= FEATURE_DROPOUT
            return self.features(ids * kept).sum(1) / (1 - FEATURE_DROPOUT)
        return self.features(ids).sum(1)
