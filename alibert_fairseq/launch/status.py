"""The launched jobs: the state of each, its speed, and its remaining time.

    python -m alibert_fairseq.launch status [--logs DIR]

Tokens per second and the remaining time come from the last updates in metrics.jsonl; the time in which a job waited
does not count. A run ends at --max-update, or by the clock of --budget-minutes and --stop-time-hours. A recipe without
this plugin shows neither. Where several jobs resumed from each other in one --save-dir, each has its own last update,
if it was written down.
"""

import argparse
import json
import os
import shutil
import socket
import time
from pathlib import Path
from types import SimpleNamespace

from alibert_common.cli import program
from alibert_common.errors import InputError
from alibert_common.executors import sbatch
from alibert_common.files import write_json
from alibert_fairseq.launch.progress import progress, read_of_job
from alibert_fairseq.launch.requeue import blamed
from alibert_fairseq.launch.watch import verdict
from alibert_fairseq.launch.worker import read_endings
from fairseq_compat.errors import AGAIN

GOES_ON = "stopped, the same command resumes"


def write_plan(plan, job_id: str) -> None:
    """Write to the folder of logs what `status` needs to know about a new job."""
    record = {
        "job": job_id, "recipe": plan.recipe.name, "world_size": plan.world_size, "on_slurm": plan.on_slurm,
        "host": socket.gethostname(), "submitted": time.time(), "save_dir": save_dir(plan), "launcher": os.getpid(),
    }  # fmt: skip
    write_json(plan.logs / f"{job_id}_plan.json", record, shared=True)


def save_dir(plan) -> str | None:
    """The folder of a job's checkpoints: its last --save-dir, or else SAVE_DIR; None where only the recipe knows."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    own.add_argument("--save-dir", default=os.environ.get("SAVE_DIR"))
    folder = own.parse_known_args(plan.arguments)[0].save_dir
    return os.path.realpath(folder) if folder else None


def plans(logs: Path) -> list[tuple[dict, Path]]:
    """The record that `write_plan` wrote for every job, and the folder of its logs, in the order of submission."""
    records = [(json.loads(path.read_text()), path.parent) for path in logs.glob("*/*_plan.json")]
    return sorted(records, key=lambda job: job[0]["submitted"])


def refuse_taken(plan) -> None:
    """Raise InputError if a waiting or running job of the same --logs has this job's --save-dir, which it would end.

    A job whose recipe sets --save-dir itself, or with other --logs, is found by the training only (`.owner`).
    """
    own = save_dir(plan)
    for other, folder in plans(plan.logs.parent) if own else ():
        note = read_of_job(folder, other["job"], "training")
        theirs = note.get("save_dir") or other.get("save_dir")  # its plan's
        if theirs and own == os.path.realpath(theirs) and at_work(other, folder):
            raise InputError(
                f"{own}: job {other['job']} ({other['recipe']}) still waits or runs and writes there; end it "
                f"({_how_to_end(other)}), or give another SAVE_DIR."
            )


def _how_to_end(job: dict) -> str:
    """The command that ends a job. On this machine that ends its launcher, which might start the job again."""
    if job["on_slurm"]:
        return f"`scancel {job['job']}`"
    if Path("/proc", str(job.get("launcher"))).exists():
        return f"Ctrl-C in its launcher, or `kill {job['launcher']}`"
    return f"`kill {job['job']}`"


def jobs(logs: Path) -> list[dict[str, str]]:
    """One row per job, in the order of submission."""
    return [_row(plan, folder) for plan, folder in plans(logs)]


def _row(plan: dict, folder: Path) -> dict[str, str]:
    note = read_of_job(folder, plan["job"], "training")
    endings = read_endings(folder, plan["job"], plan["world_size"])
    state = _state(plan, folder, endings)
    row = {"job": plan["job"], "recipe": plan["recipe"], "processes": str(plan["world_size"]), "state": state}
    if note:
        row |= _progress(note, endings, state.lower() == "running") | {"save-dir": note["save_dir"]}
    of_slurm = state if state in sbatch.FINAL_STATES - {"CANCELLED"} else ""
    if of_slurm or state.startswith(("failed", "killed")):
        paths = SimpleNamespace(folder=folder, job_id=plan["job"])
        row["why"] = verdict(endings, plan["world_size"], paths, of_slurm)[1]
    return row


def _progress(note: dict, endings: list[dict], running: bool) -> dict[str, str]:
    """The job's own progress; where another job resumed in its --save-dir, what its first rank wrote at its end."""
    if (lines := progress(note)) is not None:
        update = lines[-1]["update"] if lines else 0
    elif not endings or endings[0]["rank"] or (update := endings[0].get("update")) is None:
        return {}
    rate, total, about = rates(lines or []), note["max_update"], ""
    if lines and rate and running and (hours := note.get("stop_time_hours")):
        in_time = update + max(0, 3600 * hours - lines[-1]["seconds"]) / rate[0]
        if not total or in_time < total:
            total, about = in_time, "about "
    row = {"update": f"{update:,}" + (f" of {about}{total:,.0f}" if total else "")}
    if rate:
        row["tokens/s"] = f"{rate[1]:,.0f}"
        if total and running:
            row["remaining"] = duration((total - update) * rate[0])
    return row


def rates(lines: list[dict]) -> tuple[float, float] | None:
    """(seconds an update, tokens a second), None before there are two updates at different seconds."""
    seconds = lines[-1]["seconds"] - lines[0]["seconds"] if lines else 0
    if seconds <= 0:
        return None
    return seconds / (len(lines) - 1), sum(line["tokens"] for line in lines[1:]) / seconds


def duration(seconds: float) -> str:
    """In days, hours and minutes, the two largest."""
    days, hours, minutes = int(seconds // 86400), int(seconds // 3600 % 24), int(seconds // 60 % 60)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {int(seconds % 60)} s"


def _state(plan: dict, folder: Path, endings: list[dict]) -> str:
    """Slurm's state while Slurm knows the job; else by its files: running, ended, stopped, failed or killed."""
    state = ""
    if plan["on_slurm"]:
        state = sbatch.state(plan["job"]) if shutil.which("squeue") else ""
        if state not in sbatch.FINAL_STATES:
            return state or "no answer from Slurm"
    elif len(endings) < plan["world_size"] and at_work(plan, folder):
        return "running"
    first = blamed(endings) if any(ending["code"] for ending in endings) else {"code": 0, "stopped": False}
    if first["code"] == AGAIN:
        return GOES_ON
    if state not in ("", "COMPLETED"):  # which also stands for a job that Slurm has forgotten
        return state
    if len(endings) == plan["world_size"]:
        return "stopped" if first["stopped"] else f"failed (exit code {first['code']})" if first["code"] else "ended"
    if not plan["on_slurm"] and plan["host"] != socket.gethostname():
        return f"on {plan['host']}"
    return "killed"


def at_work(plan: dict, folder: Path) -> bool:
    """Whether a job is known to wait or run: by Slurm, or by its process on this machine."""
    if plan["on_slurm"]:
        return bool(shutil.which("squeue")) and sbatch.state(plan["job"]) not in sbatch.FINAL_STATES | {""}
    if plan["host"] != socket.gethostname():
        return False
    try:  # another process may have the number by now
        return os.fsencode(folder.name) in Path("/proc", plan["job"], "cmdline").read_bytes()
    except OSError:
        return False


def table(rows: list[dict[str, str]]) -> str:
    """Aligned columns, without those that no job has; below them one line per failed job."""
    names = list(dict.fromkeys(name for row in rows for name in row if name not in ("why", "save-dir")))
    names += ["save-dir"] * any("save-dir" in row for row in rows)
    widths = {name: max(len(name), *(len(row.get(name, "")) for row in rows)) for name in names}
    lines = [{name: name for name in names}, *rows]
    shown = ["  ".join(line.get(name, "").ljust(widths[name]) for name in names).rstrip() for line in lines]
    return "\n".join([*shown, *(f"job {row['job']}: {row['why']}" for row in rows if "why" in row)])


def parser() -> argparse.ArgumentParser:
    """The options of `status`."""
    command, raw = f"{program('python -m alibert_fairseq.launch')} status", argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(command, description=__doc__, formatter_class=raw)
    options.add_argument("--logs", type=Path, default=Path("runs/launch"), help="folder of logs (default: runs/launch)")
    return options


def main(arguments: list[str]) -> None:
    """The command line behind `status`."""
    options = parser().parse_args(arguments)
    rows = jobs(options.logs)
    print(table(rows) if rows else f"no job in {options.logs}{os.sep}; --logs is that of the launches")
