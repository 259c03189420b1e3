"""The one encoder: BERT's post-LN transformer under the parameter names of fairseq's RoBERTa.

Shape legend: B = sequences, T = tokens, C = width, E = embedding size, N = heads, H = C / N, V = vocabulary,
M = masked positions of the batch.
"""

import math
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

INIT_STD = 0.02  # truncated normal, BERT and ELECTRA (`initializer_range`)


@dataclass(frozen=True)
class EncoderSize:
    """The numbers that fix an encoder's parameters."""

    layers: int
    width: int  # C
    ffn_width: int
    heads: int
    embedding_dim: int  # E
    vocabulary: int  # V
    max_positions: int  # longest sequence, special tokens included
    padding_id: int
    layer_norm_eps: float
    dropout: float = 0.0  # after the embeddings, the attention block and the feed-forward block
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0  # inside the feed-forward block

    def __post_init__(self):
        if self.width % self.heads:
            raise ValueError(f"the width ({self.width}) must be a multiple of the number of heads ({self.heads})")


class SelfAttention(nn.Module):
    """Multi-head self-attention over `scaled_dot_product_attention`."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.heads = size.heads
        self.dropout = size.attention_dropout
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(size.width, size.width) for _ in range(4))

    def forward(self, x: Tensor, may_attend: Tensor | None) -> Tensor:
        """x: (B, T, C); may_attend: (B, 1, 1, T) bool, False at padding, or None when nothing is padded."""
        batch, length, width = x.shape
        q, k, v = (  # (B, N, T, H) each
            project(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        dropout = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=may_attend, dropout_p=dropout)
        return self.out_proj(attended.transpose(1, 2).reshape(batch, length, width))


class EncoderLayer(nn.Module):
    """One post-LN block: attention, then the feed-forward network, each with a residual and a LayerNorm."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.self_attn = SelfAttention(size)
        self.self_attn_layer_norm = nn.LayerNorm(size.width, eps=size.layer_norm_eps)
        self.fc1 = nn.Linear(size.width, size.ffn_width)
        self.fc2 = nn.Linear(size.ffn_width, size.width)
        self.final_layer_norm = nn.LayerNorm(size.width, eps=size.layer_norm_eps)
        self.dropout = nn.Dropout(size.dropout)
        self.activation_dropout = nn.Dropout(size.activation_dropout)

    def forward(self, x: Tensor, may_attend: Tensor | None) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, may_attend)))
        inner = self.activation_dropout(F.gelu(self.fc1(x)))  # the erf form, as BERT and ELECTRA
        return self.final_layer_norm(x + self.dropout(self.fc2(inner)))


class SentenceEncoder(nn.Module):
    """Token ids to features. `share_embeddings_of`: use that encoder's whole embedding layer, not one's own.

    What ELECTRA shares is word table, positions and LayerNorm (google-research/electra, scope `electra/embeddings`).
    """

    def __init__(self, size: EncoderSize, share_embeddings_of: Optional["SentenceEncoder"] = None):
        super().__init__()
        self.size = size
        if share_embeddings_of is None:
            pad = size.padding_id
            self.embed_tokens = nn.Embedding(size.vocabulary, size.embedding_dim, padding_idx=pad)
            self.embed_positions = nn.Embedding(size.max_positions + pad + 1, size.embedding_dim, padding_idx=pad)
            self.layernorm_embedding = nn.LayerNorm(size.embedding_dim, eps=size.layer_norm_eps)
        else:
            self.embed_tokens = share_embeddings_of.embed_tokens
            self.embed_positions = share_embeddings_of.embed_positions
            self.layernorm_embedding = share_embeddings_of.layernorm_embedding
        if size.embedding_dim != size.width:
            self.embed_project = nn.Linear(size.embedding_dim, size.width)
        self.layers = nn.ModuleList(EncoderLayer(size) for _ in range(size.layers))
        self.dropout = nn.Dropout(size.dropout)

    def embed(self, tokens: Tensor, real: Tensor) -> Tensor:
        """(B, T) ids and which of them are not padding, to (B, T, C). Positions count from padding_id + 1 (fairseq)."""
        positions = torch.cumsum(real, dim=1) * real + self.size.padding_id
        x = self.embed_tokens(tokens) + self.embed_positions(positions)
        x = self.dropout(self.layernorm_embedding(x))
        return self.embed_project(x) if hasattr(self, "embed_project") else x

    def forward(self, tokens: Tensor, has_padding: bool | None = None, real: Tensor | None = None) -> Tensor:
        """(B, T) ids to (B, T, C). has_padding: what the caller knows of it, to save a look at the device.

        real: (B, T) bool, which tokens are not padding, where the ids do not say it: ELECTRA may sample the padding id.
        """
        real = tokens.ne(self.size.padding_id) if real is None else real
        if has_padding is None:
            has_padding = not bool(real.all())
        may_attend = real[:, None, None, :] if has_padding else None
        x = self.embed(tokens, real)
        for layer in self.layers:
            x = layer(x, may_attend)
        return x


class MaskedLMHead(nn.Module):
    """Features of masked positions to scores over the vocabulary: dense, GELU, LayerNorm, the tied word table, a bias.

    The dense layer maps to the embedding size, as ELECTRA's generator does; for BERT the two sizes are equal.
    """

    def __init__(self, size: EncoderSize, word_table: nn.Parameter):
        super().__init__()
        self.dense = nn.Linear(size.width, size.embedding_dim)
        self.layer_norm = nn.LayerNorm(size.embedding_dim, eps=size.layer_norm_eps)
        self.weight = word_table  # (V, E)
        self.bias = nn.Parameter(torch.zeros(size.vocabulary))

    def forward(self, features: Tensor) -> Tensor:
        """(M, C) to (M, V), or (B, T, C) to (B, T, V)."""
        return F.linear(self.layer_norm(F.gelu(self.dense(features))), self.weight, self.bias)


def initialise(module: nn.Module) -> None:
    """BERT's start for one module (use with `apply`): truncated normal weights, zero biases and padding rows."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.trunc_normal_(module.weight, std=INIT_STD, a=-2 * INIT_STD, b=2 * INIT_STD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].zero_()


@torch.no_grad()
def start_from_sinusoids(positions: nn.Embedding) -> None:
    """Fill a table of learned positions with sines and cosines (Vaswani et al. 2017, section 3.5), INIT_STD on average.

    Neighbouring positions then begin alike, so that attention to a neighbour is learned once and not position by
    position. The table stays learned; rows up to the padding id stay zero.
    """
    first, width = positions.padding_idx + 1, positions.embedding_dim
    places = torch.arange(positions.num_embeddings - first, dtype=torch.float32)  # (positions,)
    waves = torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))  # (ceil(width / 2),)
    angles = places[:, None] * waves
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
    positions.weight.zero_()
    positions.weight[first:] = table * (INIT_STD * math.sqrt(2))  # a sine's mean square is one half
