"""`--optimizer lamb`: LAMB without apex, apex's fused kernel where it is installed and the model is on a GPU."""

import logging
from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.optim import OPTIMIZER_REGISTRY, FairseqOptimizer, register_optimizer
from omegaconf import II

from alibert_fairseq.optim.adam import parse_betas
from alibert_fairseq.optim.moments import AdamLamb, decay_groups

logger = logging.getLogger(__name__)

# fairseq has a `lamb` of its own: apex only, and with its default weight decay of 0 apex's kernel is plain Adam.
OPTIMIZER_REGISTRY.pop("lamb", None)


@dataclass
class LambConfig(FairseqDataclass):
    """Defaults: apex `FusedLAMB` (NVLAMB), which trained NVIDIA's BERT."""

    lamb_betas: str = field(default="0.9,0.999", metadata={"help": "decay of the two moments (You et al. 2020; apex)"})
    lamb_eps: float = field(default=1e-6, metadata={"help": "epsilon outside the square root (You et al. 2020; apex)"})
    lamb_no_bias_correction: bool = field(
        default=False,
        metadata={"help": "do not divide the moments by 1 - beta^t: ALBERT's form; the paper and apex divide"},
    )
    lamb_max_grad_norm: float = field(
        default=1.0,
        metadata={"help": "global gradient norm at which LAMB itself clips (apex: 1); 0: never; off with --clip-norm"},
    )
    weight_decay: float = field(
        default=0.01, metadata={"help": "decay of matrices, inside the trust ratio; none on LayerNorms and biases"}
    )
    clip_norm: float = II("optimization.clip_norm")
    lr: list[float] = II("optimization.lr")


@register_optimizer("lamb", dataclass=LambConfig)
class AliBertLamb(FairseqOptimizer):
    """LAMB with one trust ratio per tensor, none on LayerNorms and biases."""

    def __init__(self, cfg: LambConfig, params):
        super().__init__(cfg)
        clip = (cfg.lamb_max_grad_norm or None) if cfg.clip_norm <= 0 else None
        by = f"LAMB at {clip}" if clip else f"--clip-norm at {cfg.clip_norm}" if cfg.clip_norm > 0 else "nothing"
        logger.info("gradients are clipped by %s", by)
        self._optimizer = build_lamb(list(params), cfg, clip)


def build_lamb(params: list, cfg: LambConfig, clip):
    """apex's kernel where it computes the same thing, our own elsewhere."""
    groups = decay_groups(params, cfg.weight_decay, adapt=True)
    settings = {
        "lr": cfg.lr[0],
        "betas": parse_betas(cfg.lamb_betas),
        "eps": cfg.lamb_eps,
        "bias_correction": not cfg.lamb_no_bias_correction,
    }
    fused = _fused_lamb() if cfg.weight_decay and all(p.is_cuda for p in params) else None
    if fused is None:
        return AdamLamb(groups, max_grad_norm=clip, **settings)
    logger.info("LAMB runs on apex's fused kernel")
    for group in groups:
        del group["adapt"]  # apex adapts the groups that decay
    return fused(groups, max_grad_norm=clip or float("inf"), use_nvlamb=False, **settings)


def _fused_lamb():
    try:
        from apex.optimizers import FusedLAMB
    except ImportError:
        return None
    return FusedLAMB
