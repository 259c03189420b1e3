"""Errors that end a training in one sentence, not in a traceback.

A killed worker of the data loader, a lost connection to another process, a GPU that fails and a port in use end in exit
code 75, EX_TEMPFAIL of sysexits.h: the same command resumes. Where there are several processes, each tells which one it
is and ends at once, because an interpreter may wait for peers that are gone.
"""

import os
import re
import signal
import sys
import threading
import time
import traceback
from multiprocessing import process

from fairseq_compat.errors import AGAIN
from fairseq_compat.processes.store import place

WORKER = re.compile(r"DataLoader worker \(pid(?:\(s\))? ([\d, ]+)\)")  # as torch's dataloader.py and DataLoader.cpp say
CAUGHT = "in DataLoader worker process"  # an error of the program, which torch hands on
READER = os.path.join("torch", "utils", "data", "dataloader.py")
LOST = (  # what gloo, nccl and the store say, in lower case
    "connection closed by peer", "connection reset by peer", "connection refused", "connection was likely closed",
    "broken pipe", "socket closed", "failed to recv", "timed out waiting", "timed out after", "remote process exited",
    "network error", "software caused connection abort", "communicator was aborted",
)  # fmt: skip
FAILING = (  # what CUDA and nccl say of a GPU or a network card, in lower case; a job may run elsewhere
    "uncorrectable ecc error", "uncorrectable nvlink error", "unspecified launch failure", "busy or unavailable",
    "unhandled cuda error", "unhandled system error",
)  # fmt: skip


def last_words(error: BaseException) -> tuple[str, int] | None:
    """(sentence, exit code) of an error that is not the program's; None for any other."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler would raise here what it has to say of a worker
    kinds = (_a_dead_worker, _a_taken_port, _a_lost_connection, _a_failing_gpu)
    return next((words for known in kinds if (words := known(error))), None)


def _a_dead_worker(error: BaseException) -> tuple[str, int] | None:
    """torch says so itself, unless the worker was ended while its batch was on the way: then a connection is."""
    match = WORKER.search(str(error)) if isinstance(error, RuntimeError) else None
    if match is not None:
        pids = [int(pid) for pid in match[1].split(",")]
    elif CAUGHT not in str(error) and any(
        frame.f_code.co_filename.endswith(READER) for frame, _ in traceback.walk_tb(error.__traceback__)
    ):
        pids = _killed_workers()
    else:
        return None
    if not pids:
        return None
    ends = " and ".join(f"worker process {pid} of the data loader {_end_of(pid)}" for pid in pids)
    return f"{ends}; give the job more memory, or fewer --num-workers; the same command resumes.", AGAIN


def _killed_workers() -> list[int]:
    """The processes that this one started and a signal ended, a moment ago or now."""
    for _ in range(20):
        if pids := [pid for pid, code in _children().items() if code is not None and code < 0]:
            return pids
        time.sleep(0.1)
    return []


def _children() -> dict[int, int | None]:
    """Exit code by pid of the processes that this one started, while something knows them."""
    known = list(process._dangling)  # type: ignore[attr-defined]
    return {child.pid: child.exitcode for child in known if child.pid is not None}


def _end_of(pid: int) -> str:
    code = _children().get(pid)
    if code is None:
        return "ended"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _a_taken_port(error: BaseException) -> tuple[str, int] | None:
    if not isinstance(error, RuntimeError) or "EADDRINUSE" not in str(error):
        return None
    port = os.environ.get("MASTER_PORT", "of --distributed-init-method")
    return f"the port {port}, on which the processes meet, is in use; try again, or give another MASTER_PORT.", AGAIN


def _a_lost_connection(error: BaseException) -> tuple[str, int] | None:
    from torch import distributed

    if not distributed.is_available() or not place():
        return None
    if not isinstance(error, (RuntimeError, ConnectionError)) or not any(words in str(error).lower() for words in LOST):
        return None
    lost = f"lost the connection to another process {_when_and_how(error)}"
    return f"{lost}; the one that failed first says why; the same command resumes.", AGAIN


def _a_failing_gpu(error: BaseException) -> tuple[str, int] | None:
    if not isinstance(error, RuntimeError) or not any(words in str(error).lower() for words in FAILING):
        return None
    return f"a GPU or the network of this node failed {_when_and_how(error)}; the same command resumes.", AGAIN


def _when_and_how(error: BaseException) -> str:
    """The update, which fairseq's meters know, and the first line of the error."""
    metrics = sys.modules.get("fairseq.logging.metrics")
    # those at work, for a resumed run replaces the ones that have names
    at_work = metrics.get_active_aggregators() if metrics else []
    meters = [meters["num_updates"] for meters in at_work if "num_updates" in meters]
    when = f"in update {int(meters[0].val or 0) + 1}" if meters else "while it started"
    return f"{when} ({str(error).strip().partition(chr(10))[0][:200]})"
