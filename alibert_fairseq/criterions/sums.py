"""The precision losses are computed in, and their sums over processes and micro-batches."""

import torch
from torch import Tensor


def at_least_float32(scores: Tensor) -> Tensor:
    """Half-precision scores as float32, others as they are."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def totals(logging_outputs: list[dict]) -> dict[str, float]:
    """The sum of every figure that a criterion logs."""
    keys = {key for log in logging_outputs for key in log}
    return {key: sum(float(log.get(key, 0)) for log in logging_outputs) for key in keys}
