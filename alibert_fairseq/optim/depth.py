"""Layer-wise learning-rate decay: how deep a parameter lies, and what share of the learning rate that leaves it.

fairseq hands the optimizer parameters without names, and under --fp16 and --bf16 copies of them that keep no attribute
but `param_group`: the depth is written there. Of fairseq 0.12.2 only `--optimizer composite` reads it too.
"""

import torch.nn as nn

PREFIX = "depth-"


def mark_depth(module: nn.Module, depth: int) -> None:
    """Say how deep the parameters of a module lie: 0 for embeddings and their projection, i + 1 for layer i (from 0).

    Leave heads unmarked: one that is tied to the word table would take it along. Of a parameter that is marked twice,
    the last mark counts.
    """
    for parameter in module.parameters():
        parameter.param_group = f"{PREFIX}{depth}"


def lr_scales(params: list, decay: float) -> list[float]:
    """decay ** (L + 1 - N) for a parameter of depth N under L layers, 1 for one above them.

    What is unmarked lies above; where everything is marked, what has the largest depth does. So the top layer has
    decay, the embeddings decay ** (L + 1): google-research/electra `_get_layer_lrs` without the pooler that it still
    counts (its issue 51), which gives its top layer decay ** 2.
    """
    if decay == 1:
        return [1.0] * len(params)
    if not 0 < decay < 1:
        raise SystemExit(f"error: --layer-lr-decay {decay} is not in (0, 1]; leave it out for one rate everywhere.")
    marks = [getattr(p, "param_group", "") for p in params]
    depths = [int(mark.removeprefix(PREFIX)) if mark.startswith(PREFIX) else None for mark in marks]
    marked = [depth for depth in depths if depth is not None]
    if not marked:
        raise SystemExit(
            f"error: --layer-lr-decay {decay}: this model does not say how deep its parameters lie; train one of this "
            "plugin, or leave the option out."
        )
    above = max(marked) + (len(marked) < len(depths))
    return [1.0 if depth is None else decay ** (above - depth) for depth in depths]
