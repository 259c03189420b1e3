"""A run that is asked to stop saves a checkpoint first, on all processes after the same update.

SIGTERM, SIGINT (Ctrl-C) and SIGUSR2 (submitit's, before a time limit or a preemption) ask it, in any process. fairseq
sums some numbers over all processes in each update and each batch of a validation. One more number is how many were
asked, so all know it after the same one. The exit code is 75, "try again": the same command resumes. A second Ctrl-C
ends a process at once.
"""

import functools
import logging
import os
import signal
import sys
from contextlib import suppress
from datetime import timedelta

from fairseq import checkpoint_utils

from fairseq_compat.errors import AGAIN
from fairseq_compat.processes.store import store_of_processes

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
SAVED = "alibert_fairseq/saved"  # in the store of the processes
PATIENCE = timedelta(minutes=10)  # of the others for the first process's checkpoint: that of `large` has 4 GB


class StopSignal:
    """The callback: whether this process was asked to stop, and whether all know that one of them was."""

    def __init__(self) -> None:
        self.by: signal.Signals | None = None
        self.known = False
        self.interrupted = False
        self.saved = False  # after the update that is at work

    def listen(self, checkpoint) -> None:
        """From the start of a run on; not with --no-save or --no-last-checkpoints, where no start could resume.

        Ctrl-C is not noted where a shell in the background has it ignored.
        """
        for name in ("fairseq_cli.train", "__main__"):  # the console script's, or that of `python -m fairseq_cli.train`
            train = sys.modules.get(name)
            if hasattr(train, "validate_and_save") and not (checkpoint.no_save or checkpoint.no_last_checkpoints):
                _stop_after_update(train)
                for number in SIGNALS:
                    if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                        signal.signal(number, self._note)
                break

    def _note(self, number: int, _frame) -> None:
        if self.by is None:
            said = f"{signal.Signals(number).name}: a checkpoint is saved after this update or the next\n"
            with suppress(OSError):  # a closed stderr
                os.write(2, said.encode())  # a logger may be at work, and Python's streams refuse to be entered again
        elif number == signal.SIGINT and self.interrupted:  # the first may be a dying parent's, or come beside SIGTERM
            signal.default_int_handler(number, _frame)
        self.by = signal.Signals(number)
        self.interrupted |= number == signal.SIGINT

    def as_number(self) -> float:
        """1 where this process was asked, for the sum over all."""
        return float(self.by is not None)

    def learn(self, asked) -> None:
        """How many processes were asked."""
        self.known |= bool(asked > 0)  # waits for a GPU; fairseq does so next, to divide by the sample size

    def stops(self, processes: int) -> bool:
        """Whether all processes of so many stop now."""
        return self.known if processes > 1 else self.by is not None


def _stop_after_update(train) -> None:
    """Have fairseq's training loop, `train`, end after an update when it was asked to."""
    original = getattr(train.validate_and_save, "__wrapped__", train.validate_and_save)

    @functools.wraps(original)
    def validate_and_save(cfg, trainer, task, epoch_itr, *args):
        trainer.stop_signal.saved = False
        losses, finished = original(cfg, trainer, task, epoch_itr, *args)
        if not finished and trainer.stop_signal.stops(trainer.data_parallel_world_size):
            if not trainer.stop_signal.saved:
                checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epoch_itr, None)
            _together(trainer.data_parallel_rank, store_of_processes())
            if trainer.data_parallel_rank == 0:
                logger.warning(f"stopped after update {trainer.get_num_updates()}; the same command resumes")
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
