"""The progress of a training, from the files in its --save-dir. Ranks use this file too, so it imports nothing."""

import contextlib
import json
import os
from pathlib import Path

LOG, OWNER = "metrics.jsonl", ".owner"  # of callbacks/metrics_log.py and callbacks/save_dir_owner.py
LAST_BYTES = 100_000  # of metrics.jsonl: 200 to 400 updates, enough for an even rate


def file_of_job(folder: os.PathLike | str, job_id: str, name: str) -> Path:
    """A file about a job: `training` (callbacks/run_info.py), `decision` (requeue.py), `<rank>_ending` (worker.py)."""
    return Path(folder, f"{job_id}_{name}.json")


def read_of_job(folder: os.PathLike | str, job_id: str, name: str) -> dict:
    """Its content; {} where there is none: a training that has not begun, or does not use this plugin."""
    path = file_of_job(folder, job_id, name)
    return json.loads(path.read_text()) if path.exists() else {}


def progress(note: dict) -> list[dict] | None:
    """The last updates of the last start of the training that left this note; None where another run has replaced it
    in the --save-dir."""
    own, current = note.get("run"), owner(Path(note["save_dir"]))
    if own and current and own != current:
        return None
    return _last_lines(Path(note["save_dir"], LOG))


def owner(save_dir: Path) -> str | None:
    """The run that was started last in this folder, None if it is not known."""
    try:
        return json.loads((save_dir / OWNER).read_text())["run"]
    except (OSError, ValueError, KeyError):
        return None


def reached(note: Path) -> int | None:
    """The last update of the training that left this note, None where it is not known."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        if lines := progress(json.loads(note.read_text())):
            return lines[-1]["update"]
    return None


def _last_lines(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with open(path, "rb") as handle:
        handle.seek(max(0, path.stat().st_size - LAST_BYTES))
        raw = handle.read().splitlines(keepends=True)
    lines = []
    for line in raw[path.stat().st_size > LAST_BYTES :]:
        with contextlib.suppress(ValueError):  # damaged
            lines += [json.loads(line)] if line.endswith(b"\n") else []
    begin = max((n for n in range(1, len(lines)) if lines[n]["seconds"] < lines[n - 1]["seconds"]), default=0)
    return lines[begin:]
