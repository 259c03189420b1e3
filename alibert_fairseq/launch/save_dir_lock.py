"""One job at a time has a --save-dir: a second one would end the first, when it has waited for its nodes."""

import os
from pathlib import Path

from alibert_common.errors import InputError
from alibert_fairseq.launch.plan import Plan
from alibert_fairseq.launch.progress import read_note
from alibert_fairseq.launch.status import at_work, plans, save_dir


def refuse_taken(plan: Plan) -> None:
    """Raises InputError if a job of the same --logs that waits or runs writes where this one would.

    One whose recipe sets its --save-dir itself, and one of other --logs, is known only to the training (`.owner`).
    """
    mine = save_dir(plan)
    for other, folder in plans(plan.logs.parent) if mine else ():
        if mine == _folder(other, folder) and at_work(other, folder):
            raise InputError(
                f"{mine}: job {other['job']} ({other['recipe']}) still waits or runs and writes there; end it "
                f"({_how_to_end(other)}), or give another SAVE_DIR."
            )


def _folder(other: dict, folder: Path) -> str | None:
    """Where a job writes: as its training has told, or else as its launcher was asked."""
    told = read_note(folder, other["job"]).get("save_dir") or other.get("save_dir")
    return told and os.path.realpath(told)


def _how_to_end(other: dict) -> str:
    """On this machine by its launcher, which would start it again were it ended itself; a detached one has none."""
    if other["on_slurm"]:
        return f"`scancel {other['job']}`"
    if Path("/proc", str(other.get("launcher"))).exists():
        return f"Ctrl-C in its launcher, or `kill {other['launcher']}`"
    return f"`kill {other['job']}`"
