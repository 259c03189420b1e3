"""Rotary positions and the two kinds of attention of a modern body (ModernBERT, Warner et al. 2024).

Shapes as in `encoder.py`. Rotary positions: Su et al. 2021, in the form of transformers' `rotate_half`: the first half
of a head turns against the second.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LEAST = (  # of a field, and the option that gives it
    ("local_attention", 2, "local-attention"), ("global_every", 1, "global-attention-every"),
    ("global_theta", 1, "global-rope-theta"), ("local_theta", 1, "local-rope-theta"),
)  # fmt: skip


@dataclass(frozen=True)
class Rotary:
    """How a modern body sees positions. Defaults: ModernBERT-base (answerdotai/ModernBERT-base, `config.json`)."""

    local_attention: int = 128  # tokens that a local layer sees, half of them on each side
    global_every: int = 3  # the layers 0, 3, 6, ... see all tokens
    global_theta: float = 160000.0  # base of the rotary wavelengths
    local_theta: float = 10000.0

    def __post_init__(self):
        for name, least, option in LEAST:
            if not least <= getattr(self, name) < math.inf:
                raise ValueError(
                    f"--{option} {getattr(self, name)} is not a number of {least} or more; leave it out for "
                    "ModernBERT's"
                )

    def is_global(self, layer: int) -> bool:
        """Whether a layer sees all tokens of its sequence."""
        return layer % self.global_every == 0


class Sight(NamedTuple):
    """What a layer of one kind needs to know of a batch."""

    may_attend: Tensor | None  # (B or 1, 1, T or 1, T) bool, or None where every token sees every other
    rotation: tuple[Tensor, Tensor]  # cosines and sines, (B or 1, 1, T, H) each


def places(real: Tensor, sequences: Tensor | None) -> Tensor:
    """(B, T), the place of each token in its sequence, from 0. Padding continues to count.

    sequences: (B, T) numbers of the sequences that are packed in a row, each in one piece; None: one a row.
    """
    index = torch.arange(real.shape[1], device=real.device).expand(real.shape)
    if sequences is None:
        return index
    begins = torch.ones_like(real)
    begins[:, 1:] = sequences[:, 1:] != sequences[:, :-1]
    return index - torch.where(begins, index, 0).cummax(dim=1).values


def global_mask(real: Tensor, has_padding: bool, sequences: Tensor | None, causal: bool = False) -> Tensor | None:
    """Which tokens of a row see which: those of one sequence; in a causal batch, none behind themselves. Padding behind
    packed sequences has a number of its own."""
    found = None
    if sequences is not None:
        found = (sequences[:, :, None] == sequences[:, None, :])[:, None]
    elif has_padding:
        found = real[:, None, None, :]
    if not causal:
        return found
    before = torch.ones(real.shape[1], real.shape[1], dtype=torch.bool, device=real.device).tril()[None, None]
    return before if found is None else before & found


def local_mask(of_all: Tensor | None, length: int, window: int, device: torch.device) -> Tensor | None:
    """The same within half a window on each side. Each token sees itself, so that no row of the mask is empty."""
    if length - 1 <= window // 2:
        return of_all
    index = torch.arange(length, device=device)
    distance = (index[:, None] - index).abs()  # (T, T)
    near = distance <= window // 2
    return near[None, None] if of_all is None else (near & of_all) | (distance == 0)


def rotation(positions: Tensor, head_width: int, theta: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """(B, T) places to cosines and sines of (B, 1, T, H), computed in float32 as transformers does."""
    powers = torch.arange(0, head_width, 2, dtype=torch.float32, device=positions.device) / head_width
    angles = positions[:, None, :, None].float() * (1.0 / theta**powers)  # (B, 1, T, H / 2)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Tensor, cos_sin: tuple[Tensor, Tensor]) -> Tensor:
    """(B, N, T, H) queries or keys, turned by their places; the result is float32 or better."""
    return _Rotate.apply(x, *cos_sin)


class _Rotate(torch.autograd.Function):
    """x cos + rotate_half(x) sin, without the copies of x that `torch.cat` makes. The gradient turns back."""

    @staticmethod
    def forward(ctx, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.dtype = x.dtype
        return _turned(x.to(cos.dtype), cos, sin)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        cos, sin = ctx.saved_tensors
        return _turned(grad, cos, -sin).to(ctx.dtype), None, None


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    result = x * cos
    (first, second), (to_first, to_second) = x.chunk(2, -1), result.chunk(2, -1)
    sin = sin.chunk(2, -1)[0]  # both halves are alike
    to_first.addcmul_(second, sin, value=-1)
    to_second.addcmul_(first, sin)
    return result
