"""Relative positions of disentangled attention (DeBERTa, He et al. 2021 section 3.1; V3: log buckets, shared keys).

A distance between two tokens has a row of a table. Its key answers the query of the one token, its query asks the key
of the other. Shapes as in `encoder.py`; T = tokens of the longest sequence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

CONVOLUTION_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "gelu": F.gelu}
KINDS = ("c2p", "p2c")  # content to position, position to content: DeBERTa's names


@dataclass(frozen=True)
class Relative:
    """How a DeBERTa body sees positions. Defaults: DeBERTaV3 (microsoft/deberta-v3-base, `config.json`)."""

    buckets: int = 256  # rows a direction; distances from half of them on share rows; 0: one row a distance
    longest: int = 512  # the distance from which on all share a row
    kinds: tuple[str, ...] = KINDS
    shared: bool = True  # positions have the projections of contents
    normalised: bool = True  # a LayerNorm over the table
    absolute: bool = False  # learned absolute positions in the embeddings too
    convolution: int = 0  # tokens that the convolution beside the first layer reads; 0: none
    convolution_groups: int = 1
    convolution_activation: str = "tanh"

    def __post_init__(self):
        if not self.kinds or set(self.kinds) - set(KINDS):
            raise ValueError(f"the position attention is {'|'.join(self.kinds) or 'empty'}, not c2p, p2c or c2p|p2c")
        if self.buckets < 0 or self.buckets == 1:
            raise ValueError(f"the number of position buckets is {self.buckets}; give 0, or 2 or more")
        if self.longest < max(2, self.buckets // 2 + 2):
            raise ValueError(
                f"distances share a row from {self.longest} on, which is too near for {self.buckets} position buckets; "
                f"give {max(2, self.buckets // 2 + 2)} or more as the largest relative position"
            )
        if self.convolution:
            self._check_convolution()

    def _check_convolution(self) -> None:
        if self.convolution < 0 or not self.convolution % 2:
            raise ValueError(f"the convolution reads {self.convolution} tokens; give an odd number, or 0 for none")
        if self.convolution_groups < 1:
            raise ValueError(f"the convolution has {self.convolution_groups} groups; give 1 or more")
        if self.convolution_activation not in CONVOLUTION_ACTIVATIONS:
            known = " or ".join(CONVOLUTION_ACTIVATIONS)
            raise ValueError(f"the activation of the convolution is {self.convolution_activation}, not {known}")

    @property
    def span(self) -> int:
        """Rows a direction; the table has twice as many."""
        return self.buckets or self.longest

    def reach(self, longest: int) -> int:
        """How far from the middle of the table the rows are that sequences of at most so many tokens read.

        A bucket is never further than its distance where the logarithm begins with a slope of at most 1.
        """
        half = self.buckets // 2
        shrinks = not half or math.log((self.longest - 1) / half) >= (half - 1) / half
        return min(longest - 1, self.span) if shrinks else self.span


def rows_of_distances(relative: Relative, longest: int, device: torch.device) -> Tensor:
    """(2 T - 1,) the row of each distance from T - 1 down to 1 - T: the place of the query less that of the key.

    Distances below half of the buckets have one each. Longer ones share, by the logarithm, as transformers rounds it in
    float32 (`make_log_bucket_position`).
    """
    distances = torch.arange(longest - 1, -longest, -1, device=device)
    if relative.buckets:
        half = relative.buckets // 2
        far = distances.abs().clamp(min=half - 1)
        scale = torch.log(torch.tensor((relative.longest - 1) / half))
        steps = torch.ceil(torch.log(far / half) / scale * (half - 1)) + half
        distances = torch.where(far <= half, distances, (steps * distances.sign()).long())
    return (distances + relative.span).clamp(0, 2 * relative.span - 1)


class Positions(NamedTuple):
    """What attention reads of distances, of the heads of a layer. None: nothing of that kind."""

    keys: Tensor | None  # (2 T - 1, N, H) from distance T - 1 down to 1 - T; a token's query reads them
    queries: Tensor | None  # (2 T - 1, N, H) from distance 1 - T up to T - 1; a token's key is read by them

    @property
    def scale(self) -> float:
        """Of the scores, relative to those of contents alone."""
        return (1 + sum(part is not None for part in self)) ** -0.5


class Table(NamedTuple):
    """The rows that a batch reads, and which of them each distance has."""

    rows: Tensor  # (R, C)
    of_distances: Tensor  # (2 T - 1,)


def skewed(products: Tensor, rows: int) -> Tensor:
    """(N, rows x T, 2 T - 1) products of tokens and distances to the view (rows, N, T, T) of tokens and tokens.

    What stands at (a, b) is the product of a with column T - 1 + b - a.
    """
    length = products.shape[1] // rows
    by_row = products.unflatten(1, (rows, length)).transpose(0, 1)
    if length == 1:
        return by_row
    # one behind the other, the products of the next token lie 2 T - 1 further, and those wanted 2 T - 2
    end_to_end = by_row.flatten(-2)[..., length - 1 : length * (2 * length - 1) - 1]
    return end_to_end.unflatten(-1, (length, 2 * length - 2))[..., :length]


def products(tokens: Tensor, distances: Tensor) -> Tensor:
    """(rows x T, N, H) and (2 T - 1, N, H) to (N, rows x T, 2 T - 1)."""
    return torch.bmm(tokens.transpose(0, 1), distances.permute(1, 2, 0))


def bias(q: Tensor, k: Tensor, positions: Positions, rows: int) -> Tensor:
    """(rows x T, N, H) queries and keys to what is added to their scores, (rows, N, T, T), without the scale."""
    parts = []
    if positions.keys is not None:
        parts.append(skewed(products(q, positions.keys), rows))
    if positions.queries is not None:
        parts.append(skewed(products(k, positions.queries), rows).mT)
    return sum(parts[1:], parts[0])


def add_gradients(of_skewed: Tensor, x: Tensor, to_x: Tensor, part: Tensor | None, to_part: Tensor | None) -> None:
    """Add to the gradients of tokens and distances that of `skewed` of their products, (rows, N, T, T)."""
    if part is None or to_part is None:
        return
    of_products = x.new_zeros(x.shape[1], len(x), len(part))
    skewed(of_products, len(of_skewed)).copy_(of_skewed)
    to_x.add_(torch.bmm(of_products, part.transpose(0, 1)).transpose(0, 1))
    to_part.add_(torch.bmm(of_products.mT, x.transpose(0, 1)).transpose(0, 1))


def of_length(part: Tensor, length: int) -> Tensor:
    """The distances of shorter sequences."""
    longest = (len(part) + 1) // 2
    return part[longest - length : longest + length - 1]


def scale_of(head_width: int, positions: Positions | None) -> float:
    """Of the scores of heads so wide."""
    return head_width**-0.5 * (1.0 if positions is None else positions.scale)
