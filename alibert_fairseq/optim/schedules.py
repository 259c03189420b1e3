"""`--lr-scheduler bert`, `electra`, `nvidia`: the learning rates the public models were trained with; `wsd`.

t: updates done so far, so that the first update runs at t = 0, as TensorFlow counts. W: --warmup-updates, T:
--total-num-update, E: --end-learning-rate, p: --power. d(t) = E + (lr - E) (1 - t / T)^p, and E from T on.

    bert      lr t / W while t < W, then d(t): at W it falls from lr to d(W)
    nvidia    the same with p = 1/2: by 15 % in NVIDIA's first phase
    electra   d(t) min(1, t / W): the warm-up multiplies the decay, so lr is never reached
    wsd       warm-up, constant, decay over the last share s of T: E + (lr - E) min(1, (t + 1) / W, (1 - t / T) / s)^p,
              or E + (lr - E) (1 - sqrt(1 - (1 - t / T) / s)) in the decay (Haegele et al. 2024; ModernBERT)
"""

import math
from dataclasses import dataclass

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.optim.lr_scheduler import FairseqLRScheduler, register_lr_scheduler
from omegaconf import II

from alibert_fairseq.options import OptionalFloat, option, refuse_outside


@dataclass
class PaperScheduleConfig(FairseqDataclass):
    """Options of all of them."""

    warmup_updates: int = option(0, "updates in which the learning rate rises from 0 (default: 0; BERT: 10,000)")
    total_num_update: OptionalFloat = option(None, "update at which the decay ends (default: --max-update)")
    power: float = option(1.0, "exponent of the decay (default: 1, linear, as BERT, ALBERT and ELECTRA)")
    end_learning_rate: float = option(0.0,
        "learning rate at the end of the decay (default: 0, as BERT, ALBERT and ELECTRA)")  # fmt: skip
    max_update: int = II("optimization.max_update")
    lr: list[float] = II("optimization.lr")


@dataclass
class NvidiaScheduleConfig(PaperScheduleConfig):
    """NVIDIA's power."""

    power: float = option(0.5, "exponent of the decay (default: 0.5, as NVIDIA DeepLearningExamples)")


@register_lr_scheduler("bert", dataclass=PaperScheduleConfig)
class BertSchedule(FairseqLRScheduler):
    """google-research/bert and albert, `optimization.py`."""

    def __init__(self, cfg: PaperScheduleConfig, optimizer):
        super().__init__(cfg, optimizer)
        self.end = cfg.total_num_update or cfg.max_update  # T
        if len(cfg.lr) > 1:
            raise SystemExit(f"error: --lr {','.join(map(str, cfg.lr))}: this --lr-scheduler takes one rate only.")
        if self.end <= 0:
            raise SystemExit("error: this --lr-scheduler decays to the end of the run; add --total-num-update N.")
        if not 0 <= cfg.warmup_updates < self.end:
            raise SystemExit(
                f"error: --warmup-updates {cfg.warmup_updates} is not below --total-num-update {self.end:g}; "
                "lower the one or raise the other."
            )
        refuse_outside("--power", cfg.power, 0 < cfg.power < math.inf, "a number above 0")
        refuse_outside("--lr", cfg.lr[0], 0 <= cfg.lr[0] < math.inf, "a number of 0 or more")
        lowest = cfg.end_learning_rate
        refuse_outside("--end-learning-rate", lowest, 0 <= lowest <= cfg.lr[0], f"in [0, {cfg.lr[0]:g}], the --lr")

    def rate(self, t: float) -> float:
        """The learning rate of the update that follows t updates."""
        return self.cfg.lr[0] * t / self.cfg.warmup_updates if t < self.cfg.warmup_updates else self.decayed(t)

    def decayed(self, t: float) -> float:
        """TensorFlow's `polynomial_decay`, from the first update on."""
        lowest, left = self.cfg.end_learning_rate, max(1 - t / self.end, 0)
        return lowest + (self.cfg.lr[0] - lowest) * left**self.cfg.power

    def step_update(self, num_updates: int) -> float:
        """Set the rate; fairseq calls this with 0 before the first update and with the count after each."""
        self.optimizer.set_lr(self.rate(num_updates))
        return self.optimizer.get_lr()


@register_lr_scheduler("nvidia", dataclass=NvidiaScheduleConfig)
class NvidiaSchedule(BertSchedule):
    """`PolyWarmUpScheduler` of NVIDIA's BERT, which counts its updates from 1 where this counts from 0."""


@register_lr_scheduler("electra", dataclass=PaperScheduleConfig)
class ElectraSchedule(BertSchedule):
    """google-research/electra `model/optimization.py`."""

    def rate(self, t: float) -> float:
        """The warm-up multiplies the decay."""
        risen = min(1, t / self.cfg.warmup_updates) if self.cfg.warmup_updates else 1
        return self.decayed(t) * risen


@dataclass
class WsdScheduleConfig(PaperScheduleConfig):
    """The share of the decay; the warm-up has its power, too."""

    power: float = option(1.0, "exponent of warm-up and decay (default: 1, linear)")
    decay_share: float = option(0.45, "share of the updates in which the rate falls (default: 0.45)")
    decay_form: ChoiceEnum(["power", "sqrt"]) = option("power",  # type: ignore[valid-type]
        "form of the decay: power (default), or sqrt, 1 - sqrt of its progress (ModernBERT)")  # fmt: skip


@register_lr_scheduler("wsd", dataclass=WsdScheduleConfig)
class WsdSchedule(BertSchedule):
    """Warm-up, stable, decay (Hu et al. 2024, MiniCPM section 4); linear to 0 as modded-nanoGPT and ModernBERT end."""

    def __init__(self, cfg: WsdScheduleConfig, optimizer):
        super().__init__(cfg, optimizer)
        refuse_outside("--decay-share", cfg.decay_share, 0 < cfg.decay_share <= 1, "in (0, 1]")

    def rate(self, t: float) -> float:
        """No update has rate 0."""
        lowest, warmup = self.cfg.end_learning_rate, max(1, self.cfg.warmup_updates)
        risen, left = min(1, (t + 1) / warmup), min(1, max(0, 1 - t / self.end) / self.cfg.decay_share)
        share = min(risen, left) ** self.cfg.power
        if str(self.cfg.decay_form) == "sqrt":
            share = min(risen**self.cfg.power, 1 - math.sqrt(1 - left))
        return lowest + (self.cfg.lr[0] - lowest) * share
