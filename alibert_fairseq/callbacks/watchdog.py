"""A process that stops answering ends the run after a time, and the error names it.

Every process writes its place to the store of torch.distributed every few seconds, in a thread of its own. When a
process has not moved for --silence-timeout, it reads the places of all. It names the process that is behind or silent,
with the time of its own clock. Then it shows where its own threads are, and ends with 75; the others lose the
connection. A thread of its own asks the store, because the store lives in the first process (or in torchrun), and torch
waits without an end for a stopped one. A process that was suspended, as by `scontrol suspend`, is not silent: it counts
its own beats.
"""

import atexit
import faulthandler
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch

from alibert_fairseq.options import SILENCE_TIMEOUT, option_of_task
from fairseq_compat.errors import AGAIN
from fairseq_compat.processes.ending import end
from fairseq_compat.processes.store import own_connection, store_of_processes

BEAT = 10  # seconds; 1,000 processes are 100 short messages a second for the first one
PLACE, CLAIM = "alibert_fairseq/place/{}", "alibert_fairseq/silence"  # in the store
NAMED = 5  # processes in a sentence
# In the order in which a process goes through them between two updates; {} is the update.
STARTING, VALIDATING, SAVING, READING, COMPUTING, EXCHANGING = STAGES = (
    "starting, before update {next}",
    "validating after update {}",
    "saving a checkpoint after update {}",
    "reading its batch of update {next}",
    "computing update {next}",
    "exchanging the sums of update {next}",
)


class Place:
    """Where this process is. Written by the thread that trains, read by the one that watches."""

    def __init__(self) -> None:
        self.updates, self.stage, self.moves = 0, STARTING, 0

    def at(self, updates: int, stage: str) -> None:
        """After so many updates it does that."""
        self.updates, self.stage, self.moves = updates, stage, self.moves + 1

    def entry(self) -> str:
        """For the store."""
        return json.dumps([self.updates, STAGES.index(self.stage), time.time(), socket.gethostname()])


class Watch(threading.Thread):
    """Writes the place of its process, and ends the process when it has not moved for `timeout` seconds."""

    def __init__(self, place: Place, store, rank: int, processes: int, timeout: float, end: Callable[[str], None]):
        super().__init__(daemon=True, name="silence")
        self.place, self.store, self.rank, self.processes = place, store, rank, processes
        self.timeout, self.end, self.beat = timeout, end, min(BEAT, timeout / 4)
        self.over, self.moves, self.quiet = threading.Event(), -1, 0.0
        self.writing: threading.Thread | None = None

    def run(self) -> None:
        self.tick()
        while not self.over.wait(self.beat):
            self.tick()

    def tick(self) -> None:
        """One beat."""
        if self.writing is None or not self.writing.is_alive():
            self.writing = _in_background(lambda: self.store.set(PLACE.format(self.rank), self.place.entry()))
        moved, self.moves = self.place.moves != self.moves, self.place.moves
        self.quiet = 0.0 if moved else self.quiet + self.beat
        if self.quiet >= self.timeout:
            self.end(f"nothing has moved for {self.quiet:.0f} s here; {self.who()}")

    def who(self) -> str:
        """The processes that are behind, or silent, as far as the store can be read."""
        answers: list[str] = []
        reader = _in_background(lambda: answers.append(self._read()))
        reader.join(max(self.beat, 2))
        if answers:
            return answers[0]
        why = "does not answer" if reader.is_alive() else "is gone"
        keeper = f"rank 0 ({os.environ.get('MASTER_ADDR', 'its address is in --distributed-init-method')})"
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun started the processes
            keeper = "torchrun"
        return f"{keeper}, which keeps the store of all processes, {why}"

    def _read(self) -> str:
        if self.store.add(CLAIM, 1) > 1:
            return "another process says which one it waits for"
        known = {}
        for rank in range(self.processes):
            if self.store.check([PLACE.format(rank)]):
                known[rank] = json.loads(self.store.get(PLACE.format(rank)))
        return told(known, self.processes, time.time(), 3 * self.beat)

    def stop(self) -> None:
        """No more beats: the interpreter ends."""
        self.over.set()
        if self is not threading.current_thread():
            self.join(2 * self.beat)


def told(known: dict[int, list], processes: int, now: float, patience: float) -> str:
    """Which process is waited for, of entries by rank: the silent ones, or else those that are behind."""
    unknown = [f"rank {rank} was never heard of" for rank in range(processes) if rank not in known]
    silent = [rank for rank, entry in known.items() if now - entry[2] > patience]
    last = min((entry[:2] for entry in known.values()), default=[])
    behind = [rank for rank, entry in known.items() if entry[:2] == last]
    named = unknown + [_described(rank, known[rank], now) for rank in silent or (behind if not unknown else [])]
    if not silent and not unknown and len(behind) == processes:
        return f"all processes are {_stage(last)}"
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return ", ".join(named[:NAMED]) + more


def _described(rank: int, entry: list, now: float) -> str:
    return f"rank {rank} ({entry[3]}) was last heard of {now - entry[2]:.0f} s ago, then {_stage(entry)}"


def _stage(entry: list) -> str:
    return STAGES[entry[1]].format(entry[0], next=entry[0] + 1)


def _in_background(work: Callable[[], object]) -> threading.Thread:
    def quietly():
        with suppress(RuntimeError, ValueError):  # the store is gone, which who() tells when it matters
            work()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    return thread


def show_and_end(sentence: str) -> None:
    """Show where all threads are, say it, and end the process, whatever it waits for."""
    faulthandler.dump_traceback(all_threads=True)
    end(f"{sentence}; the same command resumes from the last checkpoint.", AGAIN)


class Watchdog:
    """The callback: the place of this process, watched where there are several processes."""

    def __init__(self, trainer, cfg):
        self.trainer, self.place = trainer, Place()
        store, timeout = store_of_processes(), option_of_task(cfg, "silence_timeout", SILENCE_TIMEOUT)
        if store is not None and timeout:
            rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
            watch = Watch(self.place, own_connection(store), rank, processes, timeout, show_and_end)
            atexit.register(watch.stop)
            watch.start()

    @contextmanager
    def at(self, stage: str, then: str | None = None) -> Iterator[None]:
        """The process is at this stage, and then at another one if nothing fails."""
        self.place.at(self.trainer.get_num_updates(), stage)
        yield
        if then is not None:
            self.place.at(self.trainer.get_num_updates(), then)
