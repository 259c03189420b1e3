"""Layer-wise learning-rate decay: what share of the learning rate the depth of a parameter leaves it."""

from alibert_fairseq.optim.marks import depth_of


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
