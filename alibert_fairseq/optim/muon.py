"""`--optimizer muon`: Muon for the matrices of layers, Adam for embeddings, norms, biases and heads."""

import logging
import math
from dataclasses import dataclass

import torch
from fairseq.optim import register_optimizer

from alibert_fairseq.optim.adam import parse_betas
from alibert_fairseq.optim.adam_lamb_step import decay_groups
from alibert_fairseq.optim.marks import is_hidden_matrix
from alibert_fairseq.optim.muon_step import MuonAdam
from alibert_fairseq.optim.param_groups import LayeredConfig, LayeredOptimizer
from alibert_fairseq.optim.sharded import sharded
from alibert_fairseq.options import option, refuse_outside

logger = logging.getLogger(__name__)


@dataclass
class MuonConfig(LayeredConfig):
    """--lr is the learning rate of Adam; a schedule moves both rates alike."""

    muon_lr: float = option(0.02, "highest learning rate of the matrices of layers (default: 0.02, as Jordan et al.)")
    muon_momentum: float = option(0.95, "momentum of the matrices of layers (default: 0.95, as Jordan et al.)")
    muon_weight_decay: float = option(0.1, "weight decay of the matrices of layers (default: 0.1)")
    muon_betas: str = option("0.9,0.98", "decay of Adam's two moments (default: 0.9,0.98, as RoBERTa)")
    muon_eps: float = option(1e-8, "epsilon of Adam, outside the square root (default: 1e-8)")
    muon_bf16: bool = option(False,
        "Muon's own matrix products in bfloat16 on a CPU too (default: on a GPU only)")  # fmt: skip
    weight_decay: float = option(0.01,
        "weight decay of the other matrices, such as embeddings (default: 0.01)")  # fmt: skip


@register_optimizer("muon", dataclass=MuonConfig)
class AliBertMuon(LayeredOptimizer):
    """Groups follow the role of a tensor in its model, not its shape: an embedding table is no hidden matrix."""

    def __init__(self, cfg: MuonConfig, params):
        for option_name, value in (("--lr", cfg.lr[0]), ("--muon-lr", cfg.muon_lr), ("--muon-eps", cfg.muon_eps)):
            refuse_outside(option_name, value, 0 < value < math.inf, "a number above 0")
        refuse_outside("--muon-momentum", cfg.muon_momentum, 0 <= cfg.muon_momentum < 1, "in [0, 1)")
        decay = cfg.muon_weight_decay
        refuse_outside("--muon-weight-decay", decay, 0 <= decay < math.inf, "a number of 0 or more")
        super().__init__(cfg, params)

    def groups(self, cfg: MuonConfig, params: list) -> list[dict]:
        """Adam's groups, then Muon's."""
        hidden = [p for p in params if is_hidden_matrix(p)]
        others = [p for p in params if not is_hidden_matrix(p)]
        of_muon = {"params": hidden, "weight_decay": cfg.muon_weight_decay, "momentum": cfg.muon_momentum}
        return [*decay_groups(others, cfg.weight_decay, adapt=False), of_muon | {"lr_share": cfg.muon_lr / cfg.lr[0]}]

    def build(self, cfg: MuonConfig, groups: list[dict]) -> torch.optim.Optimizer:
        """Ours; the state shared out with --shard-optimizer-state."""
        matrices = sum(len(group["params"]) for group in groups if "momentum" in group)
        if not matrices:
            raise SystemExit(
                "error: --optimizer muon: this model does not say which of its matrices are hidden; train one of this "
                "plugin, or use --optimizer alibert_adam."
            )
        logger.info("Muon trains %d matrices, Adam the other tensors", matrices)
        return sharded(
            MuonAdam, groups, shard=cfg.shard_optimizer_state, lr=cfg.lr[0],
            betas=parse_betas("--muon-betas", cfg.muon_betas), eps=cfg.muon_eps,
            bfloat16=cfg.muon_bf16,
        )  # fmt: skip
