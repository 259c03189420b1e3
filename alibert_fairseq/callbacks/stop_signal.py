"""A run that is asked to stop saves a checkpoint first, on all processes after the same update.

SIGTERM, SIGINT (Ctrl-C) and SIGUSR2 (submitit's, before a time limit or a preemption) ask, whichever process gets one.
How many were asked is one more of the numbers that fairseq sums over all processes in each update and each batch of a
validation, so all know it after the same one. The exit code is 75, "try again": the same command goes on. A second
Ctrl-C ends a process at once.
"""

import functools
import logging
import signal
import sys
from datetime import timedelta
from types import ModuleType

from fairseq import checkpoint_utils

from fairseq_compat.errors import AGAIN
from fairseq_compat.processes.store import store_of_processes

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
SAVED = "alibert_fairseq/saved"  # in the store of the processes
PATIENCE = timedelta(minutes=10)  # of the others for the first process's checkpoint: that of `large` has 4 GB


class Asked:
    """Whether this process was asked to stop, and whether all know that one of them was."""

    def __init__(self) -> None:
        self.by: signal.Signals | None = None
        self.known = False
        self.interrupted = False

    def listen(self) -> None:
        """From now on the signals are noted; Ctrl-C is not where a shell in the background has it ignored."""
        for number in SIGNALS:
            if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame) -> None:
        if self.by is None:
            logger.warning(f"{signal.Signals(number).name}: a checkpoint is saved after this update or the next")
        elif number == signal.SIGINT and self.interrupted:  # the first may be a dying parent's, or come beside SIGTERM
            signal.default_int_handler(number, _frame)
        self.by = signal.Signals(number)
        self.interrupted |= number == signal.SIGINT

    def stops(self, processes: int) -> bool:
        """Whether all processes of so many stop now."""
        return self.known if processes > 1 else self.by is not None


def stopping_when_asked(trainer_class: type) -> None:
    """Have every training with fairseq's Trainer listen from its start on, and stop after an update.

    Not with --no-save or --no-last-checkpoints, for there would be nothing to go on from.
    """
    load, save, aggregate = (
        getattr(trainer_class, name)
        for name in ("load_checkpoint", "consolidate_optimizer", "_aggregate_logging_outputs")
    )

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        checkpoint = self.cfg.checkpoint
        for name in ("fairseq_cli.train", "__main__"):  # the console script's, or that of `python -m fairseq_cli.train`
            train = sys.modules.get(name)
            if hasattr(train, "validate_and_save") and not (checkpoint.no_save or checkpoint.no_last_checkpoints):
                self.asked = Asked()
                _stop_after_update(train, self.asked)
                break
        return load(self, *args, **options)

    @functools.wraps(save)
    def consolidate_optimizer(self):  # which all processes do in every save
        self.saved = True
        return save(self)

    @functools.wraps(aggregate)
    def _aggregate_logging_outputs(self, logging_outputs, *numbers, **options):
        asked = getattr(self, "asked", None)
        if asked is None:
            return aggregate(self, logging_outputs, *numbers, **options)
        found, sums = aggregate(self, logging_outputs, *numbers, float(asked.by is not None), **options)
        asked.known |= bool(sums[-1] > 0)  # waits for a GPU; fairseq does so next, to divide by the sample size
        return found, sums[:-1]

    for method in (load_checkpoint, consolidate_optimizer, _aggregate_logging_outputs):
        setattr(trainer_class, method.__name__, method)


def _stop_after_update(train: ModuleType, asked: Asked) -> None:
    """In fairseq's training loop, `train`."""
    original = getattr(train.validate_and_save, "__wrapped__", train.validate_and_save)
    asked.listen()

    @functools.wraps(original)
    def validate_and_save(cfg, trainer, task, epoch_itr, *args):
        trainer.saved = False
        losses, finished = original(cfg, trainer, task, epoch_itr, *args)
        if not finished and asked.stops(trainer.data_parallel_world_size):
            if not trainer.saved:
                checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epoch_itr, None)
            _together(trainer.data_parallel_rank, store_of_processes())
            if trainer.data_parallel_rank == 0:
                logger.warning(f"stopped after update {trainer.get_num_updates()}; the same command goes on")
            for number in (signal.SIGUSR2, signal.SIGTERM):  # may come again; an ending Python would die of it
                signal.signal(number, signal.SIG_IGN)
            sys.exit(AGAIN)
        return losses, finished

    train.validate_and_save = validate_and_save


def _together(rank: int, store) -> None:
    """Wait until the first process has its checkpoint: who starts the processes ends all when one has ended."""
    if store is None:
        return
    if rank == 0:
        store.set(SAVED, "")
        return
    try:
        store.wait([SAVED], PATIENCE)
    except (RuntimeError, ConnectionError):  # the first process keeps the store, and may have ended since
        logger.warning("the first process did not say that its checkpoint is saved")
