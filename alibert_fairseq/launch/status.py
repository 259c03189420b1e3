"""The jobs that were launched: where each is, how fast, how long it still takes.

    python -m alibert_fairseq.launch status [--logs DIR]

Tokens a second and the remaining time are those of the last updates in metrics.jsonl (the time in which the job waited
does not count), up to --max-update. A recipe without this plugin tells neither.
"""

import argparse
import json
import os
import shutil
import socket
import time
from pathlib import Path

from alibert_fairseq.launch.note import read_note
from alibert_fairseq.launch.rank import read_endings
from alibert_fairseq.metrics_log import LOG
from preprocess import slurm

LAST_BYTES = 100_000  # of metrics.jsonl: 200 to 400 updates, enough for an even rate


def write_plan(plan, job_id: str) -> None:
    """Leave in the folder of logs what `status` needs to know of a job that was submitted a moment ago."""
    record = {"job": job_id, "recipe": plan.recipe.name, "world_size": plan.world_size, "on_slurm": plan.on_slurm}
    record |= {"host": socket.gethostname(), "submitted": time.time()}
    (plan.logs / f"{job_id}_plan.json").write_text(json.dumps(record))


def jobs(logs: Path) -> list[dict[str, str]]:
    """A row a job, in the order in which they were submitted."""
    plans = [(json.loads(path.read_text()), path.parent) for path in logs.glob("*/*_plan.json")]
    return [_row(plan, folder) for plan, folder in sorted(plans, key=lambda found: found[0]["submitted"])]


def _row(plan: dict, folder: Path) -> dict[str, str]:
    note = read_note(folder, plan["job"])
    state = _state(plan, folder)
    row = {"job": plan["job"], "recipe": plan["recipe"], "processes": str(plan["world_size"]), "state": state}
    if not note:
        return row
    lines = last_lines(Path(note["save_dir"], LOG))
    row["update"] = f"{lines[-1]['update'] if lines else 0:,}" + (
        f" of {note['max_update']:,}" * bool(note["max_update"])
    )
    rate = rates(lines)
    if rate:
        row["tokens/s"] = f"{rate[1]:,.0f}"
    if rate and note["max_update"] and state.lower() == "running":
        row["remaining"] = duration((note["max_update"] - lines[-1]["update"]) * rate[0])
    return row | {"save-dir": note["save_dir"]}


def last_lines(path: Path) -> list[dict]:
    """The last updates of metrics.jsonl, those of the last start only."""
    if not path.exists():
        return []
    with open(path, "rb") as handle:
        handle.seek(max(0, path.stat().st_size - LAST_BYTES))
        raw = handle.read().splitlines(keepends=True)
    lines = [found for line in raw[path.stat().st_size > LAST_BYTES :] if (found := _whole(line))]
    begin = max((n for n in range(1, len(lines)) if lines[n]["seconds"] < lines[n - 1]["seconds"]), default=0)
    return lines[begin:]


def _whole(line: bytes) -> dict | None:
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except ValueError:  # damaged
        return None


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


def _state(plan: dict, folder: Path) -> str:
    """Slurm's word for it while it knows the job; else, by what it left: running, ended, stopped, failed, killed."""
    if plan["on_slurm"]:
        state = slurm.state(plan["job"]) if shutil.which("squeue") else ""
        if state != "COMPLETED":  # which also stands for a job that Slurm has forgotten
            return state or "no answer from Slurm"
    endings = read_endings(folder, plan["job"], plan["world_size"])
    if len(endings) == plan["world_size"]:
        failed = [ending["code"] for ending in endings if ending["code"] and not ending["stopped"]]
        if failed:
            return f"failed (exit code {failed[0]})"
        return "stopped" if any(ending["stopped"] for ending in endings) else "ended"
    if plan["on_slurm"]:
        return "killed"
    if plan["host"] != socket.gethostname():
        return f"on {plan['host']}"
    return "running" if Path("/proc", plan["job"]).exists() else "killed"


def table(rows: list[dict[str, str]]) -> str:
    """Aligned columns, those that any job has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    widths = {name: max(len(name), *(len(row.get(name, "")) for row in rows)) for name in names}
    lines = [{name: name for name in names}, *rows]
    return "\n".join("  ".join(line.get(name, "").ljust(widths[name]) for name in names).rstrip() for line in lines)


def main(arguments: list[str]) -> None:
    """Of the command line behind `status`."""
    words = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser("python -m alibert_fairseq.launch status", **words)
    parser.add_argument("--logs", type=Path, default=Path("runs/launch"), help="of the launches (runs/launch)")
    options = parser.parse_args(arguments)
    rows = jobs(options.logs)
    print(table(rows) if rows else f"no job in {options.logs}{os.sep}; --logs is that of the launches")
