"""The model that `downstream.finetune` wrote to a folder, for the programs that use it."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from alibert_common.errors import InputError
from alibert_common.files import read_text
from alibert_common.json_value import parse_json

if TYPE_CHECKING:
    from downstream.tasks.base import Task
    from downstream.training.heads import Head

Kind = TypeVar("Kind", bound="Task")


class FineTuned(ABC, Generic[Kind]):
    """A model, and what its scores depend on."""

    def __init__(self, folder: str | Path, device: str, kind: type[Kind], wanted: str):
        """wanted: the kind of task in words. Raises InputError for a folder that is not from downstream.finetune, of
        another task, or damaged."""
        folder = Path(folder)
        self.task, bf16 = read_notes(folder, kind, wanted)

        from downstream.training import models  # here: torch takes seconds, and a wrong folder needs none
        from downstream.training.loop import Learned, Machine
        from downstream.training.tokenizer import frame_of, load_tokenizer

        config = models.read_config(folder)
        self.tokenizer = load_tokenizer(folder)
        self.frame = frame_of(self.tokenizer, config)
        model, head = self._loaded(folder, config)
        machine = Machine(models.device_of(device), bf16)
        self.learned = Learned(model.to(machine.device), head, self.frame.padding, machine)

    @abstractmethod
    def _loaded(self, folder: Path, config) -> "tuple[Any, Head]":
        """The network, and the head that reads its output."""


def require_list(texts: Any) -> None:
    """Raises TypeError for one text, each of whose letters would be read as a text."""
    if isinstance(texts, str):
        raise TypeError("expected a list of texts, not one text; write [text].")


def read_notes(folder: Path, kind: type[Kind], wanted: str) -> tuple[Kind, bool]:
    """The task and whether to use bf16: what finetuning.json says of the scoring."""
    from downstream.tasks import task_of  # here: --help of the programs needs none of it

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
