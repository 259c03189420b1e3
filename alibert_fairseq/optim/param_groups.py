"""What all optimizers share: which tensors decay and adapt, how fast each layer learns, what they refuse."""

import logging
import math
from collections import defaultdict
from dataclasses import dataclass

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer
from omegaconf import II

from alibert_fairseq.optim.adam_lamb_step import decay_groups
from alibert_fairseq.optim.layer_decay import lr_scales
from alibert_fairseq.options import option, refuse_outside

logger = logging.getLogger(__name__)


@dataclass
class LayeredConfig(FairseqDataclass):
    """Options of all optimizers."""

    layer_lr_decay: float = option(1.0,
        "learning rate of each layer relative to the layer above it (default: 1, no "
        "decay; ELECTRA fine-tunes with 0.8)")  # fmt: skip
    shard_optimizer_state: bool = option(False,
        "moments shared out among the processes (ZeRO stage 1), to save memory (default: off)")  # fmt: skip
    lr: list[float] = II("optimization.lr")


class LayeredOptimizer(FairseqOptimizer):
    """A fairseq optimizer with two groups a depth: tensors that decay, and those that do not.

    A subclass says whether it is to `adapt` (trust ratios), or makes other `groups`, and builds the torch optimizer.
    Without layer decay all depths are one. The learning rate that fairseq sets and logs is that of the head, which is
    the first group's.
    """

    adapt = False

    def __init__(self, cfg: LayeredConfig, params):
        super().__init__(cfg)
        refuse_outside("--weight-decay", cfg.weight_decay, 0 <= cfg.weight_decay < math.inf, "a number of 0 or more")
        params = list(params)
        refuse_what_has_no_layers(params)
        by_scale = defaultdict(list)
        for p, scale in zip(params, lr_scales(params, cfg.layer_lr_decay), strict=True):
            by_scale[scale].append(p)
        groups, self._lr_scales = [], []
        for scale in sorted(by_scale, reverse=True):
            ours = [group for group in self.groups(cfg, by_scale[scale]) if group["params"]]
            self._lr_scales += [scale * group.pop("lr_share", 1.0) for group in ours]
            groups += ours
        if cfg.layer_lr_decay != 1:
            shares = ", ".join(f"{scale:.3g} ({len(by_scale[scale])})" for scale in sorted(by_scale, reverse=True))
            logger.info("shares of the learning rate, and how many tensors have each: %s", shares)
        self._optimizer = self.build(cfg, groups)
        self.set_lr(cfg.lr[0])

    def groups(self, cfg: LayeredConfig, params: list) -> list[dict]:
        """Groups of parameters of one depth; `lr_share`, where given, multiplies the learning rate of a group."""
        return decay_groups(params, cfg.weight_decay, self.adapt)

    def build(self, cfg: LayeredConfig, groups: list[dict]) -> torch.optim.Optimizer:
        """The optimizer over these groups."""
        raise NotImplementedError

    def get_lr(self) -> float:
        """The learning rate of a group with share 1."""
        return self.param_groups[0]["lr"] / self._lr_scales[0]

    def set_lr(self, lr: float) -> None:
        """Give every group its share."""
        for group, scale in zip(self.param_groups, self._lr_scales, strict=True):
            group["lr"] = lr * scale

    def load_state_dict(self, state_dict: dict, optimizer_overrides: dict | None = None) -> None:
        """Take moments, step counts and learning rate; everything else is as the new command line has it.

        The state may be that of apex's kernel, whose groups do not say whether they adapt.
        """
        refuse_other_tensors(self.param_groups, state_dict)
        kept = ("params", "step", "lr")
        settings = [{key: value for key, value in g.items() if key not in kept} for g in self.param_groups]
        super().load_state_dict(state_dict)
        for group, own in zip(self.param_groups, settings, strict=True):
            group.update(own | (optimizer_overrides or {}))
        self.set_lr(self.get_lr())


def refuse_other_tensors(groups: list[dict], state_dict: dict) -> None:
    """Raise ValueError for the state of other tensors: torch compares their number in each group, not their shapes."""
    now, then = ([len(group["params"]) for group in state] for state in (groups, state_dict["param_groups"]))
    if sum(now) != sum(then):
        raise ValueError(
            f"it trained {sum(then)} tensors and this run trains {sum(now)}: some were added, left out or frozen; give "
            "the options it was trained with, or --reset-optimizer."
        )
    if now != then:
        raise ValueError(
            "its optimizer had its parameters in other groups, as with another --layer-lr-decay; give the one it was "
            "trained with, or --reset-optimizer."
        )
    numbers = [number for group in state_dict["param_groups"] for number in group["params"]]
    params = [p for group in groups for p in group["params"]]
    for number, p in zip(numbers, params, strict=True):
        moment = state_dict["state"].get(number, {}).get("exp_avg")
        if moment is not None and moment.shape != p.shape:
            raise ValueError(
                f"its optimizer has moments of {tuple(moment.shape)} for a tensor of {tuple(p.shape)} here, as with "
                "another --max-positions; start in another --save-dir with --finetune-from-model and this checkpoint."
            )


def refuse_what_has_no_layers(params: list) -> None:
    """End the run in one sentence where fairseq hands over something else than float32 tensors of the model."""
    if len(params) == 1 and params[0].ndim == 1:
        raise SystemExit(
            "error: --fp16 joined all parameters into one vector, which has no layers to scale or to leave out of the "
            "decay; add --fp16-no-flatten-grads."
        )
    if any(p.dtype in (torch.float16, torch.bfloat16) for p in params):
        raise SystemExit(
            "error: --memory-efficient-fp16 and --memory-efficient-bf16 keep no float32 weights, which this optimizer "
            "needs; use --fp16 --fp16-no-flatten-grads, --bf16 or --bf16-autocast."
        )
