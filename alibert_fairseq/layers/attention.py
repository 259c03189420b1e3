"""Attention of the tokens of a batch, which lie one behind the other; no sequence sees another.

On a GPU it is PyTorch's attention of sequences of different lengths where the build and the precision have it. On a CPU
each length is computed as it is. With dropout, PyTorch has no fused attention for a CPU: its functions read and write
all scores of a layer seven times. There, the scores of some heads stay in the cache, forward and backward.

Shapes as in `encoder.py`.
"""

import importlib
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from alibert_fairseq.data.layout import Spans
from alibert_fairseq.layers.dropout import draws_bits, noise

VARLEN, VARLEN_SINCE, WINDOWS_SINCE = "torch.nn.attention.varlen", (2, 10), (2, 11)  # of torch
TORCH = tuple(map(int, torch.__version__.split(".")[:2]))
WIDEST = 256  # FlashAttention's heads, whose width is a multiple of 8
SCORES_AT_A_TIME = 2**18  # 1 MB in float32: the cache of a core
LONGEST_IN_PIECES = 256  # tokens; without dropout, PyTorch's attention of longer ones is as fast, and keeps no scores


class Sight(NamedTuple):
    """Which tokens see which. Those of a layer that computes some tokens alone (queries) see all (keys)."""

    keys: Spans
    queries: Spans
    places: Tensor  # (m,) of the queries in their sequences
    mask: Tensor | None = None  # (T, T) bool of the longest sequence, which places see which; None: all
    window: tuple[int, int] = (-1, -1)  # the same mask as so many tokens before and behind; -1: all


def attend(parts: list[Tensor], sight: Sight, dropout: float) -> Tensor:
    """(m, N, H): what the queries read.

    parts: queries, keys and values, (m or n, 1 to 3, N, H) each, several of them in one tensor where they are made by
    one product.
    """
    alike, eager_on_cpu = sight.queries is sight.keys and sight.keys.even, draws_bits(parts[0])
    short = torch.is_grad_enabled() and sight.keys.longest <= LONGEST_IN_PIECES
    if eager_on_cpu and (dropout or not alike and short):
        return _InPieces.apply(sight, dropout, *parts)
    q, k, v = _views(parts)
    if not sight.queries.longest:
        return q + 0 * (k.sum() + v.sum())  # of no query; all have a gradient
    if alike:
        return _rows(q, k, v, sight, dropout)
    if eager_on_cpu:
        return _one_by_one(q, k, v, sight, dropout)
    return _varlen(q, k, v, sight) if _has_varlen(q, sight, dropout) else _padded(q, k, v, sight, dropout)


def _views(parts: Sequence[Tensor]) -> list[Tensor]:
    return [view for part in parts for view in part.unbind(1)]


def _rows(q: Tensor, k: Tensor, v: Tensor, sight: Sight, dropout: float) -> Tensor:
    """Sequences of one length, as rows of a batch."""
    q, k, v = (x.unflatten(0, (-1, sight.keys.longest)).transpose(1, 2) for x in (q, k, v))
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=sight.mask, dropout_p=dropout)
    return attended.transpose(1, 2).flatten(0, 1)


def _one_by_one(q: Tensor, k: Tensor, v: Tensor, sight: Sight, dropout: float) -> Tensor:
    found = []
    split = zip(
        q.split(sight.queries.lengths), k.split(sight.keys.lengths), v.split(sight.keys.lengths), _masks(sight),
        strict=True,
    )  # fmt: skip
    for own_q, own_k, own_v, mask in split:
        if len(own_q):
            row_q, row_k, row_v = (x.transpose(0, 1)[None] for x in (own_q, own_k, own_v))
            attended = F.scaled_dot_product_attention(row_q, row_k, row_v, attn_mask=mask, dropout_p=dropout)
            found.append(attended[0].transpose(0, 1))
    return torch.cat(found)


def _masks(sight: Sight) -> list[Tensor | None]:
    """Of each sequence, (its queries, its tokens)."""
    if sight.mask is None:
        return [None] * len(sight.keys.lengths)
    if sight.queries is sight.keys:
        return [sight.mask[:length, :length] for length in sight.keys.lengths]
    places = sight.places.split(sight.queries.lengths)
    return [sight.mask[own, :length] for own, length in zip(places, sight.keys.lengths, strict=True)]


def _has_varlen(q: Tensor, sight: Sight, dropout: float) -> bool:
    """Its kernels are those of FlashAttention: GPUs since 2020, half precision, no dropout."""
    if q.dtype not in (torch.float16, torch.bfloat16) or dropout or q.shape[-1] % 8 or q.shape[-1] > WIDEST:
        return False
    if sight.mask is not None and sight.queries is not sight.keys:
        return False  # a window counts from the end of the queries
    if TORCH < (VARLEN_SINCE if sight.mask is None else WINDOWS_SINCE):
        return False
    return torch.cuda.get_device_capability(q.device) >= (8, 0)


def _varlen(q: Tensor, k: Tensor, v: Tensor, sight: Sight) -> Tensor:
    varlen_attn = importlib.import_module(VARLEN).varlen_attn  # here: it takes two seconds to import
    queries, keys = sight.queries, sight.keys
    window = {} if sight.mask is None else {"window_size": sight.window}
    return varlen_attn(
        q.contiguous(), k.contiguous(), v.contiguous(), queries.ends, keys.ends, queries.longest, keys.longest, **window
    )


def _padded(q: Tensor, k: Tensor, v: Tensor, sight: Sight, dropout: float) -> Tensor:
    """Rows as long as the longest sequence."""
    real = _with_padding(torch.ones_like(sight.keys.rows, dtype=torch.bool), sight.keys)  # (S, T)
    mask = real[:, None, None, :]
    if sight.mask is not None:
        mask = mask & sight.mask[_with_padding(sight.places, sight.queries)][:, None]
    q, k, v = (
        _with_padding(x, spans).transpose(1, 2)
        for x, spans in ((q, sight.queries), (k, sight.keys), (v, sight.keys))
    )  # fmt: skip
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout).transpose(1, 2)
    return attended.flatten(0, 1).index_select(0, _padded_places(sight.queries))


def _padded_places(spans: Spans) -> Tensor:
    return spans.rows * spans.longest + spans.ranks


def _with_padding(x: Tensor, spans: Spans) -> Tensor:
    """(n, ...) to (S, T, ...)."""
    size = (spans.number, spans.longest)
    return x.new_zeros(size[0] * size[1], *x.shape[1:]).index_copy(0, _padded_places(spans), x).unflatten(0, size)


class _Piece(NamedTuple):
    """Sequences of one length, or some heads of one sequence, whose scores fit the cache."""

    rows: int
    queries: slice
    keys: slice
    heads: slice
    mask: Tensor | None  # (m, T), what is added to the scores

    def of(self, x: Tensor, tokens: slice) -> Tensor:
        """(n, N, H) to a view of its part, (rows, N, T, H)."""
        return x[tokens, self.heads].unflatten(0, (self.rows, -1)).transpose(1, 2)


class _InPieces(torch.autograd.Function):
    """softmax(q k^T / sqrt(H)), with dropout, times v, as PyTorch computes it up to rounding."""

    @staticmethod
    def forward(ctx, sight: Sight, dropout: float, *parts: Tensor) -> Tensor:
        q, k, v = _views(parts)
        result, kept = torch.empty_like(q, memory_format=torch.contiguous_format), []
        for piece in _pieces(q, sight):
            own_q, own_k, own_v = (
                piece.of(x, tokens).flatten(0, 1)
                for x, tokens in ((q, piece.queries), (k, piece.keys), (v, piece.keys))
            )
            scores = torch.bmm(own_q * q.shape[-1] ** -0.5, own_k.mT)  # (rows x N, m, T)
            if piece.mask is not None:
                scores.add_(piece.mask)
            probabilities = torch.softmax(scores, -1)
            used = [probabilities]
            if dropout:
                used.append(noise(scores.shape, dropout, scores.dtype))
                probabilities = torch.mul(*used, out=scores)
            if any(ctx.needs_input_grad):
                kept += used
            _write(torch.bmm(probabilities, own_v), piece.of(result, piece.queries))
        ctx.save_for_backward(*parts, *kept)
        ctx.sight, ctx.parts, ctx.dropout = sight, len(parts), dropout
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        parts, kept = ctx.saved_tensors[: ctx.parts], iter(ctx.saved_tensors[ctx.parts :])
        grads = [torch.empty_like(part, memory_format=torch.contiguous_format) for part in parts]
        (q, k, v), (to_q, to_k, to_v) = _views(parts), _views(grads)
        for piece in _pieces(q, ctx.sight):
            own_q, own_k, own_v, of_result = (
                piece.of(x, tokens).flatten(0, 1)
                for x, tokens in ((q, piece.queries), (k, piece.keys), (v, piece.keys), (grad, piece.queries))
            )
            probabilities, scale = next(kept), q.shape[-1] ** -0.5
            of_scores = torch.bmm(of_result, own_v.mT)
            if ctx.dropout:
                times = next(kept)
                of_scores.mul_(times)
                used = probabilities * times
            else:
                used = probabilities
            of_scores = torch._softmax_backward_data(of_scores, probabilities, -1, q.dtype)
            _write(torch.bmm(used.mT, of_result), piece.of(to_v, piece.keys))
            _write(torch.bmm(of_scores, own_k * scale), piece.of(to_q, piece.queries))
            _write(torch.bmm(of_scores.mT, own_q * scale), piece.of(to_k, piece.keys))
        return None, None, *grads


def _write(values: Tensor, place: Tensor) -> None:
    place.copy_(values.view(place.shape))


def _pieces(q: Tensor, sight: Sight) -> list[_Piece]:
    """All of a batch, in its order."""
    pieces, heads, query, key, sequence = [], q.shape[1], 0, 0, 0
    lengths, masks = list(zip(sight.queries.lengths, sight.keys.lengths, strict=True)), _masks(sight)
    own_masks = sight.mask is not None and sight.queries is not sight.keys
    while sequence < len(lengths):
        number, length = lengths[sequence]
        rows, room = 1, SCORES_AT_A_TIME // max(1, heads * number * length)
        while not own_masks and rows < room and lengths[sequence + rows : sequence + rows + 1] == [(number, length)]:
            rows += 1
        mask = masks[sequence]
        if mask is not None:
            mask = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(~mask, -torch.inf)
        queries, keys = slice(query, query + rows * number), slice(key, key + rows * length)
        at_a_time = heads if room else max(1, SCORES_AT_A_TIME // (number * length))
        for head in range(0, heads, at_a_time):
            pieces.append(_Piece(rows, queries, keys, slice(head, head + at_a_time), mask))
        query, key, sequence = queries.stop, keys.stop, sequence + rows
    return pieces
