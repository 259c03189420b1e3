"""The one encoder, under the parameter names of fairseq's RoBERTa: BERT's post-LN body, or ModernBERT's pre-LN body.

What the papers' models change in BERT's are numbers: segment embeddings, narrower embeddings, layers used several
times.

Shape legend: B = rows and T = columns of a padded batch, n = its real tokens, M = its masked tokens, S = its sequences
(`data/layout.py`). C = width, E = embedding size, N = heads, H = C / N, V = vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.data.layout import Layout, Spans
from alibert_fairseq.layers.attention import Sight, attend
from alibert_fairseq.layers.dropout import Dropout
from alibert_fairseq.layers.rotary import Rotary, rotate, rotation, visible

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
    """Multi-head self-attention."""

    def __init__(self, size: EncoderSize):
        super().__init__()
        self.heads = size.heads
        self.dropout = size.attention_dropout
        linear = partial(nn.Linear, size.width, size.width, bias=size.rotary is None)
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (linear() for _ in range(4))

    def forward(self, x: Tensor, view: "View") -> Tensor:
        """(n, C) to (n, C), or to (m, C) of the queries."""
        if view.only is None:
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
            attended = attend(parts, view.sight, self.dropout if self.training else 0.0)
        return self.out_proj(attended.to(dtype).flatten(1))

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
    only: Tensor | None = None  # (m,) the tokens that it is to compute; None: all

    def of_queries(self, rotation: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The rotation of those tokens."""
        cosines, sines = rotation
        return rotation if self.only is None else (cosines.index_select(0, self.only), sines.index_select(0, self.only))

    def own(self, x: Tensor) -> Tensor:
        """Those tokens of (n, C)."""
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
        self.dropout = Dropout(size.dropout)

    def _new_embeddings(self, size: EncoderSize) -> None:
        pad = size.padding_id
        self.embed_tokens = nn.Embedding(size.vocabulary, size.embedding_dim, padding_idx=pad)
        if size.rotary is None:
            self.embed_positions = nn.Embedding(size.max_positions + pad + 1, size.embedding_dim, padding_idx=pad)
        if size.segments:
            self.embed_segments = nn.Embedding(size.segments, size.embedding_dim)
        self.layernorm_embedding = layer_norm(size, size.embedding_dim)

    def embed(self, tokens: Tensor, places: Tensor, segments: Tensor | None = None) -> Tensor:
        """(n,) ids, their places in their sequences, and their segments (None: all 0), to (n, C).

        Positions count from padding_id + 1, as in fairseq.
        """
        x = self.embed_tokens(tokens)
        if self.size.rotary is None:
            x = x + self.embed_positions(places + self.size.padding_id + 1)
        if self.size.segments:
            x = x + self.embed_segments(torch.zeros_like(tokens) if segments is None else segments)
        x = self.dropout(self.layernorm_embedding(x))
        return self.embed_project(x) if hasattr(self, "embed_project") else x

    def _views(self, layout: Layout, causal: bool, dtype: torch.dtype, only: bool) -> list[View]:
        """What each layer knows of a batch. only: the last one computes the masked tokens alone."""
        rotary = self.size.rotary
        kinds = [rotary is None or rotary.is_global(layer) for layer in range(self.size.layers)]
        views = {kind: self._view(layout.tokens, kind, causal, dtype) for kind in set(kinds)}
        found = [views[kind] for kind in kinds]
        if only:
            places = layout.tokens.ranks.index_select(0, layout.masked)
            sight = found[-1].sight._replace(queries=layout.of_masked, places=places)
            found[-1] = found[-1]._replace(sight=sight, only=layout.masked)
        return found

    def _view(self, tokens: Spans, is_global: bool, causal: bool, dtype: torch.dtype) -> View:
        rotary, turned = self.size.rotary, None
        mask, window = visible(tokens, None if rotary is None or is_global else rotary.local_attention, causal)
        if rotary is not None:
            theta = rotary.global_theta if is_global else rotary.local_theta
            turned = rotation(tokens.ranks, self.size.width // self.size.heads, theta, dtype)
        return View(Sight(tokens, tokens, tokens.ranks, mask, window), turned)

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
        for layer, view in enumerate(views):
            x = self.layers[self.size.group_of(layer)](x, view)
        return self.layer_norm(x)

    def of_rows(self, tokens: Tensor, real: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """(B, T) ids to (B, T, C), with zeros at padding. real: (B, T) bool, where the ids do not say it."""
        layout = Layout.of(tokens.ne(self.size.padding_id) if real is None else real)
        segments = None if segments is None else layout.flat(segments)
        return layout.padded(self(layout.flat(tokens), layout, segments))
