"""The one encoder, under the parameter names of fairseq's RoBERTa: BERT's post-LN body, or ModernBERT's pre-LN body.

What the papers' models change in BERT's are numbers: segment embeddings, narrower embeddings, layers used several
times.

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

from alibert_fairseq.models.rotary import Rotary, Sight, global_mask, local_mask, places, rotate, rotation

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
    rotary: Rotary | None = None  # a modern body; None: BERT's

    def __post_init__(self):
        for name, (least, what) in AT_LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"the {what} of an encoder must be {least} or more, not {getattr(self, name)}")
        if self.width % self.heads:
            raise ValueError(f"the width ({self.width}) must be a multiple of the number of heads ({self.heads})")
        if not 1 <= self.groups <= self.layers:
            raise ValueError(f"{self.layers} layers cannot share the weights of {self.groups}; give 1 to {self.layers}")
        if self.rotary is not None:
            self._check_modern()

    def _check_modern(self) -> None:
        if self.width // self.heads % 2:
            raise ValueError(f"heads are {self.width // self.heads} wide, and rotary positions need an even width")
        if (self.segments, self.groups, self.embedding_dim) != (0, self.layers, self.width):
            raise ValueError("a modern body has no segments, no shared layers and embeddings of its own width")

    @property
    def groups(self) -> int:
        """Layers with weights of their own."""
        return self.layers if self.layer_groups is None else self.layer_groups

    def group_of(self, layer: int) -> int:
        """Which weights a layer uses (google-research/albert `modeling.py`: runs of equal length)."""
        return layer * self.groups // self.layers


def layer_norm(size: EncoderSize, width: int) -> nn.LayerNorm:
    """BERT's, or without a bias."""
    return nn.LayerNorm(width, eps=size.layer_norm_eps, bias=size.rotary is None)


EMBEDDINGS = ("embed_tokens", "embed_positions", "embed_segments", "layernorm_embedding")  # of a SentenceEncoder


class SelfAttention(nn.Module):
    """Multi-head self-attention over `scaled_dot_product_attention`."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.heads = size.heads
        self.dropout = size.attention_dropout
        linear = partial(nn.Linear, size.width, size.width, bias=size.rotary is None)
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (linear() for _ in range(4))

    def forward(self, x: Tensor, may_attend: Tensor | None, rotation: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """x: (B, T, C); may_attend: (B, 1, 1 or T, T) bool, False at padding, or None when nothing is padded."""
        batch, length, width = x.shape
        projections = (self.q_proj, self.k_proj, self.v_proj)
        weight = torch.cat([project.weight for project in projections])  # one large product, which reads x once
        bias = None if self.q_proj.bias is None else torch.cat([project.bias for project in projections])
        qkv = F.linear(x, weight, bias)
        q, k, v = qkv.view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)  # (B, N, T, H)
        if rotation is not None:
            q, k, v = rotate(q, rotation), rotate(k, rotation), v.contiguous()  # a view would keep all of qkv
        dtype = qkv.dtype if x.is_cuda else torch.promote_types(qkv.dtype, torch.float32)
        with torch.autocast(x.device.type, enabled=False):  # on a CPU, attention in bfloat16 takes twice the time
            attended = F.scaled_dot_product_attention(
                q.to(dtype), k.to(dtype), v.to(dtype), attn_mask=may_attend,
                dropout_p=self.dropout if self.training else 0.0,
            )  # fmt: skip
        return self.out_proj(attended.to(qkv.dtype).transpose(1, 2).reshape(batch, length, width))


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


class ModernLayer(nn.Module):
    """One pre-LN block without biases: attention, then a gated feed-forward network (GeGLU, Shazeer 2020)."""

    def __init__(self, size: EncoderSize, number: int):
        super().__init__()
        self.self_attn = SelfAttention(size)
        # What the first one reads comes from the norm of the embeddings.
        self.self_attn_layer_norm = layer_norm(size, size.width) if number else nn.Identity()
        self.fc1 = nn.Linear(size.width, 2 * size.ffn_width, bias=False)
        self.fc2 = nn.Linear(size.ffn_width, size.width, bias=False)
        self.final_layer_norm = layer_norm(size, size.width)
        self.dropout = nn.Dropout(size.dropout)
        self.activation = ACTIVATIONS[size.activation]
        self.activation_dropout = nn.Dropout(size.activation_dropout)

    def forward(self, x: Tensor, sight: Sight) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x = x + self.dropout(self.self_attn(self.self_attn_layer_norm(x), *sight))
        inner, gate = self.fc1(self.final_layer_norm(x)).chunk(2, dim=-1)
        if not x.is_cuda:
            inner = inner.contiguous()  # a CPU's GELU of a view takes four times as long
        return x + self.dropout(self.fc2(self.activation_dropout(self.activation(inner) * gate)))


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
        modern = size.rotary is not None
        layers = (ModernLayer(size, number) if modern else EncoderLayer(size) for number in range(size.groups))
        self.layers = nn.ModuleList(layers)
        self.layer_norm = layer_norm(size, size.width) if modern else nn.Identity()
        self.dropout = nn.Dropout(size.dropout)

    def _new_embeddings(self, size: EncoderSize) -> None:
        pad = size.padding_id
        self.embed_tokens = nn.Embedding(size.vocabulary, size.embedding_dim, padding_idx=pad)
        if size.rotary is None:
            self.embed_positions = nn.Embedding(size.max_positions + pad + 1, size.embedding_dim, padding_idx=pad)
        if size.segments:
            self.embed_segments = nn.Embedding(size.segments, size.embedding_dim)
        self.layernorm_embedding = layer_norm(size, size.embedding_dim)

    def embed(self, tokens: Tensor, real: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T) ids, which of them are not padding, and their segments (None: all 0), to (B, T, C).

        Positions count from padding_id + 1, as in fairseq.
        """
        x = self.embed_tokens(tokens)
        if self.size.rotary is None:
            x = x + self.embed_positions(torch.cumsum(real, dim=1) * real + self.size.padding_id)
        if self.size.segments:
            x = x + self.embed_segments(torch.zeros_like(tokens) if segments is None else segments)
        x = self.dropout(self.layernorm_embedding(x))
        return self.embed_project(x) if hasattr(self, "embed_project") else x

    def _sights(
        self, real: Tensor, has_padding: bool, sequences: Tensor | None, causal: bool, dtype: torch.dtype
    ) -> list:
        """What each layer sees of a batch."""
        size, rotary = self.size, self.size.rotary
        of_all = global_mask(real, has_padding, sequences, causal)
        if rotary is None:
            return [of_all] * size.layers
        positions = places(real[:1] if sequences is None else real, sequences)
        dtype = torch.promote_types(dtype, torch.float32)
        near = local_mask(of_all, real.shape[1], rotary.local_attention, real.device)
        head_width = size.width // size.heads
        sights = {
            True: Sight(of_all, rotation(positions, head_width, rotary.global_theta, dtype)),
            False: Sight(near, rotation(positions, head_width, rotary.local_theta, dtype)),
        }
        return [sights[rotary.is_global(layer)] for layer in range(size.layers)]

    def forward(
        self, tokens: Tensor, has_padding: bool | None = None, real: Tensor | None = None,
        segments: Tensor | None = None, sequences: Tensor | None = None, causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """(B, T) ids to (B, T, C). has_padding: what the caller knows of it, to save a look at the device.

        real: (B, T) bool, which tokens are not padding, where the ids do not say it: ELECTRA may sample the padding id.
        segments: (B, T) ids of segments, where the encoder has segment embeddings; left out: all 0.
        sequences: (B, T) numbers of the sequences that are packed in a row, which do not see each other; a modern body
        counts the positions of each from 0. causal: each token sees those before it, and itself.
        """
        real = tokens.ne(self.size.padding_id) if real is None else real
        if has_padding is None:
            has_padding = not bool(real.all())
        x = self.embed(tokens, real, segments)
        for layer, sight in enumerate(self._sights(real, has_padding, sequences, causal, x.dtype)):
            x = self.layers[self.size.group_of(layer)](x, sight)
        return self.layer_norm(x)
