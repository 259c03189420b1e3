"""What every process of a launched job does: set the distributed environment, run the recipe, note how it ended.

submitit carries this module to the nodes by value, so a rank imports neither the plugin nor torch beside the recipe.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def run_rank(recipe: str, arguments: list[str], environment: dict[str, str]) -> None:
    """Run `bash RECIPE ARGUMENTS` as this rank and end with its exit code (128 + the signal's number if it was killed).

    `environment` is set last, over MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE.
    """
    from submitit import JobEnvironment
    from submitit.helpers import TorchDistributedEnvironment

    job = JobEnvironment()
    # All GPUs stay visible: fairseq takes its GPU by LOCAL_RANK, which would not exist were only one visible.
    TorchDistributedEnvironment().export(set_cuda_visible_devices=False, overwrite=True)
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # fairseq-train of this environment
    os.environ.update(environment)
    ending = ending_path(job.paths.folder, job.job_id, job.global_rank)
    ending.unlink(missing_ok=True)  # of an earlier start, when Slurm requeued the job
    stops = notice_stops()
    local = os.environ["SUBMITIT_EXECUTOR"] == "local"
    if local and another_failed(job.paths.folder, job.job_id):
        stops.append(signal.SIGTERM)  # it was sent before this rank could notice
    code, stopped = run_until_stopped(["bash", recipe, *arguments], stops)
    host = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    _write(ending, {"rank": job.global_rank, "host": host, "code": code, "stopped": stopped, "ended": time.time()})
    if code and not stopped and local:
        os.kill(os.getppid(), signal.SIGTERM)  # submitit's local controller passes it on; on Slurm srun ends the others
    if code:
        sys.exit(code)


def ending_path(folder: os.PathLike, job_id: str, rank: int) -> Path:
    """Where a rank writes how it ended: `{"rank", "host", "code", "stopped", "ended"}`, `ended` in Unix time."""
    return Path(folder, f"{job_id}_{rank}_ending.json")


def another_failed(folder: os.PathLike, job_id: str) -> bool:
    """Whether a rank of this job has already ended with another exit code than 0."""
    return any(json.loads(path.read_text())["code"] for path in Path(folder).glob(f"{job_id}_*_ending.json"))


def notice_stops() -> list[int]:
    """From now on SIGTERM and SIGINT only add their number to the list returned, so they can hit no wrong moment."""
    stops: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: stops.append(number))
    return stops


def run_until_stopped(command: list[str], stops: list[int]) -> tuple[int, bool]:
    """Run the command in a process group of its own; return (exit code, whether a signal to this rank stopped it)."""
    if stops:
        return 128 + stops[0], True
    process = subprocess.Popen(command, start_new_session=True)
    try:
        while not stops:
            try:
                code = process.wait(timeout=1)
                return (128 - code if code < 0 else code), False
            except subprocess.TimeoutExpired:
                continue
        return 128 + stops[0], True
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen, grace_seconds: float = 10) -> None:
    """End whatever the recipe left running: SIGTERM, and SIGKILL for what is still there after the grace."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        end = time.monotonic() + grace_seconds
        while time.monotonic() < end:
            process.poll()
            os.killpg(process.pid, 0)  # raises once the group is empty
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _write(path: Path, record: dict) -> None:
    aside = path.with_suffix(".partial")
    aside.write_text(json.dumps(record))
    os.replace(aside, path)
