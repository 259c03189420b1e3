"""Several processes: who listens where they meet, and that the others end when one has failed.

A process that ends in an error writes so to the store of torch.distributed (store.py). The others look there every two
seconds, and end too. Some would notice by themselves, because gloo loses a connection. A process that waits at the
store for the others' addresses, or for a GPU that waits for theirs, does not.
"""

import atexit
import contextlib
import socket
import threading
from datetime import timedelta

from fairseq_compat.errors import AGAIN, Refusal
from fairseq_compat.processes.ending import end
from fairseq_compat.processes.store import FAILED

ANSWER = 15  # seconds that rank 0, once it listens, has for its first answer: it gives it from a thread of its own
LOOK = 2  # seconds
LATER = 3  # seconds after which this process ends too: who failed has ended then, and is seen to have been the first
GRACE = 20  # seconds that this process has to end when the store is gone: rank 0 may have finished a moment before it


def refuse_foreign_listener(host: str, port: int, patience: float = ANSWER) -> None:
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
            f"the program that listens at {host}:{port}, where the processes of this training meet, is not torch; give "
            "another MASTER_PORT."
        )


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
            end(f"{why}; the same command resumes.", AGAIN, tell=False)

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
