"""What a folder of `downstream.finetune` says of its task, for the programs that use the model."""

from pathlib import Path
from typing import TypeVar

from alibert_common.errors import InputError
from alibert_common.files import read_text
from alibert_common.json_value import parse_json
from downstream.tasks import task_of
from downstream.tasks.base import Task

Kind = TypeVar("Kind", bound=Task)


def read_notes(folder: Path, kind: type[Kind], wanted: str) -> tuple[Kind, bool]:
    """The task and whether to use bf16: what finetuning.json says of the scoring.

    wanted: the kind of task in words. Raises InputError for a folder of another one, or of another program.
    """
    notes = folder / "finetuning.json"
    if not notes.is_file():
        raise InputError(f"{folder}: no finetuning.json in it; give the folder `model` of a downstream.finetune run.")
    text = read_text(notes)
    try:
        values = parse_json(text)
        task, bf16 = task_of(values), values["conditions"]["precision"] == "bf16 autocast"
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{notes}: not as downstream.finetune wrote it; copy the folder again.") from None
    if not isinstance(task, kind):
        raise InputError(f"{folder}: a model of {task.recipe.kind}; give one of {wanted}.")
    return task, bf16
