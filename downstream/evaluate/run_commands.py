"""The commands, each in a process of its own: one that crashes takes nothing with it."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from alibert_common.errors import InputError
from alibert_common.rights import make_folder, opener
from downstream.evaluate.plan import Job
from downstream.report.read_runs import load

POLL_SECONDS = 0.2


def run(jobs: list[Job], at_a_time: int = 1) -> list[Job]:
    """Run all of them; returns those that did not end well, each of which has said why.

    One at a time shows what it says; of several, OUTPUT.log has it. They end when this process is stopped (SIGINT,
    SIGTERM). When it is killed, those that run go on to their end, and the same command given again waits for them.
    """
    waiting, running, failed, began = jobs[::-1], {}, [], time.monotonic()
    environment = _environment(at_a_time)
    with _none_left(running):
        while waiting or running:
            while waiting and len(running) < at_a_time:
                job = waiting.pop()
                running[job.output] = (job, 0, _start(job, 0, at_a_time, environment))
            for job, step, process in list(running.values()):
                code = process.poll()  # once: it may end between two looks
                if code == 0 and step + 1 < len(job.commands):
                    running[job.output] = (job, step + 1, _start(job, step + 1, at_a_time, environment))
                elif code is not None:
                    del running[job.output]
                    well, said = _ending(job, code, at_a_time)
                    failed += [job] * (not well)
                    done = _progress(len(jobs) - len(waiting) - len(running), len(jobs), began)
                    print(f"== {done}: {job.recipe.stem}, {job.learner}: {said}", flush=True)
            time.sleep(POLL_SECONDS)
    return failed


def _environment(at_a_time: int) -> dict[str, str]:
    """Of several, each has its share of the cores, unless the user has said how many threads."""
    share = max(1, torch.get_num_threads() // at_a_time)  # torch has as many as there are cores
    threads = {} if at_a_time == 1 else {"OMP_NUM_THREADS": str(share)}
    return {**threads, **os.environ, "PYTHONUNBUFFERED": "1"}


def _start(job: Job, step: int, at_a_time: int, environment: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, "-m", *job.commands[step]]
    if at_a_time == 1:
        print(f"\npython -m {shlex.join(job.commands[step])}", flush=True)
        return subprocess.Popen(command, env=environment)
    log = _log(job)
    make_folder(log.parent, shared=True)
    with open(log, "a" if step else "w", encoding="utf-8", opener=opener()) as handle:
        return subprocess.Popen(command, env=environment, stdout=handle, stderr=subprocess.STDOUT)


def _log(job: Job) -> Path:
    return job.output.with_name(f"{job.output.name}.log")


def _progress(done: int, number: int, began: float) -> str:
    minutes = (time.monotonic() - began) / 60
    left = f", about {minutes / done * (number - done):.0f} to go" if done < number else ""
    return f"{done} of {number} ({minutes:.0f} min{left})"


def _ending(job: Job, code: int, at_a_time: int) -> tuple[bool, str]:
    """Whether there is a score, and in a few words the chief figure, or what went wrong."""
    if code == 0:
        try:
            scored = load(job.output)
        except InputError as error:  # without it the report would refuse all others, too
            return False, f"did not end well: {error}"
        return True, f"{scored.metric_name} on {scored.split} {scored.score['mean']:.4f}"
    if at_a_time == 1:
        said = "see above"
    else:
        lines = _log(job).read_text(encoding="utf-8", errors="replace").splitlines()
        said = f"{lines[-1] if lines else 'it said nothing'} ({_log(job)})"
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else "did not end well"
    return False, f"{how}: {said}"


@contextmanager
def _none_left(running: dict[Path, tuple[Job, int, subprocess.Popen]]) -> Iterator[None]:
    """Whatever ends the block ends those that run."""
    try:
        yield
    finally:
        for *_, process in running.values():
            process.terminate()
        for *_, process in running.values():
            process.wait()
