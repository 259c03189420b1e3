"""What happens around an update, a save and a load of a training with `--user-dir alibert_fairseq`, in order.

fairseq-train looks up `Trainer` when its training starts, which is after it imported the --user-dir. `install` puts
`AlibertTrainer` there. Each callback is explained in its own file of `callbacks/`.
"""

import os
import sys

import torch
from fairseq import trainer as fairseq_trainer
from fairseq.logging import metrics
from fairseq.trainer import Trainer

from alibert_common.allocator import keep_freed_memory
from alibert_fairseq.callbacks.budget import Budget
from alibert_fairseq.callbacks.calibration import Calibration
from alibert_fairseq.callbacks.loss_spikes import LossSpikes
from alibert_fairseq.callbacks.memory import MemoryCheck
from alibert_fairseq.callbacks.metrics_log import MetricsLog
from alibert_fairseq.callbacks.pending_logs import PendingLog, PendingLogs
from alibert_fairseq.callbacks.precision import Precision
from alibert_fairseq.callbacks.run_info import RunInfo
from alibert_fairseq.callbacks.save_dir_owner import SaveDirOwner
from alibert_fairseq.callbacks.skip_nonfinite import SkipNonfinite
from alibert_fairseq.callbacks.stop_signal import StopSignal
from alibert_fairseq.callbacks.watchdog import COMPUTING, EXCHANGING, READING, SAVING, STARTING, VALIDATING, Watchdog
from alibert_fairseq.data.layout import for_compiled


class AlibertTrainer(Trainer):
    """fairseq's Trainer with callbacks. Each method shows what they do before and after fairseq's own part.

    fairseq's loop calls, for each update, `train_step` (which calls `_aggregate_logging_outputs`, `clip_grad_norm`,
    `_check_grad_norms` and `_reduce_and_log_stats`), and then `validate_and_save`, which may validate and save.
    After that the run stops if it was asked to (`StopSignal`).
    """

    def __init__(self, cfg, *args, **options) -> None:
        torch.set_flush_denormal(True)  # a CPU is slow with numbers below 1e-38
        # The callbacks, in the order in which they begin in an update.
        self.calibration = Calibration(self)  # measures a few updates and ends the run, for `launch --dry-run` alone
        self.budget = Budget(self, cfg)  # --budget-minutes: schedules follow the clock, and it ends the run
        self.precision = Precision(self)  # --measure-precision: float32 or bfloat16, whichever is faster here
        self.watchdog = Watchdog(self, cfg)  # notes where this process is; ends the run when a process is silent
        self.memory = MemoryCheck(self)  # ends the run in one sentence when there is not enough memory
        self.nonfinite = SkipNonfinite(self)  # makes no update of a loss or a gradient that is not finite
        self.owner = SaveDirOwner(self)  # ends the run when another run has taken over its --save-dir
        self.metrics_log = MetricsLog(self)  # writes a line of metrics.jsonl for each update
        self.pending = PendingLogs(self)  # reads what updates log, at log steps
        self.loss_spikes = LossSpikes(self)  # warns when the loss jumps
        self.stop_signal = StopSignal()  # saves a checkpoint and ends the run after SIGTERM, SIGINT or SIGUSR2
        self.epoch_iterator = None
        self.run_info = RunInfo(self)  # at the start: tells the launcher where the run writes and how far it is to go
        super().__init__(cfg, *args, **options)
        if not getattr(self, "cuda", False):
            keep_freed_memory()  # a CPU clears each page that it takes anew

    def load_checkpoint(self, filename, reset_optimizer=False, *args, **options):
        """At the start of a run, with a checkpoint or without."""
        self.stop_signal.listen(self.cfg.checkpoint)
        with self.watchdog.at(STARTING):
            extra_state = super().load_checkpoint(filename, reset_optimizer, *args, **options)
        if extra_state and not self.get_num_updates():  # another run's weights, whose time this run has not spent
            self._previous_training_time = 0
        self.owner.claim()
        self.metrics_log.open()
        self.nonfinite.begin(None if reset_optimizer else extra_state)  # another run's, or of other moments
        self.precision.begin(None if reset_optimizer else extra_state)
        self.budget.begin()
        self.run_info.write()
        self.calibration.begin()
        return extra_state

    def get_train_iterator(self, *args, **options):
        """Before the first epoch and after each."""
        with self.watchdog.at(STARTING, then=READING):
            self.epoch_iterator = super().get_train_iterator(*args, **options)
        return self.epoch_iterator

    def begin_epoch(self, epoch):
        """Before the first update of an epoch."""
        self.metrics_log.epoch = epoch
        with self.watchdog.at(STARTING, then=READING):
            return super().begin_epoch(epoch)

    def train_step(self, samples, *args, **options):
        """One update. Returns None for one that was skipped."""
        self.task.position = self.budget.position()  # for what a task changes in the course of a run
        with (
            self.calibration.measured(),
            self.watchdog.at(COMPUTING, then=READING),
            self.memory.checked(samples),
            self.nonfinite.skipped(samples),
            self.owner.checked(),
        ):
            self.precision.decide(samples)
            return super().train_step(samples, *args, **options)
        return None

    def _prepare_sample(self, sample, is_dummy=False):
        """A batch on its way to the device: what a model asks of it is found here, where no one waits for an answer."""
        if isinstance(sample, dict) and sample and hasattr(self.task, "prepared"):
            sample = self.task.prepared(sample, self.get_num_updates() if self.model.training else None)
            if getattr(self.cfg.model, "compile", False):
                sample = for_compiled(sample)
        return super()._prepare_sample(sample, is_dummy)

    def lr_step_update(self):
        """At the start and after each update: the learning rate of the next one."""
        if not self.budget.minutes:
            return super().lr_step_update()
        rate = self.lr_scheduler.step_update(self.budget.position())
        metrics.log_scalar("lr", rate, weight=0, priority=300)
        return rate

    def _aggregate_logging_outputs(self, logging_outputs, *numbers, **options):
        """In an update and in a validation: sums over all processes, among them how many were asked to stop."""
        with self.watchdog.at(EXCHANGING):
            asked = self.stop_signal.as_number()
            outputs, sums = super()._aggregate_logging_outputs(logging_outputs, *numbers, asked, **options)
        self.stop_signal.learn(sums[-1])
        self.nonfinite.note_sum(outputs)
        return outputs, sums[:-1]

    def clip_grad_norm(self, clip_norm):
        """In an update, once the gradient is the sum over all processes."""
        with self.nonfinite.ended_in_one_sentence():
            norm = super().clip_grad_norm(clip_norm)
        return self.nonfinite.checked(norm)

    def _check_grad_norms(self, grad_norm):
        """In an update: do all processes have the same gradient?"""
        with self.nonfinite.ended_in_one_sentence():
            return super()._check_grad_norms(grad_norm)

    def _reduce_and_log_stats(self, logging_outputs, sample_size, grad_norm=None):
        """After an update, and after a validation, which has no norm of a gradient."""
        if grad_norm is None:
            return super()._reduce_and_log_stats(logging_outputs, sample_size)
        facts = self.metrics_log.facts(self.nonfinite.in_a_row + self.nonfinite.overflows)
        self.pending.add(PendingLog(logging_outputs, sample_size, grad_norm, facts))
        return self.log_pending() if self.pending.due() else {}

    def log_pending(self) -> dict:
        """What updates have logged since the last time; returns the figures of the last one."""
        found: dict = {}
        with metrics.aggregate("train"), metrics.aggregate("train_inner"):  # fairseq's, which are left before a save
            for outputs, sample_size, norm, facts in self.pending.take():
                found = super()._reduce_and_log_stats(outputs, sample_size, norm)
                if "causal_loss" in found:
                    found.pop("loss", None)  # that of masked tokens has no value in this update
                tokens = int(sum(output.get("ntokens", 0) for output in outputs or ()))
                self.metrics_log.write_update(facts, tokens, norm, found)
                self.loss_spikes.look_at(facts["update"], found.get("loss"))
        return found

    def end_of_epoch(self) -> bool:
        """Whether the last batch of an epoch was read."""
        return self.epoch_iterator is not None and self.epoch_iterator.end_of_epoch()

    def valid_step(self, sample, *args, **options):
        """One batch of a validation."""
        with self.watchdog.at(VALIDATING), self.memory.checked([sample], training=False):
            return super().valid_step(sample, *args, **options)

    def _log_oom(self, error):
        """fairseq's first step when memory is short; in an update it would then leave out this process's batch."""
        self.memory.end_training_step(error)
        return super()._log_oom(error)

    def consolidate_optimizer(self):
        """First step of a save, on all processes. Not for crash.pt: a process that failed would wait for the others."""
        if sys.exc_info()[0]:
            return None
        self.stop_signal.saved = True
        self.log_pending()
        return super().consolidate_optimizer()

    def save_checkpoint(self, filename, extra_state):
        """Second step of a save, where this process writes. No run can resume from crash.pt, so there is none."""
        if os.path.basename(filename) == "crash.pt":
            return None
        with self.watchdog.at(SAVING, then=READING):
            self.metrics_log.sync()
            self.owner.check()
            more = self.nonfinite.extra_state() | self.precision.extra_state()
            return super().save_checkpoint(filename, extra_state | more)


def install() -> None:
    """Have fairseq's training use it: where its command was imported, is the main module, or is imported later."""
    for module in (fairseq_trainer, sys.modules.get("fairseq_cli.train"), sys.modules.get("__main__")):
        if getattr(module, "Trainer", None) is Trainer:
            module.Trainer = AlibertTrainer  # type: ignore[union-attr]
