"""Several processes: who listens where they meet, and that one which fails is not waited for.

A process that ends in an error writes so to the store of torch.distributed, and the others, which look there every two
seconds, end too. Some would notice by themselves: gloo loses a connection. But a process that waits at the store for
the others' addresses, or for a GPU that waits for theirs, does not.
"""

import atexit
import contextlib
import functools
import os
import socket
import threading
from contextlib import contextmanager
from datetime import timedelta

from fairseq_compat.processes.store import allow_many_files, own_connection, store_of_processes
from fairseq_compat.refusal import Refusal

ANSWER = 15  # seconds that rank 0, once it listens, has for its first answer: it gives it from a thread of its own
LOOK = 2  # seconds
LATER = 3  # seconds after which this process ends too: who failed has ended then, and is seen to have been the first
GRACE = 20  # seconds that this process has to end when the store is gone: rank 0 may have finished a moment before it
FAILED = "fairseq_compat/failed"  # in the store


@contextmanager
def not_waited_for(module):
    """After `fairseq.distributed.utils` ran: a process asks who listens where the processes meet before it joins, and
    looks from then on for one that failed.

    When somebody else listens, rank 0 cannot and says so, but torch would have the others wait for an answer from
    whoever it is, without an end.
    """
    yield
    initialise, main = module.distributed_init, module.distributed_main

    @functools.wraps(initialise)
    def distributed_init(cfg):
        options = getattr(cfg, "distributed_training", None)
        if options and str(options.distributed_init_method).startswith("env://") and options.distributed_rank:
            refuse_who_does_not_answer(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        allow_many_files()
        rank = initialise(cfg)
        store = store_of_processes()
        if store is not None:
            Lookout(own_connection(store)).start()
        return rank

    @functools.wraps(main)
    def distributed_main(*args, **options):
        found = main(*args, **options)
        Lookout.stop_all()
        return found

    module.distributed_init, module.distributed_main = distributed_init, distributed_main


def refuse_who_does_not_answer(host: str, port: int, patience: float = ANSWER) -> None:
    """Raise Refusal where a listener at the port is not torch's; nobody is fine, for rank 0 may come later."""
    from torch.distributed import TCPStore

    try:
        socket.create_connection((host, port), timeout=patience).close()
    except OSError:
        return
    answered = []

    def ask():
        with contextlib.suppress(RuntimeError):
            limit = timedelta(seconds=patience)
            store = TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=limit)
            store.check([FAILED])  # torch 2.4 waits for an answer only then
            answered.append(True)

    asking = threading.Thread(target=ask, daemon=True)  # its connection has no time limit of its own
    asking.start()
    asking.join(patience)
    if not answered:
        raise Refusal(
            f"who listens at {host}:{port}, where the processes of this training meet, does not answer as torch does; "
            "give another MASTER_PORT."
        )


def farewell(name: str) -> None:
    """Let the others know that this process has failed, unless one has before it."""

    def tell():
        with contextlib.suppress(RuntimeError):
            store = store_of_processes()
            if store is not None:
                own_connection(store).compare_set(FAILED, "", name)

    telling = threading.Thread(target=tell, daemon=True)  # the store may be in a process that is stopped
    telling.start()
    telling.join(LOOK)


class Lookout(threading.Thread):
    """Ends this process when another one has failed."""

    all: list["Lookout"] = []

    def __init__(self, store):
        super().__init__(daemon=True, name="lookout")
        self.store, self.over = store, threading.Event()

    def start(self) -> None:
        super().start()
        self.all.append(self)
        atexit.register(self.stop)

    def run(self) -> None:
        why = None
        while why is None and not self.over.wait(LOOK):
            why = self.look()
        if why is not None and not self.over.wait(LATER):
            from fairseq_compat.errors import AGAIN, end

            end(f"{why}; the same command goes on.", AGAIN, tell=False)

    def look(self) -> str | None:
        """What has happened to another process."""
        try:
            if self.store.check([FAILED]):
                return f"{self.store.get(FAILED).decode()} has failed, and says why"
        except RuntimeError:
            self.over.wait(GRACE)
            return "rank 0, which keeps the store of the processes, is gone"
        return None

    def stop(self) -> None:
        self.over.set()
        if self is not threading.current_thread():
            self.join(LOOK)  # an interpreter must not end while it is inside torch

    @classmethod
    def stop_all(cls) -> None:
        """The processes need each other no more."""
        while cls.all:
            cls.all.pop().stop()
