"""Layer-wise learning-rate decay: how deep a parameter lies, and what share of the learning rate that leaves it.

fairseq hands the optimizer parameters without names, and under --fp16 and --bf16 copies of them that keep no attribute
but `param_group`: the depth is written there. fairseq 0.12.2 itself reads it only for `--optimizer composite`.
"""

import torch.nn as nn

PREFIX = "depth-"


def mark_depth(module: nn.Module, depth: int) -> None:
    """Say how deep the parameters of a module lie: 1 for the top layer, L for the lowest, L + 1 for the embeddings.

    Depth counts from the top, because two encoders of one model may have different numbers of layers. A parameter
    marked twice, such as shared embeddings, has the larger depth. Do not mark heads: one tied to the word table would
    mark the table too.
    """
    for parameter in module.parameters():
        mark = f"{PREFIX}{max(depth, depth_of(parameter) or 0)}"
        parameter.param_group = mark  # type: ignore[attr-defined]


def depth_of(parameter) -> int | None:
    """The depth that a parameter is marked with, or None."""
    mark = getattr(parameter, "param_group", "")
    return int(mark.removeprefix(PREFIX)) if mark.startswith(PREFIX) else None


def lr_scales(params: list, decay: float) -> list[float]:
    """decay ** N for a parameter of depth N, where what lies highest has depth 0: a head, which is not marked.

    So the top layer has decay, the embeddings decay ** (L + 1): google-research/electra `_get_layer_lrs` without the
    pooler that it still counts (its issue 51), which gives its top layer decay ** 2.
    """
    if decay == 1:
        return [1.0] * len(params)
    if not 0 < decay < 1:
        raise SystemExit(f"error: --layer-lr-decay {decay} is not in (0, 1]; leave it out for one rate everywhere.")
    depths = [depth_of(p) or 0 for p in params]
    if not any(depths):
        raise SystemExit(
            f"error: --layer-lr-decay {decay}: this model does not say how deep its parameters lie; train one of this "
            "plugin, or leave the option out."
        )
    return [decay ** (depth - min(depths)) for depth in depths]
