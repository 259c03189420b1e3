"""Options of sbatch, as the user writes them, and the states of Slurm jobs."""

import argparse
import re
import subprocess
from typing import TypeAlias

from alibert_common.errors import InputError

# https://slurm.schedmd.com/squeue.html#SECTION_JOB-STATE-CODES; every other state may still lead to a running job
FINAL_STATES = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
    "TIMEOUT",
}  # fmt: skip
Options: TypeAlias = dict[str, str | int | bool]
QUESTION_SECONDS = 10  # between two calls of squeue, which loads the controller that all users share


def add_slurm_options(group: argparse._ArgumentGroup, time_help: str) -> None:
    """Add the options that `slurm_options` reads."""
    group.add_argument("--partition", help="Slurm partition (default: the cluster's)")
    group.add_argument("--account", help="Slurm account (default: the cluster's)")
    group.add_argument("--time", metavar="T", help=f"time limit in minutes or as [DAYS-]HH:MM:SS {time_help}")
    help_sbatch = "another option of sbatch, such as qos=long or exclusive; repeatable"
    group.add_argument("--sbatch", action="append", default=[], metavar="NAME=VALUE", help=help_sbatch)


def slurm_options(options: argparse.Namespace, own: set[str]) -> Options:
    """Return the options of sbatch that the user chose, `time` in minutes. The command itself sets those of `own`.

    Raises InputError for a --sbatch that names no option, or one of `own`.
    """
    chosen: Options = {}
    for pair in options.sbatch:
        name, equals, value = pair.partition("=")
        name = name.lstrip("-").replace("-", "_")
        if not re.fullmatch(r"[a-z_]+", name) or name in own | {"partition", "account", "time"}:
            raise InputError(
                f"--sbatch {pair}: give NAME=VALUE, or NAME alone, of an option that this command does not set itself."
            )
        chosen[name] = value if equals else True
    chosen |= {name: getattr(options, name) for name in ("partition", "account") if getattr(options, name)}
    return chosen | ({"time": minutes(options.time)} if options.time else {})


def minutes(text: str) -> int:
    """Convert `MINUTES` or `[DAYS-]HOURS:MINUTES:SECONDS` to minutes. Raises InputError for anything else."""
    match = re.fullmatch(r"(\d+)|(?:(\d+)-)?(\d+):(\d\d):(\d\d)", text)
    if not match:
        raise InputError(f"--time {text}: give minutes, or [DAYS-]HOURS:MINUTES:SECONDS.")
    plain, days, hours, mins, seconds = (int(part or 0) for part in match.groups())
    return plain + (days * 24 + hours) * 60 + mins + (seconds > 0)


def alive(array: str) -> set[str] | None:
    """Return the jobs of an array, such as 12_0, that wait or run. None if Slurm does not answer."""
    answer = _ask("squeue", "--noheader", "--array", "--jobs", array, "--format=%i")
    if answer.returncode:
        return set() if "Invalid job id" in answer.stderr else None
    return set(answer.stdout.split())


def cancel(array: str, name: str) -> None:
    """End the jobs of an array if they have this name: Slurm may have given the number to other jobs."""
    _ask("scancel", f"--name={name}", array)


def restarts(job_id: str) -> int | None:
    """Return how often Slurm has restarted the job. None if Slurm does not answer or has forgotten the job."""
    count = re.search(r"\bRestarts=(\d+)", _ask("scontrol", "show", "job", job_id).stdout)
    return int(count[1]) if count else None


def state(job_id: str) -> str:
    """Return Slurm's state of the job, with the reason if it waits. COMPLETED if it is forgotten, "" without answer."""
    answer = _ask("squeue", "--noheader", "--states=all", "--jobs", job_id, "--format=%T %r")
    if answer.returncode:
        return "COMPLETED" if "Invalid job id" in answer.stderr else ""
    state, _, reason = answer.stdout.strip().partition(" ")
    return f"{state} ({reason})" if state == "PENDING" else state or "COMPLETED"


def _ask(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace")
