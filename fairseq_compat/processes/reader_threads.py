"""The end of fairseq's reading threads: of a run's, and of an epoch's or a validation's.

A training that stops at --max-update leaves the thread that reads batches ahead at work. Python ends such a thread
where it next asks for the interpreter; inside torch's C++ code that calls std::terminate, and a finished training
ends in "terminate called without an active exception" and exit status 134.

A thread that has read an epoch, or a validation, takes as many batches as there are and does not ask for one more, so
torch's iterator never learns of its end. Its workers stay until the garbage is collected, in the middle of a save
perhaps, where torch waits five seconds for each. So the thread ends them when it has read all.
"""

import atexit
import queue
import threading
import time
import weakref
from contextlib import contextmanager, suppress

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

        def run(self):
            super().run()
            self._source.close()

    @atexit.register
    def stop_readers():
        stop.set()
        end = time.monotonic() + PATIENCE
        for reader in list(readers):
            while reader.is_alive() and time.monotonic() < end:
                with suppress(queue.Empty):  # a reader may be waiting for room
                    while True:
                        reader._queue.get_nowait()
                reader.join(0.05)

    module.BackgroundConsumer = BackgroundConsumer


def _until(stop, source):
    items = iter(source)
    try:
        for item in items:
            if stop.is_set():
                return
            yield item
    finally:
        if hasattr(items, "_shutdown_workers"):  # of torch's DataLoader with --num-workers above 0
            items._shutdown_workers()
