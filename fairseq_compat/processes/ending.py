"""The end of a process: one sentence and an exit code; signals that it passes on to the processes that it started."""

import functools
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from typing import NoReturn

from fairseq_compat.errors import Refusal
from fairseq_compat.processes.last_words import last_words
from fairseq_compat.processes.store import place, report_failure

_ending = threading.Lock()

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
SAYS = "error: "  # how the sentence begins that a plugin ends with, as the message of a SystemExit


@contextmanager
def signals_passed_on():
    """A process that only waits for those it starts passes SIGTERM and SIGUSR2 on to them, and ends after them.

    Ctrl-C reaches them by itself; where it was for this process alone they get SIGTERM. A second Ctrl-C ends it.
    """
    interrupted = []

    def hand_on(number, frame):
        if number == signal.SIGINT:
            if interrupted:
                signal.default_int_handler(number, frame)
            interrupted.append(number)
            number = signal.SIGTERM
        children = multiprocessing.active_children()
        for child in children:
            os.kill(child.pid, number)
        if not children:
            sys.exit(128 + number)

    numbers = [number for number in PASSED_ON if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_in_one_sentence(function):
    """The function, which then ends its process when it is refused, or for an error that `last_words` knows."""

    @functools.wraps(function)
    def ended(*args, **options):
        try:
            return function(*args, **options)
        except Refusal as refusal:
            end(str(refusal), 2)
        except SystemExit as refused:
            if isinstance(refused.code, str) and refused.code.startswith(SAYS) and place():
                end(refused.code.removeprefix(SAYS), 1)
            raise
        except Exception as error:
            if type(error).__name__ == "ProcessExitedException":  # of torch's spawn; that process has said why
                sys.exit(error.exit_code if error.exit_code >= 0 else 128 - error.exit_code)
            words = last_words(error)
            if words is not None:
                end(*words)
            if not place():
                raise
            traceback.print_exc()
            leave(1)

    return ended


def end(sentence: str, code: int, tell: bool = True) -> NoReturn:
    """Say it, once, and end; of several processes, `tell` the others."""
    several = place()
    if several and not _ending.acquire(blocking=False):
        threading.Event().wait()  # another thread is at it
    print(f"error: {several and several + ': '}{sentence}", file=sys.stderr, flush=True)
    if several:
        leave(code, tell)
    sys.exit(code)


def leave(code: int, tell: bool = True) -> NoReturn:
    """End this process of several at once, so that it ends before the others that it tells."""
    if tell:
        report_failure(place())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
