"""Run the items of a stage in processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Protocol, TypeVar

from alibert_common.errors import InputError

Item = TypeVar("Item")
Taken = TypeVar("Taken", contravariant=True)  # an item, as a task takes it


class Task(Protocol[Taken]):
    """The work on one item. Tasks and items are pickled for other processes."""

    def __call__(self, item: Taken, /) -> None:
        """Write the files of the item."""

    def done(self, item: Taken, /) -> Path:
        """The file that is written last. When it exists, the item is done."""


def run_here(task: Task[Item], items: Sequence[Item], workers: int) -> Iterator[None]:
    """Run the task on every item that is not done, in `workers` processes and in any order. Yields after each.

    Raises the error of an item, and InputError for a killed process. Then, and on Ctrl-C, the other processes end at
    once: every item is whole or missing.
    """
    if workers == 1 or len(items) == 1:
        for item in items:
            _run_missing(task, item)
            yield
        return
    # Spawned, not forked: threads of the tokenizer and of progress bars do not survive a fork.
    spawn, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
    # Only numbers are submitted. With more bytes than a pipe holds, Python 3.10 waits for ever after a process died.
    pool = ProcessPoolExecutor(min(workers, len(items)), spawn, initializer=_receive, initargs=(task, items))
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
    """Submit the numbers. A killed pool is a BrokenProcessPool, also when it closes the pipes of a starting process."""
    try:
        return [pool.submit(_run, number) for number in range(count)]
    except (OSError, ValueError):
        if pool._broken:
            raise BrokenProcessPool from None
        raise


_received: list = []  # in a process of the pool: the task and all items


def _receive(task: Task[Item], items: Sequence[Item]) -> None:
    begin_worker()
    _received[:] = task, items


def _run(number: int) -> None:
    if _received:
        task, items = _received
        try:
            _run_missing(task, items[number])
        except BaseException:
            _received.clear()  # else it runs the next item until this process ends
            raise


def _run_missing(task: Task[Item], item: Item) -> None:
    """Run an item unless it is done: Slurm restarts a job that it stopped."""
    if not task.done(item).exists():
        task(item)


def begin_worker() -> None:
    """End this process of a pool with its parent, also a killed one. The parent alone handles Ctrl-C and SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)
