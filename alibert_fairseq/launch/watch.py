"""Follow a launched job to its end: show the log of rank 0 as it grows, then the rank that failed first."""

import os
import sys
import time
from pathlib import Path

from alibert_common.executors import sbatch
from alibert_fairseq.launch.progress import read_of_job
from alibert_fairseq.launch.requeue import KILLED, blamed, killed, requeue, settle
from alibert_fairseq.launch.worker import GRACE_SECONDS, read_endings
from fairseq_compat.errors import AGAIN

SECONDS_TO_NOTICE = 5  # of a rank, that its controller is gone; it looks every second
LAST_BYTES = 20_000  # of a log, in which its last error is looked for: a traceback or two
LONGEST_QUOTE = 300  # characters of it: a sentence or two
START = b"Starting with JobEnvironment"  # submitit's line at the beginning of a start; an earlier one's log is before


def follow(job, world_size: int, on_slurm: bool, requeued: bool = False) -> tuple[int, str]:
    """Wait for the submitit job, copying rank 0's log to standard output; return (exit code, one sentence).

    A Slurm job that is `requeued` is over when it is not started again. This starts it again where the batch file was
    killed before it could.
    """
    shown, changed, state = 0, 0, ""
    last_question = time.monotonic()  # not asked at once: a job that can begin needs a moment to do so
    while True:
        ask = on_slurm and time.monotonic() - last_question > sbatch.QUESTION_SECONDS
        if ask:
            state, last_question = _ask_slurm(job.job_id, state), time.monotonic()
        if not on_slurm:
            over = job.done() and not _still_saving(job, world_size)
        elif requeued and state in sbatch.FINAL_STATES:
            over = not _started_again(job, world_size)
            state = state if over else ""
        else:
            # One look at the folder, not one for each rank: an ending changes its time, unless the file server is slow.
            before, changed = changed, os.stat(job.paths.folder).st_mtime_ns
            over = state in sbatch.FINAL_STATES or (
                (ask or changed != before) and _all_ended(job, world_size, requeued)
            )
        shown = _show_news(job.paths.stdout, shown)
        if over:
            return verdict(read_endings(job.paths.folder, job.job_id, world_size), world_size, job.paths, state)
        time.sleep(0.5)


def _still_saving(job, world_size: int) -> bool:
    """Whether ranks of this machine may still be at work after their controller was killed, which they notice."""
    if job._process.poll() >= 0 or len(read_endings(job.paths.folder, job.job_id, world_size)) == world_size:
        return False
    job.killed = getattr(job, "killed", time.monotonic())
    return time.monotonic() - job.killed < GRACE_SECONDS + SECONDS_TO_NOTICE


def _ask_slurm(job_id: str, before: str) -> str:
    """The state now; a new reason to wait goes to standard error, because some jobs can never begin."""
    state = sbatch.state(job_id)
    if state.startswith("PENDING") and state != before:
        print(f"job {job_id}: {state}", file=sys.stderr, flush=True)
    return state


def _all_ended(job, world_size: int, requeued: bool) -> bool:
    """Whether every rank has ended, and at least one by itself: a job that Slurm stops may be started again.

    For a job that is `requeued` the decision must be there, or all ranks ended well.
    """
    endings = read_endings(job.paths.folder, job.job_id, world_size)
    if requeued and any(ending["code"] for ending in endings):
        return read_of_job(job.paths.folder, job.job_id, "decision").get("again") is False
    return len(endings) == world_size and not all(ending["stopped"] for ending in endings)


def _started_again(job, world_size: int) -> bool:
    """Whether a job that Slurm has ended is queued again, by us or by Slurm, or may be while Slurm does not answer.

    A job that a user cancelled, or that Slurm has forgotten, is not.
    """
    restarts = sbatch.restarts(job.job_id)  # before the state: the decision is about a start that has ended
    state = sbatch.state(job.job_id)
    if state not in sbatch.FINAL_STATES:
        return True
    if state in ("CANCELLED", "COMPLETED"):
        return False
    if restarts is None:
        return True
    decision = settle(job.paths.folder, job.job_id, world_size, restarts)
    if decision["again"] and not requeue(job.job_id):
        print(f"job {job.job_id}: {state}, {decision['why']}; it is queued again", file=sys.stderr, flush=True)
        return True
    return sbatch.state(job.job_id) not in sbatch.FINAL_STATES


def verdict(endings: list[dict], world_size: int, paths, state: str = "") -> tuple[int, str]:
    """(exit code, one sentence): the rank that failed first and its log, without ranks that were stopped after it."""
    silent = sorted(set(range(world_size)) - {ending["rank"] for ending in endings})
    failed = [ending for ending in endings if ending["code"]]
    if not failed and not silent:
        return 0, f"{world_size} of {world_size} ranks ended well; logs: {paths.folder}"
    note = f" (Slurm: {state})" if state not in ("", "COMPLETED", "FAILED") else ""
    own = [ending for ending in failed if not ending["stopped"]]
    if silent and not own:
        ranks, log = f"{len(silent)} of {world_size} ranks (rank {silent[0]} first)", log_path(paths, silent[0])
        end = f"left no exit code: killed from outside, or never started{note}"
        return 1, f"{ranks} {end}{_quote(log)}; log: {log}"
    first = blamed(endings)
    code, log = first["code"], log_path(paths, first["rank"])
    end = _end_of(first, all(ending["code"] == AGAIN for ending in failed))
    quote = "" if first["stopped"] else _quote(log)
    return code, f"rank {first['rank']} on {first['host']} {end}, exit code {code}{note}{quote}; log: {log}"


def _end_of(first: dict, all_again: bool) -> str:
    """In words, how the first rank ended. Stopped ranks all end with 75 once they have saved."""
    if first["stopped"]:
        saved = " and saved a checkpoint" * all_again
        return f"was stopped from outside{saved}" + "; the same command resumes" * (first["code"] == AGAIN)
    if first["code"] == AGAIN:
        return "can resume with the same command"
    return f"failed first: it {killed(first['code'])}" if first["code"] in KILLED else "failed first"


def _quote(log: Path) -> str:
    """`: ` and the last line of the last start that begins with `error:`, without that word; "" if there is none."""
    if not log.exists():
        return ""
    with open(log, "rb") as handle:
        handle.seek(max(0, log.stat().st_size - LAST_BYTES))
        lines = handle.read().rpartition(START)[2].decode(errors="replace").splitlines()
    errors = [line.removeprefix("error:").strip() for line in lines if line.startswith("error:")]
    return f": {errors[-1][:LONGEST_QUOTE].rstrip('.')}" if errors else ""


def log_path(paths, rank: int) -> Path:
    """The log of one rank, standard output and standard error together."""
    return Path(paths.folder, f"{paths.job_id}_{rank}_log.out")


def _show_news(log: Path, shown: int) -> int:
    """Copy what was added to the log after its first `shown` bytes; return the new number of shown bytes."""
    if not log.exists():
        return shown
    with open(log, "rb") as handle:
        handle.seek(shown)
        sys.stdout.buffer.write(handle.read())
        sys.stdout.flush()
        return handle.tell()
