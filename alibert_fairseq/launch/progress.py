"""The progress of a training, from the files in its --save-dir. Ranks use this file too, so it imports nothing."""

import contextlib
import json
import os
from pathlib import Path

LOG, OWNER = "metrics.jsonl", ".owner"  # of callbacks/metrics_log.py and callbacks/save_dir_owner.py
LAST_BYTES = 100_000  # of metrics.jsonl: 200 to 400 updates, enough for an even rate


def note_path(folder: os.PathLike | str, job_id: str) -> Path:
    """The file in which the training of a job tells about itself (callbacks/run_info.py)."""
    return Path(folder, f"{job_id}_training.json")


def read_note(folder: os.PathLike | str, job_id: str) -> dict:
    """The content of that file; {} if the training has not begun, or does not use this plugin."""
    path = note_path(folder, job_id)
    return json.loads(path.read_text()) if path.exists() else {}


def progress(note: dict) -> list[dict] | None:
    """The last updates of the last start of the training that left this note; None where another run has replaced it
    in the --save-dir."""
    own, found = note.get("run"), owner(Path(note["save_dir"]))
    if own and found and own != found:
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
    lines = [found for line in raw[path.stat().st_size > LAST_BYTES :] if (found := _whole(line))]
    begin = max((n for n in range(1, len(lines)) if lines[n]["seconds"] < lines[n - 1]["seconds"]), default=0)
    return lines[begin:]


def _whole(line: bytes) -> dict | None:
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except ValueError:  # damaged
        return None
