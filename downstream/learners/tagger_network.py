"""The network of the tagger: an encoder's subwords, pooled to words, beside what a word looks like, under a CRF.

An encoder of lower-cased subwords does not see capitals, and one of an hour has not seen every suffix. Characters and
the features of the CRF baseline know both.

Shapes: B = sequences, T = their tokens, N = words of the batch, L = layers of tags, K = tags of a layer.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from downstream.data.word_features import CODES, OWN
from downstream.learners.chain_crf import ChainCrf
from downstream.tasks.base import IGNORED, HeadSpec

CHARACTER_SIZE, MAPS, KERNEL = 32, 64, 3  # of the convolution over a word's characters
WORTH_A_CUT = 64  # tokens of padding: a further call of the encoder takes time, too
# Shares that are left out in training, chosen on the dev sets of QUAERO (docs/results/modern_choices.md).
DROPOUT, FEATURE_DROPOUT, TOKEN_DROPOUT = 0.4, 0.5, 0.15


class WordBatch(NamedTuple):
    """The words of a batch, sentence after sentence.

    first, last: (N,) place of its first token and behind its last one, in (B x T) tokens. characters: (N, 20).
    features: (N, F) numbers of `hashed_features` and `how_often`. continues: (B,) whether a sequence continues the one
    before.
    """

    first: Tensor
    last: Tensor
    characters: Tensor
    features: Tensor
    continues: Tensor


class TaggerOutput(NamedTuple):
    """logits: (B, T, L, K), 0 but at the first token of a word, where `begins` (B, T) is True."""

    logits: Tensor
    begins: Tensor
    continues: Tensor
    crf: ChainCrf

    def loss(self, targets: Tensor) -> Tensor:
        """targets: (B, T, L); a word whose tag is IGNORED counts as the first tag, O."""
        order = self.begins.int().argsort(dim=1, descending=True, stable=True)  # words first, in their order
        place = order[:, : max(1, int(self.begins.sum(1).max()))]  # (B, W), the token that each word begins with
        rows = self.logits.gather(1, place[..., None, None].expand(-1, -1, *self.logits.shape[2:]))
        tags = targets.gather(1, place.unsqueeze(-1).expand(-1, -1, targets.shape[2]))
        real = self.begins.gather(1, place)
        return self.crf.loss(rows.float(), real, self.continues, tags.masked_fill(tags == IGNORED, 0))


class Disturbance(NamedTuple):
    """What training needs to hide words: ids that begin a word, ids that continue one, the mask, if there is one.

    replaced: share of the words of several subwords that become unknown words.
    """

    first: Tensor
    later: Tensor
    mask: int | None
    replaced: float


def neighbours(lengths: list[int]) -> list[int]:
    """Sizes of the groups of sequences that the encoder reads apart. Each cut saves at least WORTH_A_CUT of padding.

    `batches` and `predict` sort by length. In another order the groups are as right, and save less.
    """

    def saved(at: int) -> int:
        return at * (max(lengths) - max(lengths[:at]))

    best = max(range(1, len(lengths)), key=saved, default=0)
    if not best or saved(best) < WORTH_A_CUT:
        return [len(lengths)]
    return neighbours(lengths[:best]) + neighbours(lengths[best:])


class TaggerNetwork(nn.Module):
    """known: (F,) sorted numbers of the features that training has. disturbance: only training needs it."""

    base_model_prefix = "encoder"
    known: Tensor
    document_share: Tensor

    def __init__(self, encoder, spec: HeadSpec, known: Tensor, disturbance: Disturbance | None = None):
        super().__init__()
        self.encoder, self.config = encoder, encoder.config
        self.disturbance, self.num_layers = disturbance, spec.num_layers
        tags = spec.names[: len(spec.names) // spec.num_layers]
        names = [tag.rpartition("/")[2] for tag in tags]  # of a layer a type: TYPE/B
        self.register_buffer("known", known)
        self.register_buffer("document_share", torch.tensor(0.0))  # of a word's scores; chosen on dev
        self.characters = nn.Embedding(CODES, CHARACTER_SIZE, padding_idx=0)
        self.maps = nn.Conv1d(CHARACTER_SIZE, MAPS, KERNEL, padding=KERNEL // 2)
        self.out = nn.Linear(2 * encoder.config.hidden_size + MAPS, len(spec.names))
        self.features = nn.Embedding(len(known) + 1, len(spec.names), padding_idx=0)
        nn.init.zeros_(self.features.weight)
        self.crf = ChainCrf(names, spec.num_layers)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, beside: WordBatch, **types: Tensor) -> TaggerOutput:
        """(B, T) ids, and the words in them, to the scores of words."""
        words = beside
        if self.training and self.disturbance is not None:
            input_ids, words = self._disturbed(input_ids, words, self.disturbance)
        states = self._states(input_ids=input_ids, attention_mask=attention_mask, **types)
        first, mean = self._pooled(states.flatten(0, 1), words)
        seen = [first, mean, self._characters(words)]
        drawn = functional.dropout(torch.cat(seen, -1), DROPOUT, self.training)
        scores = self.out(drawn) + self._features(words)  # (N, L x K)
        logits = scores.new_zeros(input_ids.numel(), scores.shape[-1]).index_copy(0, words.first, scores)
        begins = torch.zeros(input_ids.numel(), dtype=torch.bool, device=scores.device).index_fill(0, words.first, True)
        shape = (*input_ids.shape, self.num_layers, -1)
        return TaggerOutput(logits.view(shape), begins.view(input_ids.shape), words.continues, self.crf)

    def _states(self, attention_mask: Tensor, **inputs: Tensor) -> Tensor:
        """(B, T, C) of the encoder. States at padding are arbitrary. On a CPU, `neighbours` saves padding."""
        lengths, found, start = attention_mask.sum(1).tolist(), [], 0
        for size in neighbours(lengths) if attention_mask.device.type == "cpu" else [len(lengths)]:
            part = slice(start, start + size), slice(max(lengths[start : start + size]))
            own = {name: values[part] for name, values in inputs.items()}
            states = self.encoder(attention_mask=attention_mask[part], **own).last_hidden_state
            found.append(functional.pad(states, (0, 0, 0, attention_mask.shape[1] - states.shape[1])))
            start += size
        return torch.cat(found)

    @staticmethod
    def _disturbed(input_ids: Tensor, words: WordBatch, how: Disturbance) -> tuple[Tensor, WordBatch]:
        """Ids and words with some words replaced, and with the first subwords of others masked."""
        ids, device = input_ids.flatten(), input_ids.device
        begins = torch.zeros(len(ids), dtype=torch.bool, device=device).index_fill_(0, words.first, True)
        if how.replaced:
            drawn = (words.last - words.first > 1) & (torch.rand(len(words.first), device=device) < how.replaced)
            edges = torch.zeros(len(ids) + 1, dtype=torch.long, device=device)
            edges.index_add_(0, words.first, drawn.long()).index_add_(0, words.last, -drawn.long())
            first, later = (kind.to(device)[torch.randint(len(kind), ids.shape, device=device)] for kind in how[:2])
            ids = torch.where(edges.cumsum(0)[:-1].bool(), torch.where(begins, first, later), ids)
            own = torch.where(drawn.unsqueeze(-1), -1, words.features[:, :OWN])  # no feature has this number
            words = words._replace(
                characters=words.characters * ~drawn.unsqueeze(-1),
                features=torch.cat([own, words.features[:, OWN:]], 1),
            )
        if how.mask is not None:
            ids = ids.masked_fill(begins & (torch.rand(len(ids), device=device) < TOKEN_DROPOUT), how.mask)
        return ids.view_as(input_ids), words

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
