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
    """Run the function on every item, in `workers` processes and in any order. Yields after each.

    Raises the error of an item, and InputError for a killed process. Then, and on Ctrl-C, the other processes end at
    once: every item is whole or missing.
    """
    if workers == 1 or len(items) == 1:
        for item in items:
            function(item)
            yield
        return
    # Spawned, not forked: threads of the tokenizer and of progress bars do not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    # Only numbers are submitted. With more bytes than a pipe holds, Python 3.10 waits for ever after a process died.
    pool = ProcessPoolExecutor(min(workers, len(items)), spawn, initializer=_receive, initargs=(function, items))
    try:
        for future in as_completed(_submitted(pool, len(items))):
            yield future.result()
    except BrokenProcessPool:
        raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None
    except BaseException:
        for process in multiprocessing.active_children():  # before Python 3.14 the pool has no method for it
            if process not in others:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, count: int) -> list[Future]:
    """The numbers as futures. After a kill, the pool closes the pipes of a process that it is just starting."""
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
        _received[0] = _nothing  # else it runs the next item until this process ends
        raise


def _nothing(_: Item) -> None:
    pass


def begin_worker() -> None:
    """For a process of a pool: end with the parent, also a killed one. The parent alone handles Ctrl-C and a closed
    terminal."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)
