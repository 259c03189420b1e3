"""Rotary positions of a modern body (ModernBERT, Warner et al. 2024).

Shapes as in `encoder.py`. Rotary positions: Su et al. 2021, in the form of transformers' `rotate_half`: the first half
of a head turns against the second.
"""

import math
from dataclasses import dataclass

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


def rotation(places: Tensor, head_width: int, theta: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """(n,) places to cosines and sines of (n, 1, 1, H), computed in float32 as transformers does."""
    powers = torch.arange(0, head_width, 2, dtype=torch.float32, device=places.device) / head_width
    angles = places[:, None].float() * (1.0 / theta**powers)  # (n, H / 2)
    angles = torch.cat([angles, angles], dim=-1)[:, None, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Tensor, cos_sin: tuple[Tensor, Tensor]) -> Tensor:
    """(n, 1, N, H) queries or keys, turned by their places; the result is float32 or better."""
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
