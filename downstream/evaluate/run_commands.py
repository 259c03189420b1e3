"""The commands, each in a process of its own: one that crashes takes nothing with it, and none imports torch again."""

import os
import shlex
import signal
import time
from contextlib import closing

from alibert_common.errors import InputError
from alibert_common.rights import make_folder, opener
from downstream.evaluate.plan import Job
from downstream.evaluate.worker import Worker
from downstream.report.read_runs import load

POLL_SECONDS = 0.2


def run(jobs: list[Job], at_a_time: int = 1) -> list[Job]:
    """Run all of them; returns those that did not end well, each of which has said why.

    One at a time shows what it prints; of several, OUTPUT.log has it. They end when this process is stopped (SIGINT,
    SIGTERM). When it is killed, those that run continue to their end, and the same command given again waits for them.
    """
    running: list[tuple[Job, int, int]] = []  # the number of the command in its job, and that of its process
    waiting, failed, began = jobs[::-1], [], time.monotonic()
    with closing(Worker()) as worker:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                running.append(_start(worker, waiting.pop(), 0, at_a_time))
            for job, step, process in list(running):
                if (code := worker.poll(process)) is None:
                    continue
                running.remove((job, step, process))
                if code == 0 and step + 1 < len(job.commands):
                    running.append(_start(worker, job, step + 1, at_a_time))
                    continue
                well, end = _ending(job, code, at_a_time)
                failed += [job] * (not well)
                done, minutes = len(jobs) - len(waiting) - len(running), (time.monotonic() - began) / 60
                left = f", about {minutes / done * (len(jobs) - done):.0f} to go" if done < len(jobs) else ""
                progress = f"{done} of {len(jobs)} ({minutes:.0f} min{left})"
                print(f"== {progress}: {job.recipe.stem}, {job.learner}: {end}", flush=True)
            time.sleep(POLL_SECONDS)
    return failed


def _start(worker: Worker, job: Job, step: int, at_a_time: int) -> tuple[Job, int, int]:
    """Start a command. Of several jobs, each has its share of the cores, unless the user has set the threads."""
    log, threads, command = None, None, job.commands[step]
    if at_a_time == 1:
        print(f"\npython -m {shlex.join(command)}", flush=True)
    else:
        log = job.log
        make_folder(log.parent, shared=True)
        open(log, "a" if step else "w", opener=opener()).close()
        if "OMP_NUM_THREADS" not in os.environ:
            threads = max(1, len(os.sched_getaffinity(0)) // at_a_time)
    return job, step, worker.start(command, log, threads)


def _ending(job: Job, code: int, at_a_time: int) -> tuple[bool, str]:
    """Whether there is a score, and in a few words the chief figure, or what went wrong."""
    if code == 0:
        try:
            scored = load(job.output)
        except InputError as error:  # without it the report would refuse all others, too
            return False, f"did not end well: {error}"
        return True, f"{scored.metric_name} on {scored.split} {scored.score['mean']:.4f}"
    if at_a_time == 1:
        reason = "see above"
    else:
        lines = job.log.read_text(encoding="utf-8", errors="replace").splitlines()
        reason = f"{lines[-1] if lines else 'it said nothing'} ({job.log})"
    end = f"was killed by {signal.Signals(-code).name}" if code < 0 else "did not end well"
    return False, f"{end}: {reason}"
