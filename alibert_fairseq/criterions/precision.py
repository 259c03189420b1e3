"""The precision losses are computed in."""

import torch
from torch import Tensor

HALVES = (torch.float16, torch.bfloat16)


def at_least_float32(scores: Tensor) -> Tensor:
    """Half-precision scores as float32, others as they are."""
    return scores.float() if scores.dtype in HALVES else scores
