"""The end of a run: fairseq's reading threads must not be inside torch while the interpreter ends.

A training that stops at --max-update leaves the thread that reads batches ahead at work. Python ends such a thread
where it next asks for the interpreter; inside torch's C++ code that calls std::terminate, and a finished training
ends in "terminate called without an active exception" and exit status 134.
"""

import atexit
import queue
import threading
import time
import weakref
from contextlib import contextmanager

PATIENCE = 10  # seconds to wait for a batch that is being read; workers that hang must not hang the end of the run


@contextmanager
def stopped_before_the_interpreter(module):
    """After `fairseq.data.iterators` ran: its threads end with the batch they read when the interpreter begins to."""
    yield
    stop, readers = threading.Event(), weakref.WeakSet()

    class BackgroundConsumer(module.BackgroundConsumer):
        def __init__(self, queue, source, max_len, cuda_device):
            super().__init__(queue, _until(stop, source), max_len, cuda_device)
            readers.add(self)

    @atexit.register
    def stop_readers():
        stop.set()
        end = time.monotonic() + PATIENCE
        for reader in list(readers):
            while reader.is_alive() and time.monotonic() < end:
                _empty(reader._queue)  # a reader may be waiting for room
                reader.join(0.05)

    module.BackgroundConsumer = BackgroundConsumer


def _until(stop, source):
    for item in source:
        if stop.is_set():
            return
        yield item


def _empty(full: queue.Queue) -> None:
    try:
        while True:
            full.get_nowait()
    except queue.Empty:
        pass
