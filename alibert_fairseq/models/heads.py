"""What stands on the encoder: words at masked tokens, the relation of two segments, replaced tokens.

Shapes as in `encoder.py`.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.data.layout import Spans
from alibert_fairseq.layers.word_loss import Samples, Words, predict
from alibert_fairseq.models.size import ACTIVATIONS, EncoderSize, layer_norm


class MaskedLMHead(nn.Module):
    """Features of masked tokens to scores over the vocabulary: dense, GELU, LayerNorm, the word table, a bias.

    The dense layer maps to the embedding size, as ALBERT's and ELECTRA's generator's; for BERT the two sizes are equal.
    """

    def __init__(self, size: EncoderSize, word_table: Tensor):
        super().__init__()
        self.dense = nn.Linear(size.width, size.embedding_dim, bias=size.rotary is None)
        self.activation = ACTIVATIONS[size.activation]
        self.layer_norm = layer_norm(size, size.embedding_dim)
        self.tied = size.tied
        self.weight = word_table if size.tied else nn.Parameter(torch.empty_like(word_table))  # (V, E)
        self.bias = nn.Parameter(torch.zeros(size.vocabulary))

    def forward(self, features: Tensor) -> Tensor:
        """(M, C) to (M, V), or (B, T, C) to (B, T, V)."""
        return F.linear(self.layer_norm(self.activation(self.dense(features))), self.weight, self.bias)

    def predict(self, features: Tensor, target: Tensor, z_loss: float = 0.0, samples: Samples | None = None) -> Words:
        """(M, C) features and (M,) ids to their losses, in less memory and time than by way of the scores."""
        features = self.layer_norm(self.activation(self.dense(features)))
        device = features.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else features.dtype
        with torch.autocast(device, enabled=False):
            features, table, bias = features.to(dtype), self.weight.to(dtype), self.bias.to(dtype)
            return predict(features, table, bias, target, z_loss, samples)


class SentenceHead(nn.Module):
    """First tokens to two scores a sequence: BERT's pooler (dense and tanh), then a dense layer.

    Class 0: the segments are as in the text; class 1: the second is another document's (next sentence prediction) or
    the two are swapped (sentence order prediction).
    """

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.pooler = nn.Linear(size.width, size.width)
        self.out_proj = nn.Linear(size.width, 2)

    def forward(self, features: Tensor) -> Tensor:
        """(S, C) to (S, 2)."""
        return self.out_proj(torch.tanh(self.pooler(features)))


class DiscriminatorHead(nn.Module):
    """Dense, GELU, one score a token; no LayerNorm, no dropout (electra `_get_discriminator_output`).

    On a DeBERTa body, a LayerNorm of each token plus the first one of its sequence lies below (microsoft/DeBERTa
    `replaced_token_detection_model.py`).
    """

    def __init__(self, size: EncoderSize):
        super().__init__()
        if size.relative is not None:
            self.layer_norm = layer_norm(size, size.width)
        self.dense = nn.Linear(size.width, size.width)
        self.activation = ACTIVATIONS[size.activation]
        self.out_proj = nn.Linear(size.width, 1)

    def forward(self, features: Tensor, tokens: Spans | None = None) -> Tensor:
        """(n, C) to (n,), of the sequences of `tokens`; or (B, T, C), whose rows are the sequences, to (B, T)."""
        if hasattr(self, "layer_norm"):
            first = features[:, :1] if tokens is None else features[tokens.ends[:-1].long()][tokens.rows]
            features = self.layer_norm(features + first)
        return self.out_proj(self.activation(self.dense(features))).squeeze(-1)
