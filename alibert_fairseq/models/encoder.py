"""The one encoder: BERT's post-LN transformer under the parameter names of fairseq's RoBERTa.

What the papers' models change in it are numbers: segment embeddings, narrower embeddings, layers used several times.

Shape legend: B = sequences, T = tokens, C = width, E = embedding size, N = heads, H = C / N, V = vocabulary,
M = masked positions of the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

# BERT and ELECTRA compute the GELU with the error function, ALBERT (`modeling.py:gelu`) with a tanh.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh")}

AT_LEAST = {  # of an EncoderSize, and what the sentence about it says
    "layers": (1, "number of layers"),
    "width": (1, "width"),
    "ffn_width": (1, "feed-forward width"),
    "heads": (1, "number of heads"),
    "embedding_dim": (1, "width of the embeddings"),
    "segments": (0, "number of segments"),
}


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
    segments: int = 0  # kinds of segment embeddings; 0: none, as RoBERTa
    layer_groups: int | None = None  # layers with weights of their own; ALBERT has 1, used `layers` times
    activation: str = "gelu"
    dropout: float = 0.0  # after the embeddings, the attention block and the feed-forward block
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0  # inside the feed-forward block

    def __post_init__(self):
        for name, (least, what) in AT_LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"the {what} of an encoder must be {least} or more, not {getattr(self, name)}")
        if self.width % self.heads:
            raise ValueError(f"the width ({self.width}) must be a multiple of the number of heads ({self.heads})")
        if not 1 <= self.groups <= self.layers:
            raise ValueError(f"{self.layers} layers cannot share the weights of {self.groups}; give 1 to {self.layers}")

    @property
    def groups(self) -> int:
        """Layers with weights of their own."""
        return self.layers if self.layer_groups is None else self.layer_groups

    def group_of(self, layer: int) -> int:
        """Which weights a layer uses (google-research/albert `modeling.py`: runs of equal length)."""
        return layer * self.groups // self.layers


EMBEDDINGS = ("embed_tokens", "embed_positions", "embed_segments", "layernorm_embedding")  # of a SentenceEncoder


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
        self.activation = ACTIVATIONS[size.activation]
        self.activation_dropout = nn.Dropout(size.activation_dropout)

    def forward(self, x: Tensor, may_attend: Tensor | None) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, may_attend)))
        inner = self.activation_dropout(self.activation(self.fc1(x)))
        return self.final_layer_norm(x + self.dropout(self.fc2(inner)))


class SentenceEncoder(nn.Module):
    """Token ids to features.

    share_embeddings_of: use that encoder's whole embedding layer, not one's own. What ELECTRA shares is word table,
    positions, segments and LayerNorm (google-research/electra, scope `electra/embeddings`).
    """

    def __init__(self, size: EncoderSize, share_embeddings_of: Optional["SentenceEncoder"] = None):
        super().__init__()
        self.size = size
        if share_embeddings_of is None:
            self._new_embeddings(size)
        else:
            for name in EMBEDDINGS:
                if hasattr(share_embeddings_of, name):
                    setattr(self, name, getattr(share_embeddings_of, name))
        if size.embedding_dim != size.width:
            self.embed_project = nn.Linear(size.embedding_dim, size.width)
        self.layers = nn.ModuleList(EncoderLayer(size) for _ in range(size.groups))
        self.dropout = nn.Dropout(size.dropout)

    def _new_embeddings(self, size: EncoderSize) -> None:
        pad = size.padding_id
        self.embed_tokens = nn.Embedding(size.vocabulary, size.embedding_dim, padding_idx=pad)
        self.embed_positions = nn.Embedding(size.max_positions + pad + 1, size.embedding_dim, padding_idx=pad)
        if size.segments:
            self.embed_segments = nn.Embedding(size.segments, size.embedding_dim)
        self.layernorm_embedding = nn.LayerNorm(size.embedding_dim, eps=size.layer_norm_eps)

    def embed(self, tokens: Tensor, real: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T) ids, which of them are not padding, and their segments (None: all 0), to (B, T, C).

        Positions count from padding_id + 1, as in fairseq.
        """
        positions = torch.cumsum(real, dim=1) * real + self.size.padding_id
        x = self.embed_tokens(tokens) + self.embed_positions(positions)
        if self.size.segments:
            x = x + self.embed_segments(torch.zeros_like(tokens) if segments is None else segments)
        x = self.dropout(self.layernorm_embedding(x))
        return self.embed_project(x) if hasattr(self, "embed_project") else x

    def forward(
        self, tokens: Tensor, has_padding: bool | None = None, real: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """(B, T) ids to (B, T, C). has_padding: what the caller knows of it, to save a look at the device.

        real: (B, T) bool, which tokens are not padding, where the ids do not say it: ELECTRA may sample the padding id.
        segments: (B, T) ids of segments, where the encoder has segment embeddings; left out: all 0.
        """
        real = tokens.ne(self.size.padding_id) if real is None else real
        if has_padding is None:
            has_padding = not bool(real.all())
        may_attend = real[:, None, None, :] if has_padding else None
        x = self.embed(tokens, real, segments)
        for layer in range(self.size.layers):
            x = self.layers[self.size.group_of(layer)](x, may_attend)
        return x
