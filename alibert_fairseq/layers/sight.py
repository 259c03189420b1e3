"""Which tokens of a batch see which. Shapes as in `encoder.py`."""

from typing import NamedTuple

import torch
from torch import Tensor

from alibert_fairseq.data.layout import Spans


class Sight(NamedTuple):
    """Which tokens see which. Those of a layer that computes some tokens alone (queries) see all (keys)."""

    keys: Spans
    queries: Spans
    places: Tensor  # (m,) of the queries in their sequences
    mask: Tensor | None = None  # (T, T) bool of the longest sequence, which places see which; None: all
    window: tuple[int, int] = (-1, -1)  # the same mask as so many tokens before and behind; -1: all


def visible(tokens: Spans, window: int | None, causal: bool) -> tuple[Tensor | None, tuple[int, int]]:
    """Which places of a sequence see which: (T, T) bool, or None for all; and how far before and behind, or -1.

    window: tokens that each sees, half of them on each side; None: all. causal: none behind itself.
    """
    half = tokens.longest if window is None else window // 2
    if half >= tokens.longest - 1 and not causal:
        return None, (-1, -1)
    places = torch.arange(tokens.longest, device=tokens.ranks.device)
    behind = places - places[:, None]
    mask = behind.abs() <= half
    whole = window is None or half >= tokens.longest - 1
    before = -1 if whole else half
    return (mask & (behind <= 0), (before, 0)) if causal else (mask, (half, half))


def masks_of(sight: Sight) -> list[Tensor | None]:
    """Of each sequence, (its queries, its tokens)."""
    if sight.mask is None:
        return [None] * len(sight.keys.lengths)
    if sight.queries is sight.keys:
        return [sight.mask[:length, :length] for length in sight.keys.lengths]
    places = sight.places.split(sight.queries.lengths)
    return [sight.mask[own, :length] for own, length in zip(places, sight.keys.lengths, strict=True)]
