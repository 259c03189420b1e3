"""Workers of the data loader that end when their process ends them, or is gone, and not by a signal to all.

Slurm and launchers signal every process of a job. A training that saves a checkpoint on SIGTERM needs its workers until
then: torch has them die at once, and the training with them.
"""

import os
import signal
import threading
from contextlib import contextmanager
from functools import partial

from fairseq_compat.module_proxy import StandIn


@contextmanager
def keep_workers_on_signals(module):
    """After `fairseq.data.iterators` ran: the workers that it starts mind their own process alone."""
    yield
    torch = module.torch
    loader = partial(torch.utils.data.DataLoader, worker_init_fn=end_with_parent_only)
    module.torch = StandIn(torch, utils=StandIn(torch.utils, data=StandIn(torch.utils.data, DataLoader=loader)))


def end_with_parent_only(_worker: int) -> None:
    """In a worker, at its start: SIGTERM ends it if its parent sent it; the signals that stop a training do not."""
    for number in (signal.SIGINT, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # in this thread and those it starts
    threading.Thread(target=_end_with_the_parent, daemon=True, name="parent").start()


def _end_with_the_parent() -> None:
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != os.getppid():
        pass
    os._exit(0)  # as torch's own handler does
