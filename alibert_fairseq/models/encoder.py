"""The one encoder, under the parameter names of fairseq's RoBERTa: BERT's post-LN body, or ModernBERT's pre-LN body.

What the papers' models change in BERT's are numbers: segment embeddings, narrower embeddings, layers used several
times. DeBERTa's body is BERT's with relative positions, and a convolution beside the first layer.

Shape legend: B = rows and T = columns of a padded batch, n = its real tokens, M = its masked tokens, S = its sequences
(`data/layout.py`). C = width, E = embedding size, N = heads, H = C / N, V = vocabulary.
"""

from typing import Optional

import torch
import torch.nn as nn
from torch import Tensor

from alibert_fairseq.data.layout import Layout, Spans
from alibert_fairseq.layers.dropout import Dropout
from alibert_fairseq.layers.relative import Table, rows_of_distances
from alibert_fairseq.layers.rotary import rotation
from alibert_fairseq.layers.sight import Sight, visible
from alibert_fairseq.models.blocks import Convolution, EncoderLayer, ModernLayer, View
from alibert_fairseq.models.size import EncoderSize, layer_norm

EMBEDDINGS = ("embed_tokens", "embed_positions", "embed_segments", "layernorm_embedding")  # of a SentenceEncoder


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
        span, reach = self.size.relative.span, self.size.relative.reach(tokens.longest)
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
