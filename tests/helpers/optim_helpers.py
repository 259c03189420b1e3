"""Optimizers as fairseq builds them from a command line, and tensors to train with them."""

from argparse import Namespace

import numpy as np
import torch
from fairseq import optim, options

import alibert_fairseq  # noqa: F401  registers

SHAPES = [(4, 3), (5, 5), (2, 2, 2), (3, 3), (6,)]


def arguments(*words: str) -> Namespace:
    """What `fairseq-train` reads from these options."""
    needed = ["data-bin", "--task", "alibert_mlm", "--criterion", "alibert_mlm", "--arch", "alibert_tiny", "--cpu"]
    return options.parse_args_and_arch(options.get_training_parser(), [*needed, *words])


def build(params: list, *words: str) -> optim.FairseqOptimizer:
    """The optimizer of a `fairseq-train` with these options; under --bf16 and --fp16 what wraps it.

    Every group of the configuration is the whole command line: hydra, which is slow, is left out. --fp16 is set by
    hand, for on a CPU it is refused when it is read.
    """
    args = arguments(*(word for word in words if word != "--fp16"))
    args.fp16 = "--fp16" in words
    if not args.fp16 and not args.bf16:
        return optim.build_optimizer(args, params)
    cfg = Namespace(optimizer=args, common=args, optimization=args, distributed_training=args)
    if args.memory_efficient_bf16 or args.memory_efficient_fp16:
        return optim.MemoryEfficientFP16Optimizer.build_optimizer(cfg, params)
    return optim.FP16Optimizer.build_optimizer(cfg, params)


def values(seed: int = 1) -> list[np.ndarray]:
    """Matrices and a vector; the last matrix has norm zero."""
    rng = np.random.default_rng(seed)
    drawn = [rng.standard_normal(shape) for shape in SHAPES]
    return [np.zeros(value.shape) if value.shape == (3, 3) else value for value in drawn]


def gradients(steps: int = 50, seed: int = 2) -> list[list[np.ndarray]]:
    """Of every step, for every tensor. Every third has a global norm far above 1, the others one below it."""
    rng = np.random.default_rng(seed)
    return [[rng.standard_normal(shape) * (0.01 if step % 3 else 10.0) for shape in SHAPES] for step in range(steps)]


def parameters(arrays: list, dtype=torch.float64) -> list[torch.nn.Parameter]:
    """Parameters with these values."""
    return [torch.nn.Parameter(torch.tensor(array, dtype=dtype)) for array in arrays]


def trained(params: list, optimizer, steps: list, clip_norm: float = 0.0) -> list[np.ndarray]:
    """The values after these steps. clip_norm: fairseq's, which its trainer applies before a step."""
    for step in steps:
        for p, gradient in zip(params, step, strict=True):
            p.grad = torch.tensor(gradient, dtype=p.dtype)
        if clip_norm:
            optimizer.clip_grad_norm(clip_norm)
        optimizer.step()
    return [p.detach().numpy().copy() for p in params]


def distance(ours: list, theirs: list) -> float:
    """The largest difference between two lists of arrays."""
    return max(float(np.abs(a - np.asarray(b)).max()) for a, b in zip(ours, theirs, strict=True))
