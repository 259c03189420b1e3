"""The one encoder, under the parameter names of fairseq's RoBERTa: BERT's post-LN body, or ModernBERT's pre-LN body.

What the papers' models change in BERT's are numbers: segment embeddings, narrower embeddings, layers used several
times. DeBERTa's body is BERT's with relative positions, and a convolution beside the first layer.

Shape legend: B = rows and T = columns of a padded batch, n = its real tokens, M = its masked tokens, S = its sequences
(`data/layout.py`). C = width, E = embedding size, N = heads, H = C / N, V = vocabulary.
"""

from functools import partial
from typing import NamedTuple, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.data.layout import Layout, Spans
from alibert_fairseq.layers.attention import attend, with_padding, without_padding
from alibert_fairseq.layers.dropout import Dropout
from alibert_fairseq.layers.relative import Positions, Table, rows_of_distances
from alibert_fairseq.layers.rotary import rotate, rotation
from alibert_fairseq.layers.sight import Sight, visible
from alibert_fairseq.models.size import ACTIVATIONS, CONVOLUTION_ACTIVATIONS, EncoderSize, layer_norm

EMBEDDINGS = ("embed_tokens", "embed_positions", "embed_segments", "layernorm_embedding")  # of a SentenceEncoder


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

    def forward(self, x: Tensor, view: "View") -> Tensor:
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
            if size.relative is not None:  # DeBERTa's is as wide as the layers
                self.layernorm_embedding = layer_norm(size, size.width)
        if size.embedding_dim != size.width:
            self.embed_project = nn.Linear(size.embedding_dim, size.width, bias=size.relative is None)
        if size.relative is not None:
            self._new_relative(size)
        modern = size.rotary is not None
        layers = (ModernLayer(size, number) if modern else EncoderLayer(size) for number in range(size.groups))
        self.layers = nn.ModuleList(layers)
        self.layer_norm = layer_norm(size, size.width) if modern else nn.Identity()
        self.dropout = Dropout(size.dropout)

    def _new_embeddings(self, size: EncoderSize) -> None:
        pad = size.padding_id
        self.embed_tokens = nn.Embedding(size.vocabulary, size.embedding_dim, padding_idx=pad)
        if size.has_positions:
            self.embed_positions = nn.Embedding(size.max_positions + pad + 1, size.embedding_dim, padding_idx=pad)
        if size.segments:
            self.embed_segments = nn.Embedding(size.segments, size.embedding_dim)
        self.layernorm_embedding = layer_norm(size, size.width if size.relative else size.embedding_dim)

    def _new_relative(self, size: EncoderSize) -> None:
        assert size.relative is not None
        self.embed_relative = nn.Embedding(2 * size.relative.span, size.width)
        self.relative_layer_norm = layer_norm(size, size.width) if size.relative.normalised else nn.Identity()
        if size.relative.convolution:
            self.convolution = Convolution(size)

    def embed(self, tokens: Tensor, places: Tensor, segments: Tensor | None = None) -> Tensor:
        """(n,) ids, their places in their sequences, and their segments (None: all 0), to (n, C).

        Positions count from padding_id + 1, as in fairseq.
        """
        x = self.embed_tokens(tokens)
        if self.size.has_positions:
            x = x + self.embed_positions(places + self.size.padding_id + 1)
        if self.size.segments:
            x = x + self.embed_segments(torch.zeros_like(tokens) if segments is None else segments)
        if not hasattr(self, "embed_project"):
            return self.dropout(self.layernorm_embedding(x))
        if self.size.relative is not None:  # DeBERTa's, ahead of the LayerNorm
            return self.dropout(self.layernorm_embedding(self.embed_project(x)))
        return self.embed_project(self.dropout(self.layernorm_embedding(x)))

    def _views(self, layout: Layout, causal: bool, dtype: torch.dtype, only: bool) -> list[View]:
        """What each layer knows of a batch. only: the last one computes the masked tokens alone."""
        rotary = self.size.rotary
        kinds = [rotary is None or rotary.is_global(layer) for layer in range(self.size.layers)]
        views = {kind: self._view(layout.tokens, kind, causal, dtype) for kind in set(kinds)}
        found = [views[kind] for kind in kinds]
        if only and self.size.relative is None:
            places = layout.tokens.ranks.index_select(0, layout.masked)
            sight = found[-1].sight._replace(queries=layout.of_masked, places=places)
            found[-1] = found[-1]._replace(sight=sight)
        if only:
            found[-1] = found[-1]._replace(only=layout.masked)
        return found

    def _view(self, tokens: Spans, is_global: bool, causal: bool, dtype: torch.dtype) -> View:
        rotary, turned = self.size.rotary, None
        mask, window = visible(tokens, None if rotary is None or is_global else rotary.local_attention, causal)
        if rotary is not None:
            theta = rotary.global_theta if is_global else rotary.local_theta
            turned = rotation(tokens.ranks, self.size.width // self.size.heads, theta, dtype)
        table = None if self.size.relative is None else self._table(tokens)
        return View(Sight(tokens, tokens, tokens.ranks, mask, window), turned, table)

    def _table(self, tokens: Spans) -> Table:
        """The rows of the distances that a batch has, which lie one behind the other."""
        assert self.size.relative is not None
        of_distances = rows_of_distances(self.size.relative, tokens.longest, tokens.ranks.device)
        span = self.size.relative.span
        reach = min(tokens.longest - 1, span)
        first, last = span - reach, min(span + reach, 2 * span - 1)
        rows = self.relative_layer_norm(self.embed_relative.weight[first : last + 1])
        return Table(rows, of_distances - first)

    def forward(
        self, tokens: Tensor, layout: Layout, segments: Tensor | None = None, causal: bool = False,
        only_masked: bool = False,
    ) -> Tensor:  # fmt: skip
        """(n,) ids of a batch, one sequence behind the other, to (n, C); only_masked: to (M, C), with less work.

        segments: (n,) ids, where the encoder has segment embeddings; left out: all 0. causal: each token sees those
        before it, and itself.
        """
        x = self.embed(tokens, layout.tokens.ranks, segments)
        views = self._views(layout, causal, torch.promote_types(x.dtype, torch.float32), only_masked)
        embedded = x
        for layer, view in enumerate(views):
            x = self.layers[self.size.group_of(layer)](x, view)
            if layer == 0 and hasattr(self, "convolution"):
                x = self.convolution(embedded, x, view)
        return self.layer_norm(x)

    def of_rows(self, tokens: Tensor, real: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """(B, T) ids to (B, T, C), with zeros at padding. real: (B, T) bool, where the ids do not say it."""
        layout = Layout.of(tokens.ne(self.size.padding_id) if real is None else real)
        segments = None if segments is None else layout.flat(segments)
        return layout.padded(self(layout.flat(tokens), layout, segments))
