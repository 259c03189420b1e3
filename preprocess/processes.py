"""Pieces of a stage in processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from preprocess.files import InputError

Piece = TypeVar("Piece")


def run_here(function: Callable[[Piece], None], pieces: Sequence[Piece], workers: int) -> Iterator[None]:
    """Run the function on every piece, in `workers` processes, in no order; yields after each.

    Raises what a piece raises, and InputError for a process that was killed; no other piece is begun then.
    """
    if workers == 1 or len(pieces) == 1:
        for piece in pieces:
            yield function(piece)
        return
    # Started afresh, not forked: threads of the tokenizer and of progress bars do not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(pieces)), spawn, initializer=begin_worker)
    try:
        for future in as_completed([pool.submit(function, piece) for piece in pieces]):
            yield future.result()
    except BrokenProcessPool:
        raise InputError("a worker was killed, mostly for lack of memory; give fewer --workers.") from None
    finally:
        pool.shutdown(cancel_futures=True)


def begin_worker() -> None:
    """For a process of a pool: end when its parent does, also one that is killed, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)
