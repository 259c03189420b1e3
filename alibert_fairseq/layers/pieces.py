"""Attention on a CPU in pieces, whose scores stay in the cache, forward and backward. Shapes as in `encoder.py`."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from alibert_fairseq.layers.dropout import noise
from alibert_fairseq.layers.relative import Positions, add_gradients, bias, of_length, scale_of
from alibert_fairseq.layers.sight import Sight, masks_of

SCORES_AT_A_TIME = 2**18  # 1 MB in float32: the cache of a core


def views(parts: Sequence[Tensor]) -> list[Tensor]:
    """Queries, keys and values as views of parts, which are (n, 1 to 3, N, H)."""
    return [view for part in parts for view in part.unbind(1)]


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

    def tokens(self, x: Tensor) -> Tensor:
        """(n, N, H) to its part, where all tokens are queries."""
        return x[self.keys, self.heads]

    def distances(self, positions: Positions) -> Positions:
        """Those between tokens of its sequences, of its heads."""
        length = (self.keys.stop - self.keys.start) // self.rows
        keys, queries = (None if x is None else of_length(x, length)[:, self.heads] for x in positions)
        return Positions(keys, queries)


class InPieces(torch.autograd.Function):
    """softmax(q k^T / sqrt(H)), with dropout, times v, as PyTorch computes it up to rounding.

    keys, queries: of disentangled attention (`relative.py`), or None. Their products are added to the scores.
    """

    @staticmethod
    def forward(ctx, sight: Sight, dropout: float, keys: Tensor | None, queries: Tensor | None, *parts: Tensor):
        q, k, v = views(parts)
        result, kept = torch.empty_like(q, memory_format=torch.contiguous_format), []
        positions = None if keys is None and queries is None else Positions(keys, queries)
        scale = scale_of(q.shape[-1], positions)
        for piece in _pieces(q, sight):
            own_q, own_k, own_v = (
                piece.of(x, tokens).flatten(0, 1)
                for x, tokens in ((q, piece.queries), (k, piece.keys), (v, piece.keys))
            )
            scores = torch.bmm(own_q * scale, own_k.mT)  # (rows x N, m, T)
            if positions is not None:
                added = bias(piece.tokens(q), piece.tokens(k), piece.distances(positions), piece.rows)
                scores.view(added.shape).add_(added, alpha=scale)
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
        ctx.save_for_backward(keys, queries, *parts, *kept)
        ctx.sight, ctx.parts, ctx.dropout, ctx.scale = sight, len(parts), dropout, scale
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        keys, queries, *saved = ctx.saved_tensors
        parts, kept = saved[: ctx.parts], iter(saved[ctx.parts :])
        grads = [torch.empty_like(part, memory_format=torch.contiguous_format) for part in parts]
        (q, k, v), (to_q, to_k, to_v) = views(parts), views(grads)
        positions = Positions(keys, queries)
        to_positions = Positions(*(None if part is None else torch.zeros_like(part) for part in positions))
        for piece in _pieces(q, ctx.sight):
            own_q, own_k, own_v, of_result = (
                piece.of(x, tokens).flatten(0, 1)
                for x, tokens in ((q, piece.queries), (k, piece.keys), (v, piece.keys), (grad, piece.queries))
            )
            probabilities, scale = next(kept), ctx.scale
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
            if any(part is not None for part in positions):
                of_bias = of_scores.unflatten(0, (piece.rows, -1)).mul_(scale)
                distances, to_distances = piece.distances(positions), piece.distances(to_positions)
                add_gradients(of_bias, piece.tokens(q), piece.tokens(to_q), distances.keys, to_distances.keys)
                add_gradients(of_bias.mT, piece.tokens(k), piece.tokens(to_k), distances.queries, to_distances.queries)
        return None, None, *to_positions, *grads


def _write(values: Tensor, place: Tensor) -> None:
    place.copy_(values.view(place.shape))


def _pieces(q: Tensor, sight: Sight) -> list[_Piece]:
    """All of a batch, in its order."""
    pieces, heads, query, key, sequence = [], q.shape[1], 0, 0, 0
    lengths, masks = list(zip(sight.queries.lengths, sight.keys.lengths, strict=True)), masks_of(sight)
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
