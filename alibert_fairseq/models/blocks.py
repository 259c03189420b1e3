"""The blocks of an encoder: attention, BERT's post-LN layer, ModernBERT's pre-LN layer, DeBERTa's convolution.

Shapes as in `encoder.py`; m = tokens that a layer is to compute.
"""

from functools import partial
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.layers.attention import attend, with_padding, without_padding
from alibert_fairseq.layers.dropout import Dropout
from alibert_fairseq.layers.relative import CONVOLUTION_ACTIVATIONS, Positions, Table
from alibert_fairseq.layers.rotary import rotate
from alibert_fairseq.layers.sight import Sight
from alibert_fairseq.models.size import ACTIVATIONS, EncoderSize, layer_norm


class View(NamedTuple):
    """What a layer needs to know of a batch beside its tokens."""

    sight: Sight
    rotation: tuple[Tensor, Tensor] | None = None  # of a modern body: cosines and sines, (n, 1, 1, H) each
    table: Table | None = None  # of a DeBERTa body
    only: Tensor | None = None  # (m,) the tokens that it is to compute; None: all

    def of_queries(self, rotation: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The rotation of those tokens."""
        cosines, sines = rotation
        return rotation if self.only is None else (cosines.index_select(0, self.only), sines.index_select(0, self.only))

    def own(self, x: Tensor) -> Tensor:
        """Those tokens of (n, ...)."""
        return x if self.only is None else x.index_select(0, self.only)


class SelfAttention(nn.Module):
    """Multi-head self-attention."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.heads = size.heads
        self.dropout = size.attention_dropout
        linear = partial(nn.Linear, size.width, size.width, bias=size.rotary is None)
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (linear() for _ in range(4))
        if size.relative is not None:
            self.kinds = size.relative.kinds
            self.position_dropout = Dropout(size.dropout)
            if not size.relative.shared and "c2p" in self.kinds:
                self.pos_k_proj = linear()
            if not size.relative.shared and "p2c" in self.kinds:
                self.pos_q_proj = linear()

    def forward(self, x: Tensor, view: View) -> Tensor:
        """(n, C) to (n, C), or to (m, C) of the queries."""
        if view.only is None or view.table is not None:
            parts = [self._projected(x, self.q_proj, self.k_proj, self.v_proj)]
        else:
            own = x.index_select(0, view.only)
            parts = [self._projected(own, self.q_proj), self._projected(x, self.k_proj, self.v_proj)]
        dtype = parts[0].dtype
        if view.rotation is not None:
            q, k, v = (one for part in parts for one in part.split(1, dim=1))
            v = v.contiguous()  # a view would keep all of them
            parts = [rotate(q, view.of_queries(view.rotation)), rotate(k, view.rotation), v]
        wide = dtype if x.is_cuda else torch.promote_types(dtype, torch.float32)
        with torch.autocast(x.device.type, enabled=False):  # on a CPU, attention in bfloat16 takes twice the time
            parts = [part.to(wide) for part in parts]
            positions = None if view.table is None else self._positions(view.table, wide)
            attended = attend(parts, view.sight, self.dropout if self.training else 0.0, positions)
        if view.table is not None:
            attended = view.own(attended)
        return self.out_proj(attended.to(dtype).flatten(1))

    def _positions(self, table: Table, dtype: torch.dtype) -> Positions:
        """The keys and queries of distances."""
        rows = self.position_dropout(table.rows)
        keys = queries = None
        if "c2p" in self.kinds:
            keys = self._projected(rows, getattr(self, "pos_k_proj", self.k_proj))[:, 0].to(dtype)
            keys = keys.index_select(0, table.of_distances)
        if "p2c" in self.kinds:
            queries = self._projected(rows, getattr(self, "pos_q_proj", self.q_proj))[:, 0].to(dtype)
            queries = queries.index_select(0, table.of_distances.flip(0))
        return Positions(keys, queries)

    def _projected(self, x: Tensor, *projections: nn.Linear) -> Tensor:
        """(n, C) to (n, 1 to 3, N, H), by one product, which reads x once."""
        weights: list[Tensor] = [one.weight for one in projections]
        biases: list[Tensor] = [one.bias for one in projections if one.bias is not None]
        weight = torch.cat(weights) if len(weights) > 1 else weights[0]
        bias = None if not biases else torch.cat(biases) if len(biases) > 1 else biases[0]
        return F.linear(x, weight, bias).unflatten(1, (len(projections), self.heads, -1))


class EncoderLayer(nn.Module):
    """One post-LN block: attention, then the feed-forward network, each with a residual and a LayerNorm."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.self_attn = SelfAttention(size)
        self.self_attn_layer_norm = nn.LayerNorm(size.width, eps=size.layer_norm_eps)
        self.fc1 = nn.Linear(size.width, size.ffn_width)
        self.fc2 = nn.Linear(size.ffn_width, size.width)
        self.final_layer_norm = nn.LayerNorm(size.width, eps=size.layer_norm_eps)
        self.dropout = Dropout(size.dropout)
        self.activation = ACTIVATIONS[size.activation]
        self.activation_dropout = Dropout(size.activation_dropout)

    def forward(self, x: Tensor, view: View) -> Tensor:
        """(n, C) to (n, C), or to (m, C)."""
        x = self.self_attn_layer_norm(view.own(x) + self.dropout(self.self_attn(x, view)))
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
        self.dropout = Dropout(size.dropout)
        self.activation = ACTIVATIONS[size.activation]
        self.activation_dropout = Dropout(size.activation_dropout)

    def forward(self, x: Tensor, view: View) -> Tensor:
        """(n, C) to (n, C), or to (m, C)."""
        x = view.own(x) + self.dropout(self.self_attn(self.self_attn_layer_norm(x), view))
        inner, gate = self.fc1(self.final_layer_norm(x)).chunk(2, dim=-1)
        if not x.is_cuda:
            inner = inner.contiguous()  # a CPU's GELU of a view takes four times as long
        return x + self.dropout(self.fc2(self.activation_dropout(self.activation(inner) * gate)))


class Convolution(nn.Module):
    """What DeBERTa-v2 (xlarge) adds to the first layer: a convolution of the embeddings, a residual, a LayerNorm."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        assert size.relative is not None
        width, groups = size.relative.convolution, size.relative.convolution_groups
        self.conv = nn.Conv1d(size.width, size.width, width, padding=width // 2, groups=groups)
        self.layer_norm = layer_norm(size, size.width)
        self.dropout = Dropout(size.dropout)
        self.activation = CONVOLUTION_ACTIVATIONS[size.relative.convolution_activation]

    def forward(self, embedded: Tensor, x: Tensor, view: View) -> Tensor:
        """(n, C) of the embeddings and (n or m, C) of the first layer, to its like. No sequence reads another."""
        rows = with_padding(embedded, view.sight.keys).transpose(1, 2)
        found = view.own(without_padding(self.conv(rows).transpose(1, 2), view.sight.keys))
        return self.layer_norm(x + self.activation(self.dropout(found)))
