"""`--optimizer lamb`: LAMB without apex, apex's fused kernel where it is installed and the model is on a GPU."""

import logging
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.optim import OPTIMIZER_REGISTRY, register_optimizer
from omegaconf import II

from alibert_fairseq.optim.adam import parse_betas
from alibert_fairseq.optim.adam_lamb_step import AdamLamb
from alibert_fairseq.optim.param_groups import LayeredConfig, LayeredOptimizer
from alibert_fairseq.optim.sharded import sharded
from alibert_fairseq.options import option, refuse_outside

logger = logging.getLogger(__name__)

# fairseq has a `lamb` of its own: apex only, and with its default weight decay of 0 apex's kernel is plain Adam.
OPTIMIZER_REGISTRY.pop("lamb", None)


@dataclass
class LambConfig(LayeredConfig):
    """Defaults: apex `FusedLAMB` (NVLAMB), which trained NVIDIA's BERT."""

    lamb_betas: str = option("0.9,0.999", "decay of the two moments (default: 0.9,0.999, as You et al. 2020)")
    lamb_eps: float = option(1e-6, "epsilon outside the square root (default: 1e-6, as You et al. 2020)")
    lamb_no_bias_correction: bool = option(False,
        "no division of the moments by 1 - beta^t, as ALBERT (default: division, as the paper)")  # fmt: skip
    lamb_max_grad_norm: float = option(1.0,
        "global gradient norm at which LAMB itself clips; 0: never; --clip-norm "
        "turns it off (default: 1, as apex)")  # fmt: skip
    weight_decay: float = option(0.01,
        "weight decay of matrices, inside the trust ratio; LayerNorms and "
        "biases have none (default: 0.01)")  # fmt: skip
    clip_norm: float = II("optimization.clip_norm")


@register_optimizer("lamb", dataclass=LambConfig)
class AliBertLamb(LayeredOptimizer):
    """LAMB with one trust ratio per tensor, none on LayerNorms and biases."""

    adapt = True

    def build(self, cfg: LambConfig, groups: list[dict]) -> torch.optim.Optimizer:
        """apex's kernel where it computes the same thing, our own elsewhere. The log says what clips."""
        refuse_outside("--lamb-eps", cfg.lamb_eps, cfg.lamb_eps > 0, "above 0")
        refuse_outside("--lamb-max-grad-norm", cfg.lamb_max_grad_norm, cfg.lamb_max_grad_norm >= 0, "0 or more")
        clip = (cfg.lamb_max_grad_norm or None) if cfg.clip_norm <= 0 else None
        by = f"LAMB at {clip}" if clip else f"--clip-norm at {cfg.clip_norm}" if cfg.clip_norm > 0 else "nothing"
        logger.info("gradients are clipped by %s", by)
        settings: dict[str, Any] = {"lr": cfg.lr[0], "betas": parse_betas("--lamb-betas", cfg.lamb_betas)}
        settings |= {"eps": cfg.lamb_eps, "bias_correction": not cfg.lamb_no_bias_correction}
        params = [p for group in groups for p in group["params"]]
        plain = cfg.shard_optimizer_state  # apex's kernel takes the norm of all gradients over the share it has
        fused = _fused_lamb() if cfg.weight_decay and not plain and all(p.is_cuda for p in params) else None
        logger.info("LAMB runs on %s", "apex's fused kernel" if fused else "PyTorch's operations")
        if fused is None:
            return sharded(AdamLamb, groups, shard=cfg.shard_optimizer_state, max_grad_norm=clip, **settings)
        for group in groups:
            del group["adapt"]  # apex adapts the groups that decay
        return fused(groups, max_grad_norm=clip or float("inf"), use_nvlamb=False, **settings)


def _fused_lamb():
    """apex's optimizer, or None without apex or where apex was installed without its CUDA extensions."""
    try:
        from apex.multi_tensor_apply import multi_tensor_applier
        from apex.optimizers import FusedLAMB
    except ImportError:
        return None
    return FusedLAMB if multi_tensor_applier.available else None
