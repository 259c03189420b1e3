"""Attention of the tokens of a batch, which lie one behind the other; no sequence sees another.

On a GPU it is PyTorch's attention of sequences of different lengths where the build and the precision have it. On a CPU
each length is computed as it is. With dropout, PyTorch has no fused attention for a CPU: its functions read and write
all scores of a layer seven times. There, the scores of some heads stay in the cache, forward and backward.

Shapes as in `encoder.py`.
"""

import importlib

import torch
import torch.nn.functional as F
from torch import Tensor

from alibert_fairseq.data.layout import Spans
from alibert_fairseq.layers.dropout import draws_bits
from alibert_fairseq.layers.pieces import InPieces, views
from alibert_fairseq.layers.relative import Positions, bias, scale_of
from alibert_fairseq.layers.sight import Sight, masks_of

VARLEN, VARLEN_SINCE, WINDOWS_SINCE = "torch.nn.attention.varlen", (2, 10), (2, 11)  # of torch
TORCH = tuple(map(int, torch.__version__.split(".")[:2]))
WIDEST = 256  # FlashAttention's heads, whose width is a multiple of 8
LONGEST_IN_PIECES = 256  # tokens; without dropout, PyTorch's attention of longer ones is as fast, and keeps no scores


def attend(parts: list[Tensor], sight: Sight, dropout: float, positions: Positions | None = None) -> Tensor:
    """(m, N, H): what the queries read.

    parts: queries, keys and values, (m or n, 1 to 3, N, H) each, several of them in one tensor where they are made by
    one product. positions: of disentangled attention; then all tokens are queries.
    """
    alike, eager_on_cpu = sight.queries is sight.keys and sight.keys.even, draws_bits(parts[0])
    short = torch.is_grad_enabled() and sight.keys.longest <= LONGEST_IN_PIECES
    if eager_on_cpu and (dropout or positions is not None or not alike and short):
        return InPieces.apply(sight, dropout, *(positions or (None, None)), *parts)
    q, k, v = views(parts)
    if positions is not None:
        return _padded_with_positions(q, k, v, sight, dropout, positions)
    if not sight.queries.longest:
        return q + 0 * (k.sum() + v.sum())  # of no query; all have a gradient
    if alike:
        return _rows(q, k, v, sight, dropout)
    if eager_on_cpu:
        return _one_by_one(q, k, v, sight, dropout)
    return _varlen(q, k, v, sight) if _has_varlen(q, sight, dropout) else _padded(q, k, v, sight, dropout)


def _rows(q: Tensor, k: Tensor, v: Tensor, sight: Sight, dropout: float) -> Tensor:
    """Sequences of one length, as rows of a batch."""
    q, k, v = (x.unflatten(0, (-1, sight.keys.longest)).transpose(1, 2) for x in (q, k, v))
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=sight.mask, dropout_p=dropout)
    return attended.transpose(1, 2).flatten(0, 1)


def _one_by_one(q: Tensor, k: Tensor, v: Tensor, sight: Sight, dropout: float) -> Tensor:
    found = []
    split = zip(
        q.split(sight.queries.lengths), k.split(sight.keys.lengths), v.split(sight.keys.lengths), masks_of(sight),
        strict=True,
    )  # fmt: skip
    for own_q, own_k, own_v, mask in split:
        if len(own_q):
            row_q, row_k, row_v = (x.transpose(0, 1)[None] for x in (own_q, own_k, own_v))
            attended = F.scaled_dot_product_attention(row_q, row_k, row_v, attn_mask=mask, dropout_p=dropout)
            found.append(attended[0].transpose(0, 1))
    return torch.cat(found)


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
    real = with_padding(torch.ones_like(sight.keys.rows, dtype=torch.bool), sight.keys)  # (S, T)
    mask = real[:, None, None, :]
    if sight.mask is not None:
        mask = mask & sight.mask[with_padding(sight.places, sight.queries)][:, None]
    q, k, v = (
        with_padding(x, spans).transpose(1, 2)
        for x, spans in ((q, sight.queries), (k, sight.keys), (v, sight.keys))
    )  # fmt: skip
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout).transpose(1, 2)
    return without_padding(attended, sight.queries)


def _padded_with_positions(
    q: Tensor, k: Tensor, v: Tensor, sight: Sight, dropout: float, positions: Positions
) -> Tensor:
    """Rows as long as the longest sequence. What positions add to the scores is the mask of PyTorch's attention."""
    spans, scale = sight.keys, scale_of(q.shape[-1], positions)
    seen = with_padding(torch.ones_like(spans.rows, dtype=torch.bool), spans)[:, None, None, :]
    if sight.mask is not None:
        seen = seen & sight.mask
    q, k, v = (with_padding(x, spans) for x in (q, k, v))  # (S, T, N, H)
    added = scale * bias(q.flatten(0, 1), k.flatten(0, 1), positions, spans.number)
    added = added.masked_fill(~seen, torch.finfo(added.dtype).min)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=added, dropout_p=dropout, scale=scale)
    return without_padding(attended.transpose(1, 2), spans)


def _padded_places(spans: Spans) -> Tensor:
    return spans.rows * spans.longest + spans.ranks


def without_padding(x: Tensor, spans: Spans) -> Tensor:
    """(S, T, ...) to (n, ...)."""
    return x.flatten(0, 1).index_select(0, _padded_places(spans))


def with_padding(x: Tensor, spans: Spans) -> Tensor:
    """(n, ...) to (S, T, ...), with zeros as padding."""
    size = (spans.number, spans.longest)
    return x.new_zeros(size[0] * size[1], *x.shape[1:]).index_copy(0, _padded_places(spans), x).unflatten(0, size)
