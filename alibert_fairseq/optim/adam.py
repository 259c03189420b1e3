"""`--optimizer alibert_adam`: the Adam of BERT and ELECTRA."""

from dataclasses import dataclass

import torch
from fairseq.optim import register_optimizer

from alibert_fairseq.optim.adam_lamb_step import AdamLamb
from alibert_fairseq.optim.param_groups import LayeredConfig, LayeredOptimizer
from alibert_fairseq.optim.sharded import sharded
from alibert_fairseq.options import option, refuse_outside


@dataclass
class AliBertAdamConfig(LayeredConfig):
    """Defaults: google-research/electra `model/optimization.py`."""

    alibert_adam_betas: str = option("0.9,0.999", "decay of the two moments (default: 0.9,0.999, as BERT and ELECTRA)")
    alibert_adam_eps: float = option(1e-6, "epsilon outside the square root (default: 1e-6, as BERT and ELECTRA)")
    alibert_adam_bias_correction: bool = option(False,
        "division of the moments by 1 - beta^t, as in AdamW (default: off, as BERT and ELECTRA)")  # fmt: skip
    weight_decay: float = option(0.01,
        "weight decay of matrices; LayerNorms and biases have none (default: 0.01, as BERT)")  # fmt: skip


@register_optimizer("alibert_adam", dataclass=AliBertAdamConfig)
class AliBertAdam(LayeredOptimizer):
    """Adam without bias correction, with decay on matrices only. Use `--clip-norm 1.0` as BERT and ELECTRA do."""

    def build(self, cfg: AliBertAdamConfig, groups: list[dict]) -> torch.optim.Optimizer:
        """Ours; the state shared out with --shard-optimizer-state."""
        refuse_outside("--alibert-adam-eps", cfg.alibert_adam_eps, cfg.alibert_adam_eps > 0, "above 0")
        return sharded(
            AdamLamb, groups, shard=cfg.shard_optimizer_state, lr=cfg.lr[0], eps=cfg.alibert_adam_eps, adapt=False,
            betas=parse_betas("--alibert-adam-betas", cfg.alibert_adam_betas),
            bias_correction=cfg.alibert_adam_bias_correction,
        )  # fmt: skip


def parse_betas(option: str, text: str) -> tuple[float, float]:
    """Read what is written as 0.9,0.999 or, as fairseq does, (0.9, 0.999)."""
    try:
        betas: tuple[float, ...] = tuple(float(part) for part in text.strip("()[] ").split(","))
    except ValueError:
        betas = ()
    possible = len(betas) == 2 and all(0 <= beta < 1 for beta in betas)
    refuse_outside(option, text, possible, "two numbers of [0, 1) with a comma between them")
    return betas[0], betas[1]
