"""A run that is asked to stop saves a checkpoint first, on all processes after the same update.

SIGTERM, SIGINT (Ctrl-C) and SIGUSR2 (submitit's, before a time limit or a preemption) ask; whichever process gets one
tells the others before it exchanges gradients again, so that none of them can be further than the next update. The exit
code is 75, "try again": the same command goes on. A second Ctrl-C ends a process at once.
"""

import functools
import logging
import signal
import sys
from datetime import timedelta
from types import ModuleType

from fairseq import checkpoint_utils

from fairseq_compat.last_words import AGAIN
from fairseq_compat.store import store_of_processes

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
STOP, SAVED = "alibert_fairseq/stop", "alibert_fairseq/saved"  # in the store of the processes
PATIENCE = timedelta(minutes=10)  # of the others for the first process's checkpoint: that of `large` has 4 GB


class Asked:
    """Whether this process was asked to stop, and what all have agreed on."""

    def __init__(self) -> None:
        self.by: signal.Signals | None = None
        self.at: int | None = None  # the update after which all stop

    def listen(self) -> None:
        """From now on the signals are noted; Ctrl-C is not where a shell in the background has it ignored."""
        for number in SIGNALS:
            if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame) -> None:
        if self.by is None:
            logger.warning(f"{signal.Signals(number).name}: a checkpoint is saved after this update or the next")
        elif number == signal.SIGINT:
            signal.default_int_handler(number, _frame)
        self.by = signal.Signals(number)

    def after(self, update: int, store) -> bool:
        """Whether all processes stop after this update. `store` is theirs, None where there is one process."""
        if store is None:
            return self.by is not None
        if self.at is None and store.check([STOP]):
            self.at = int(store.get(STOP))
        if self.at is None and self.by is not None:
            self.at = update + 1
            store.set(STOP, str(self.at))
        return self.at is not None and update >= self.at


def stopping_when_asked(trainer_class: type) -> None:
    """Have every training with fairseq's Trainer listen from its start on, and stop after an update.

    Not with --no-save, for there would be nothing to go on from.
    """
    load = trainer_class.load_checkpoint

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        for name in ("fairseq_cli.train", "__main__"):  # the console script's, or that of `python -m fairseq_cli.train`
            if hasattr(sys.modules.get(name), "validate_and_save") and not self.cfg.checkpoint.no_save:
                _stop_after_update(sys.modules[name])
                break
        return load(self, *args, **options)

    trainer_class.load_checkpoint = load_checkpoint


def _stop_after_update(train: ModuleType) -> None:
    """In fairseq's training loop, `train`."""
    asked, original = Asked(), getattr(train.validate_and_save, "__wrapped__", train.validate_and_save)
    asked.listen()

    @functools.wraps(original)
    def validate_and_save(cfg, trainer, task, epoch_itr, *args):
        losses, finished = original(cfg, trainer, task, epoch_itr, *args)
        store, update = store_of_processes(), trainer.get_num_updates()
        if not finished and asked.after(update, store):
            checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epoch_itr, None)
            _together(trainer.data_parallel_rank, store)
            if trainer.data_parallel_rank == 0:
                logger.warning(f"stopped after update {update}; the same command goes on")
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # the launcher repeats it; an ending Python would die of it
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
