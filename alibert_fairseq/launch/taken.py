"""One job at a time has a --save-dir: a second one would end the first, when it has waited for its nodes."""

import os
from pathlib import Path

from alibert_fairseq.launch.note import read_note
from alibert_fairseq.launch.plan import Plan
from alibert_fairseq.launch.status import at_work, plans
from preprocess.files import InputError


def refuse_taken(plan: Plan) -> None:
    """Raises InputError if a job of the same --logs that waits or runs writes to this SAVE_DIR.

    One whose recipe sets its --save-dir itself, and one of other --logs, is known only to the training (`.owner`).
    """
    if not os.environ.get("SAVE_DIR"):
        return
    mine = os.path.realpath(os.environ["SAVE_DIR"])
    for other, folder in plans(plan.logs.parent):
        if mine in _folders(other, folder) and at_work(other, folder):
            number = other["job"]
            how = f"`scancel {number}`" if other["on_slurm"] else f"Ctrl-C in its launcher, or `kill {number}`"
            raise InputError(
                f"SAVE_DIR={os.environ['SAVE_DIR']}: job {number} ({other['recipe']}) still waits or runs and writes "
                f"there; end it ({how}), or give another SAVE_DIR."
            )


def _folders(other: dict, folder: Path) -> set[str]:
    """Where a job writes, by the environment that it was launched in and by what its training has told."""
    told = read_note(folder, other["job"]).get("save_dir")
    return {os.path.realpath(each) for each in (other.get("save_dir"), told) if each}
