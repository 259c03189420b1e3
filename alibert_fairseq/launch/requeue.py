"""The decision whether an ended job is started again, for --requeue; on Slurm the last line of the batch file.

    python -m alibert_fairseq.launch.requeue FOLDER WORLD_SIZE

It is started again if the process that failed first can resume: it saved a checkpoint (exit code 75: a time limit, a
preemption), was killed, or left no exit code (a node died). Another exit code is a refusal, which a new start would
repeat. A run without progress is started again three times. FOLDER/<job>_decision.json holds
`{"again", "why", "start", "furthest", "in_vain"}`: `furthest` is an update, `in_vain` counts starts without progress.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from alibert_common.executors import sbatch
from alibert_common.files import write_json
from alibert_fairseq.launch.progress import file_of_job, progress, read_of_job
from alibert_fairseq.launch.worker import read_endings
from fairseq_compat.errors import AGAIN

T = TypeVar("T")

KILLED = range(129, 128 + 65)  # exit codes of a process that a signal ended
AT_ONCE = 5  # seconds: processes that end within them of each other do it for the same reason, in any order
TRIES, BETWEEN_TRIES = 7, 10  # seconds
IN_VAIN = 3  # one may be chance, such as a second node of a failing rack; a fourth start would only cost hours


def decide(endings: list[dict], world_size: int, reached: int | None, before: dict) -> dict:
    """The decision, except for `start`.

    `reached` is the last known update, None for a recipe without this plugin. `before` is the previous decision, {} at
    the first start.
    """
    again, why = can_resume(endings, world_size)
    furthest = max(reached or 0, before.get("furthest", 0))
    in_vain = 0 if furthest > before.get("furthest", 0) else before.get("in_vain", 0) + 1
    if again and in_vain > IN_VAIN:
        got = f"have not got beyond update {furthest}"
        if reached is None and not furthest:
            got = "have shown no progress, which a recipe with --user-dir alibert_fairseq does"
        again, why = False, f"{why}, and {in_vain} starts in a row {got}"
    return {"again": again, "why": why, "furthest": furthest, "in_vain": in_vain}


def can_resume(endings: list[dict], world_size: int) -> tuple[bool, str]:
    """Whether the same command would resume, and the reason in words."""
    own = [ending for ending in endings if ending["code"] and not ending["stopped"]]
    if own:
        first = reason(own)
        where, code = f"rank {first['rank']} on {first['host']}", first["code"]
        if code == AGAIN:
            return True, f"{where} said that the same command resumes"
        if code in KILLED:
            return True, f"{where} {killed(code)}"
        return False, f"{where} ended with exit code {code}"
    silent = sorted(set(range(world_size)) - {ending["rank"] for ending in endings})
    if silent:
        return True, f"{len(silent)} of {world_size} ranks left no exit code (rank {silent[0]} first)"
    if any(ending["stopped"] for ending in endings):
        return True, "all ranks were stopped from outside"
    return False, "all ranks ended well"


def killed(code: int) -> str:
    """An exit code of KILLED in words."""
    number = code - 128
    name = f" ({signal.Signals(number).name})" if number in set(signal.Signals) else ""
    return f"was killed by signal {number}{name}"


def reason(own: list[dict]) -> dict:
    """The ending that caused the others: the first one.

    Among endings at the same time, a killed process comes first, then a refused one, then one whose peers were gone
    (75; nccl aborts, 134).
    """

    def rank(ending: dict) -> int:
        if ending["code"] in (AGAIN, 128 + signal.SIGABRT):
            return 2
        return 0 if ending["code"] in KILLED else 1

    first = min(ending["ended"] for ending in own)
    return min(
        (ending for ending in own if ending["ended"] <= first + AT_ONCE),
        key=lambda ending: (rank(ending), ending["ended"], ending["rank"]),
    )


def blamed(endings: list[dict]) -> dict:
    """The ending to report where not all are good.

    Where all processes were stopped it is that of the first one if it can resume, because it saves the checkpoint.
    """
    failed = [ending for ending in endings if ending["code"]]
    own = [ending for ending in failed if not ending["stopped"]]
    if not own and failed[0]["rank"] == 0 and failed[0]["code"] == AGAIN:
        return failed[0]
    return reason(own or failed)


def furthest_update(folder: os.PathLike | str, job_id: str) -> int | None:
    """The last update of a job's last start, by its metrics; None where there is no note of its training.

    Updates of another run in the same --save-dir do not count.
    """
    note = read_of_job(folder, job_id, "training")
    if not note:
        return None
    lines = progress(note)
    return lines[-1]["update"] if lines else 0


def settle(folder: os.PathLike | str, job_id: str, world_size: int, start: int) -> dict:
    """Decide about a Slurm job after start number `start`, and write the decision, unless there is one."""
    before = read_of_job(folder, job_id, "decision")  # the last one
    if before.get("start", -1) >= start:
        return before
    endings = [ending for ending in read_endings(folder, job_id, world_size) if ending["start"] == start]
    decision = decide(endings, world_size, furthest_update(folder, job_id), before) | {"start": start}
    write_json(file_of_job(folder, job_id, "decision"), decision, shared=True)
    return decision


def requeue(job_id: str) -> str:
    """Have Slurm start the job again; Slurm's error, "" if it does."""
    answer = subprocess.run(["scontrol", "requeue", job_id], capture_output=True, text=True)
    return "" if answer.returncode == 0 else " ".join(answer.stderr.split())


def patiently(ask: Callable[[], T], good: Callable[[T], bool]) -> T:
    """The first good answer, or the last one: a controller that restarts is back within a minute or so."""
    for _ in range(TRIES - 1):
        if good(answer := ask()):
            return answer
        time.sleep(BETWEEN_TRIES)
    return ask()


def main() -> None:
    """In the batch file, on the job's first node. It does nothing if Slurm has started the job again by itself."""
    folder, world_size = sys.argv[1], int(sys.argv[2])
    job_id, start = os.environ["SLURM_JOB_ID"], int(os.environ.get("SLURM_RESTART_COUNT", 0))
    restarts = patiently(lambda: sbatch.restarts(job_id), lambda count: count is not None)
    if restarts is not None and restarts > start:
        return
    decision = settle(folder, job_id, world_size, start)
    if not decision["again"]:
        print(f"not started again: {decision['why']}", flush=True)
        return
    print(f"start {start + 1} has ended: {decision['why']}; the job is queued again", flush=True)
    if refused := patiently(lambda: requeue(job_id), lambda answer: not answer):
        sys.exit(f"error: Slurm does not start the job again: {refused}")


if __name__ == "__main__":
    main()
