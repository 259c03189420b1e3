"""What a model says of its parameters to the optimizer: how deep they lie, and which are hidden matrices.

fairseq hands the optimizer parameters without names, and under --fp16 and --bf16 copies of them that keep no attribute
but `param_group`: the marks are written there. fairseq 0.12.2 itself reads it only for `--optimizer composite`.
"""

import re

import torch.nn as nn

MARK = re.compile(r"depth-(\d+)(-hidden)?")


def mark_depth(module: nn.Module, depth: int, hidden: bool = False) -> None:
    """Say how deep the parameters of a module lie: 1 for the top layer, L for the lowest, L + 1 for the embeddings.

    Depth counts from the top, because two encoders of one model may have different numbers of layers. A parameter
    marked twice, such as shared embeddings, has the larger depth. Do not mark heads: one tied to the word table would
    mark the table too. hidden: whether its matrices lie between the embeddings and the heads.
    """
    for parameter in module.parameters():
        mark = f"depth-{max(depth, depth_of(parameter) or 0)}{'-hidden' if hidden and parameter.ndim == 2 else ''}"
        parameter.param_group = mark  # type: ignore[attr-defined]


def depth_of(parameter) -> int | None:
    """The depth that a parameter is marked with, or None."""
    found = MARK.fullmatch(getattr(parameter, "param_group", ""))
    return int(found[1]) if found else None


def is_hidden_matrix(parameter) -> bool:
    """Whether a parameter is marked as a matrix between the embeddings and the heads."""
    found = MARK.fullmatch(getattr(parameter, "param_group", ""))
    return bool(found and found[2])
