"""An update whose loss or gradient is not finite is not made, by all processes alike, and its batch is kept.

The gradient is looked at once it is the sum over all processes, and the loss too, so that all decide the same. Weights,
moments and the count of updates stay as they were; the next batch takes the place of this one. How many were skipped
before an update is in its line of metrics.jsonl, and in a checkpoint that is saved among them. With fp16 a gradient
that overflows is fairseq's affair, and its loss scale's.
"""

import functools
import logging
import math
import os
import sys

import torch
from fairseq.logging import metrics

from alibert_fairseq.callbacks.options import STOP_AFTER_NONFINITE, option
from alibert_fairseq.callbacks.saved_batches import keep_batch, place_of_batch

logger = logging.getLogger(__name__)

SKIPPED = "skipped"  # in extra_state of a checkpoint


class NotFinite(Exception):
    """What the sum over all processes is."""

    def __init__(self, loss: float, norm: float):
        super().__init__(f"loss {loss:g}, norm of the gradient {norm:g}")
        self.loss, self.norm = loss, norm


class Skipping:
    """What a trainer knows of the losses of an update, and how many batches it skipped since the last one."""

    def __init__(self) -> None:
        self.in_a_row = 0
        self.own: list = []  # the losses of this process
        self.all: object = None  # their sum on all processes, where there are several

    def begin(self) -> None:
        """Of a new update nothing is known."""
        self.own, self.all = [], None

    def loss(self) -> torch.Tensor:
        """The sum over all processes."""
        return torch.as_tensor(sum(self.own) if self.all is None else self.all)

    def check(self, norm: torch.Tensor) -> None:
        """Raise NotFinite, on all processes alike."""
        loss = self.loss()
        if not torch.isfinite(norm + loss.to(norm.device)).all():  # one wait for a GPU, which fairseq's own check has
            raise NotFinite(float(loss), float(norm))

    def is_own(self) -> bool:
        """Whether this process has read what is not finite."""
        return not math.isfinite(float(sum(self.own)))


def of(trainer) -> Skipping:
    """The trainer's own."""
    if not hasattr(trainer, "skipping"):
        trainer.skipping = Skipping()
    return trainer.skipping


def skipping_what_is_not_finite(trainer_class: type) -> None:
    """Have fairseq's Trainer skip batches; it writes no crash.pt and looks for no NaN with hooks any more."""
    for hook in (_note_losses, _write_no_crash, _keep_the_count, _check_the_sum, _skip):
        hook(trainer_class)


def _note_losses(trainer_class: type) -> None:
    load, aggregate = trainer_class.load_checkpoint, trainer_class._aggregate_logging_outputs

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        step, skipping = self.task.train_step, of(self)

        @functools.wraps(step)
        def train_step(*args, **options):
            loss, sample_size, logged = step(*args, **options)
            skipping.own.append(logged.get("loss", 0))
            return loss, sample_size, logged

        extra_state = load(self, *args, **options)
        self.task.train_step = train_step
        skipping.in_a_row = (extra_state or {}).get(SKIPPED, 0)
        return extra_state

    @functools.wraps(aggregate)
    def _aggregate_logging_outputs(self, *args, **options):
        found = aggregate(self, *args, **options)
        of(self).all = sum(logged.get("loss", 0) for logged in found[0])
        return found

    trainer_class.load_checkpoint = load_checkpoint
    trainer_class._aggregate_logging_outputs = _aggregate_logging_outputs


def _write_no_crash(trainer_class: type) -> None:
    """fairseq saves crash.pt of a run that fails, from which none can go on. With --shard-optimizer-state all processes
    together collect what it saves first, and one that fails alone would wait for the others."""
    collect, save = trainer_class.consolidate_optimizer, trainer_class.save_checkpoint

    @functools.wraps(collect)
    def consolidate_optimizer(self):
        return None if sys.exc_info()[0] else collect(self)

    @functools.wraps(save)
    def save_checkpoint(self, filename, extra_state):
        return None if os.path.basename(filename) == "crash.pt" else save(self, filename, extra_state)

    trainer_class.consolidate_optimizer, trainer_class.save_checkpoint = consolidate_optimizer, save_checkpoint


def _keep_the_count(trainer_class: type) -> None:
    save = trainer_class.save_checkpoint

    @functools.wraps(save)
    def save_checkpoint(self, filename, extra_state):
        if of(self).in_a_row:
            extra_state = extra_state | {SKIPPED: of(self).in_a_row}
        return save(self, filename, extra_state)

    trainer_class.save_checkpoint = save_checkpoint


def _check_the_sum(trainer_class: type) -> None:
    clip, compare = trainer_class.clip_grad_norm, trainer_class._check_grad_norms

    @functools.wraps(clip)
    def clip_grad_norm(self, clip_norm):
        norm = _or_the_end(self, clip, clip_norm)
        if not self.cfg.common.amp:  # whose scaler skips by itself
            of(self).check(norm)
        return norm

    @functools.wraps(compare)
    def _check_grad_norms(self, grad_norm):
        return _or_the_end(self, compare, grad_norm)

    trainer_class.clip_grad_norm = clip_grad_norm
    trainer_class._check_grad_norms = _check_grad_norms


def _or_the_end(trainer, method, value):
    """A smallest loss scale (--fp16), or gradients that differ between processes, end the run, and not in crash.pt."""
    try:
        return method(trainer, value)
    except FloatingPointError as error:
        _end(trainer, f"update {trainer.get_num_updates() + 1}: {' '.join(str(error).split())}")


def _skip(trainer_class: type) -> None:
    step = trainer_class.train_step

    @functools.wraps(step)
    def train_step(self, samples, *args, **options):
        skipping, aggregators = of(self), _Aggregators()
        skipping.begin()
        try:
            made = step(self, samples, *args, **options)
        except NotFinite as error:
            aggregators.restore()
            _forget_gradient(self)
            metrics.log_stop_time("train_wall")
            _told_and_kept(self, samples, error)
            return None
        if made is not None:
            skipping.in_a_row = 0
        return made

    trainer_class.train_step = train_step


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


def _told_and_kept(trainer, samples: list, error: NotFinite) -> None:
    skipping, update, first = of(trainer), trainer.get_num_updates() + 1, trainer.data_parallel_rank == 0
    skipping.in_a_row += 1
    kept = "kept nowhere (--no-save)"
    if not trainer.cfg.checkpoint.no_save:
        several = trainer.data_parallel_world_size > 1
        kept = f"in {place_of_batch(trainer, update, '*' if several else 0)}"
        if skipping.is_own() or (first and math.isfinite(error.loss)):
            keep_batch(trainer, update, samples, float(sum(skipping.own)), error.norm)
    if first:
        logger.warning(f"update {update}: not finite ({error}); batch skipped, {skipping.in_a_row} in a row, {kept}")
    most = option(trainer.cfg, "stop_after_nonfinite", STOP_AFTER_NONFINITE)
    if skipping.in_a_row >= most:
        _end(
            trainer,
            f"update {update}: {skipping.in_a_row} batches in a row whose loss or gradient is not finite ({error}), "
            f"the last one {kept}; go on from the last checkpoint, or begin anew, with a lower --lr, more "
            "--warmup-updates or a smaller --clip-norm.",
        )


def _end(trainer, sentence: str) -> None:
    """All processes know it; the first one says it."""
    if trainer.data_parallel_rank == 0:
        raise SystemExit(f"error: {sentence}")
    sys.exit(1)
