"""Each process of a launched job: it sets the distributed environment, runs the recipe, and notes how it ended.

submitit carries this module and progress.py to the nodes by value, so a rank does not import the plugin or torch.
"""

import contextlib
import functools
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from alibert_common.files import write_json
from alibert_fairseq.launch.progress import file_of_job, reached
from fairseq_compat.errors import AGAIN

# On this machine, and for what a recipe leaves behind; enough to save a checkpoint of some gigabytes.
GRACE_SECONDS = 30
PORTS = (20_000, 32_767)  # below those that Linux gives to outgoing connections: 32768-60999
# The recipe, in a shell that on SIGTERM waits for the command that runs and ends with its exit code, never with 0.
SHELL = ["bash", "-c", "trap 'exit $(($? ? $? : 143))' TERM; . \"$0\""]


def run_rank(recipe: str, arguments: list[str], environment: dict[str, str]) -> None:
    """Run `bash RECIPE ARGUMENTS` as this rank and end with its exit code (128 + the signal's number if it was killed).

    `environment` is set last, over MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE.
    ALIBERT_TRAINING_NOTE names the file in which the training tells about itself (callbacks/run_info.py).
    """
    from submitit import JobEnvironment
    from submitit.helpers import TorchDistributedEnvironment

    job = JobEnvironment()
    # All GPUs stay visible: fairseq takes its GPU by LOCAL_RANK, which would not exist were only one visible.
    TorchDistributedEnvironment().export(set_cuda_visible_devices=False, overwrite=True)
    local = os.environ["SUBMITIT_EXECUTOR"] == "local"
    start = 0 if local else int(os.environ.get("SLURM_RESTART_COUNT", 0))
    os.environ["MASTER_PORT"] = str(port(job.paths.folder.name, job.job_id, start))
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # fairseq-train of this environment
    os.environ["ALIBERT_TRAINING_NOTE"] = str(file_of_job(job.paths.folder, job.job_id, "training"))
    os.environ.update(environment)
    ending = ending_path(job.paths.folder, job.job_id, job.global_rank)
    ending.unlink(missing_ok=True)  # of an earlier start, when Slurm requeued the job

    def orphaned() -> bool:  # submitit's local controller, whose pid is the job's number, is no more
        return local and os.getppid() != int(job.job_id)

    noticed = notice_signals()
    if local and (orphaned() or another_failed(job.paths.folder, job.job_id)):
        noticed.append(signal.SIGTERM)  # it was sent before this rank could notice, or nobody is left to send it
    # Slurm ends what does not end by itself when the time is over that its administrator grants (KillWait, GraceTime).
    grace = GRACE_SECONDS if local else math.inf
    code, stopped = run_until_stopped([*SHELL, recipe, *arguments], noticed, grace, orphaned)
    host = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    record = {"rank": job.global_rank, "host": host, "code": code, "stopped": stopped, "ended": time.time()}
    if job.global_rank == 0:
        record["update"] = reached(Path(os.environ["ALIBERT_TRAINING_NOTE"]))
    write_json(ending, record | {"start": start}, shared=True)
    if code and not stopped and local and not orphaned():
        os.kill(int(job.job_id), signal.SIGTERM)  # the controller passes it on; on Slurm srun ends the others
    if code:
        sys.exit(code)


def port(log_folder: str, job_id: str, start: int) -> int:
    """The port where the ranks of a start meet; the next start tries another one.

    The folder of logs makes it different for jobs of two Slurm clusters with the same number.
    """
    return random.Random(f"{log_folder} {job_id} {start}").randint(*PORTS)


def ending_path(folder: os.PathLike | str, job_id: str, rank: int) -> Path:
    """The file in which a rank notes its end: `{"rank", "host", "code", "stopped", "ended", "start"}`.

    `stopped` is true after SIGTERM or SIGINT; `code` is then 75 if it saved a checkpoint, else that of the signal.
    `ended` is Unix time, `start` counts the job's starts from 0. Rank 0 adds `update`, the last one, or null.
    """
    return file_of_job(folder, job_id, f"{rank}_ending")


def read_endings(folder: os.PathLike | str, job_id: str, world_size: int) -> list[dict]:
    """The endings of the job's last start, in the order of ranks."""
    there, endings = set(os.listdir(folder)), []  # one look for all ranks
    for path in (ending_path(folder, job_id, rank) for rank in range(world_size)):
        if path.name in there:
            with contextlib.suppress(FileNotFoundError):  # a new start has removed it
                endings.append(json.loads(path.read_text()))
    last = max((ending["start"] for ending in endings), default=0)
    return [ending for ending in endings if ending["start"] == last]


def another_failed(folder: os.PathLike | str, job_id: str) -> bool:
    """Whether a rank of this job has already ended with another exit code than 0."""
    return any(json.loads(path.read_text())["code"] for path in Path(folder).glob(f"{job_id}_*_ending.json"))


def notice_signals() -> list[int]:
    """From now on these signals only add their number to the returned list."""
    noticed: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
        signal.signal(number, lambda number, _frame: noticed.append(number))
    return noticed


def run_until_stopped(
    command: list[str], noticed: list[int], grace: float = GRACE_SECONDS, orphaned: Callable[[], bool] = lambda: False
) -> tuple[int, bool]:
    """Run the command in a process group of its own; return (exit code, whether SIGTERM or SIGINT stopped this rank).

    After such a signal the command has `grace` seconds to end. If it ends with 75 it saved a checkpoint, else the exit
    code is that of the signal. A rank that is `orphaned` stops as after SIGTERM.

    SIGUSR2, Slurm's before the time limit, is passed on every second: a training that is still starting ignores it, a
    later one saves a checkpoint and ends. A shell would die of it, so the command starts with it ignored.
    """
    if stops := stops_in(noticed):
        return 128 + stops[0], True
    ignore_usr2 = functools.partial(signal.signal, signal.SIGUSR2, signal.SIG_IGN)
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=ignore_usr2)
    try:
        code = _wait(process, noticed, orphaned)
        stops = stops_in(noticed)
    finally:
        _end_group(process, grace if stops_in(noticed) else GRACE_SECONDS)
    if code is None:
        code = AGAIN if process.poll() == AGAIN else 128 + stops[0]
    return code, bool(stops)


def _wait(process: subprocess.Popen, noticed: list[int], orphaned: Callable[[], bool]) -> int | None:
    """The exit code of a process that ends by itself, None when this rank must stop."""
    while not stops_in(noticed):
        try:
            code = process.wait(timeout=1)
            return 128 - code if code < 0 else code
        except subprocess.TimeoutExpired:
            if signal.SIGUSR2 in noticed:
                os.killpg(process.pid, signal.SIGUSR2)
            if orphaned():
                noticed.append(signal.SIGTERM)
    return None


def stops_in(noticed: list[int]) -> list[int]:
    """Those signals that end the rank."""
    return [number for number in noticed if number != signal.SIGUSR2]


def _end_group(process: subprocess.Popen, grace_seconds: float) -> None:
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
