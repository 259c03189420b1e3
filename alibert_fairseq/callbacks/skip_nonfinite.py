"""An update whose loss or gradient is not finite is skipped by all processes alike, and its batch is kept.

The check is made when gradient and loss are sums over all processes, so that all decide the same. Weights, moments and
the count of updates stay as they were; the next batch takes the place of this one. The line of an update in
metrics.jsonl tells how many batches were skipped before it, and so does a checkpoint that is saved among them. With
fp16, fairseq's loss scale handles a gradient that overflows.
"""

import functools
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import torch
from fairseq.logging import metrics

from alibert_fairseq.callbacks.options import STOP_AFTER_NONFINITE, option
from alibert_fairseq.callbacks.saved_batches import keep_batch, place_of_batch

logger = logging.getLogger(__name__)

SKIPPED = "skipped"  # in extra_state of a checkpoint


class NotFinite(Exception):
    """The loss and the norm of the gradient, as sums over all processes."""

    def __init__(self, loss: float, norm: float):
        super().__init__(f"loss {loss:g}, norm of the gradient {norm:g}")
        self.loss, self.norm = loss, norm


class SkipNonfinite:
    """The callback: what it knows of the losses of an update, and how many batches it skipped since the last one."""

    def __init__(self, trainer):
        self.trainer, self.in_a_row = trainer, 0
        self.own: list = []  # the losses of this process
        self.all: object = None  # their sum on all processes, where there are several

    def begin(self, extra_state: dict | None) -> None:
        """Once the checkpoint is loaded: note the loss of each batch from now on."""
        self.in_a_row = (extra_state or {}).get(SKIPPED, 0)
        step = self.trainer.task.train_step

        @functools.wraps(step)
        def train_step(*args, **options):
            loss, sample_size, logged = step(*args, **options)
            self.own.append(logged.get("loss", 0))
            return loss, sample_size, logged

        self.trainer.task.train_step = train_step

    @contextmanager
    def skipped(self, samples: list) -> Iterator[None]:
        """Around an update: where it is not finite, everything is as before, except for the count."""
        self.own, self.all = [], None
        aggregators, updates = _Aggregators(), self.trainer.get_num_updates()
        try:
            yield
        except NotFinite as error:
            aggregators.restore()
            _forget_gradient(self.trainer)
            metrics.log_stop_time("train_wall")
            self._tell_and_keep(samples, error)
        if self.trainer.get_num_updates() > updates:
            self.in_a_row = 0

    def note_sum(self, logging_outputs: list[dict]) -> None:
        """Once the processes have exchanged what they log."""
        self.all = sum(logged.get("loss", 0) for logged in logging_outputs)

    def check(self, norm: torch.Tensor) -> None:
        """Raise NotFinite, on all processes alike. Not with --amp, whose scaler skips by itself."""
        if self.trainer.cfg.common.amp:
            return
        loss = torch.as_tensor(sum(self.own) if self.all is None else self.all)
        if not torch.isfinite(norm + loss.to(norm.device)).all():  # one wait for a GPU, which fairseq's own check has
            raise NotFinite(float(loss), float(norm))

    @contextmanager
    def ended_in_one_sentence(self) -> Iterator[None]:
        """A smallest loss scale (--fp16), or gradients that differ between processes, end the run."""
        try:
            yield
        except FloatingPointError as error:
            self._end(f"update {self.trainer.get_num_updates() + 1}: {' '.join(str(error).split())}")

    def extra_state(self) -> dict[str, int]:
        """What a checkpoint keeps of it."""
        return {SKIPPED: self.in_a_row} if self.in_a_row else {}

    def _tell_and_keep(self, samples: list, error: NotFinite) -> None:
        trainer = self.trainer
        update, first = trainer.get_num_updates() + 1, trainer.data_parallel_rank == 0
        self.in_a_row += 1
        kept = "kept nowhere (--no-save)"
        if not trainer.cfg.checkpoint.no_save:
            several = trainer.data_parallel_world_size > 1
            kept = f"in {place_of_batch(trainer, update, '*' if several else 0)}"
            own = float(sum(self.own))
            if not math.isfinite(own) or (first and math.isfinite(error.loss)):
                keep_batch(trainer, update, samples, own, error.norm)
        if first:
            logger.warning(f"update {update}: not finite ({error}); batch skipped, {self.in_a_row} in a row, {kept}")
        if self.in_a_row >= option(trainer.cfg, "stop_after_nonfinite", STOP_AFTER_NONFINITE):
            self._end(
                f"update {update}: {self.in_a_row} batches in a row whose loss or gradient is not finite ({error}), "
                f"the last one {kept}; resume from the last checkpoint, or start a new run, with a lower --lr, more "
                "--warmup-updates or a smaller --clip-norm."
            )

    def _end(self, sentence: str) -> NoReturn:
        """All processes know it; the first one says it."""
        raise SystemExit(1 if self.trainer.data_parallel_rank else f"error: {sentence}")


class _Aggregators:
    """fairseq's meters that are at work: an exception passes `metrics.aggregate` without its end."""

    def __init__(self) -> None:
        self.known = [(each, each.copy()) for each in (metrics._active_aggregators, metrics._active_aggregators_cnt)]

    def restore(self) -> None:
        for live, before in self.known:
            live.clear()
            live.update(before)


def _forget_gradient(trainer) -> None:
    trainer.zero_grad()
    if getattr(trainer.optimizer, "scaler", None) is None and hasattr(trainer.optimizer, "_multiply_factor"):
        trainer.optimizer._multiply_factor = 1.0  # --bf16: the clipping of this gradient, which zero_grad leaves
