"""Items of a stage in processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from alibert_common.errors import InputError

Item = TypeVar("Item")


def run_here(function: Callable[[Item], None], items: Sequence[Item], workers: int) -> Iterator[None]:
    """Run the function on every item, in `workers` processes, in no order; yields after each.

    Raises what an item raises, and InputError for a process that was killed; then, and on Ctrl-C, the other processes
    are ended at once: every item is whole or not there.
    """
    if workers == 1 or len(items) == 1:
        for item in items:
            yield function(item)
        return
    # Started afresh, not forked: threads of the tokenizer and of progress bars do not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    # Numbers only are submitted: in Python 3.10, a process that ends leaves the pool waiting for ever when what is
    # submitted is more than a pipe holds, as the names of all shards are.
    pool = ProcessPoolExecutor(min(workers, len(items)), spawn, initializer=_receive, initargs=(function, items))
    try:
        for future in as_completed(_submitted(pool, len(items))):
            yield future.result()
    except BrokenProcessPool:
        raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None
    except BaseException:
        for process in multiprocessing.active_children():  # the pool has no word for it before Python 3.14
            if process not in others:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, count: int) -> list[Future]:
    """The numbers as futures. When a process is killed, the pool closes the pipes of one that it is just starting."""
    try:
        return [pool.submit(_run, number) for number in range(count)]
    except (OSError, ValueError):
        if pool._broken:
            raise BrokenProcessPool from None
        raise


_received: list = []  # in a process of the pool: the function and all items


def _receive(function: Callable[[Item], None], items: Sequence[Item]) -> None:
    begin_worker()
    _received[:] = function, items


def _run(number: int) -> None:
    function, items = _received
    try:
        function(items[number])
    except BaseException:
        _received[0] = _nothing  # it would go on with the next until this process is ended
        raise


def _nothing(_: Item) -> None:
    pass


def begin_worker() -> None:
    """For a process of a pool: end when its parent does, also one that is killed, and leave it to the parent what
    Ctrl-C and the end of the terminal mean, which every process is told of."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)
