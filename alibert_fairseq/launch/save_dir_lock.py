"""One job at a time has a --save-dir: a second job would end the first one when it starts."""

import os
from pathlib import Path

from alibert_common.errors import InputError
from alibert_fairseq.launch.plan import Plan
from alibert_fairseq.launch.progress import read_note
from alibert_fairseq.launch.status import at_work, plans, save_dir


def refuse_taken(plan: Plan) -> None:
    """Raise InputError if a waiting or running job of the same --logs has this job's --save-dir.

    A job whose recipe sets --save-dir itself, or with other --logs, is found by the training only (`.owner`).
    """
    mine = save_dir(plan)
    for other, folder in plans(plan.logs.parent) if mine else ():
        if mine == _folder(other, folder) and at_work(other, folder):
            raise InputError(
                f"{mine}: job {other['job']} ({other['recipe']}) still waits or runs and writes there; end it "
                f"({_how_to_end(other)}), or give another SAVE_DIR."
            )


def _folder(other: dict, folder: Path) -> str | None:
    """The folder of a job's checkpoints, from the note of its training or else from its plan."""
    told = read_note(folder, other["job"]).get("save_dir") or other.get("save_dir")
    return told and os.path.realpath(told)


def _how_to_end(other: dict) -> str:
    """The command that ends a job. On this machine that ends its launcher, which might start the job again."""
    if other["on_slurm"]:
        return f"`scancel {other['job']}`"
    if Path("/proc", str(other.get("launcher"))).exists():
        return f"Ctrl-C in its launcher, or `kill {other['launcher']}`"
    return f"`kill {other['job']}`"
