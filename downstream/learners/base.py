"""What one has to do to stand in a table: learn from items, answer items, say what it is."""

from abc import ABC, abstractmethod
from pathlib import Path

from downstream.tasks.base import Encoded, Task
from downstream.training.epochs import Epoch, Watch


class Learner(ABC):
    """Learns one task. Everything that its scores depend on, but data and seed, is in `conditions`."""

    task: Task
    conditions: dict
    num_parameters: int  # of what has learned
    draws = True  # whether the seed makes a difference
    saves = False  # whether `save` leaves a model that can be used
    selected: dict | None = None  # settings that `fit` chose on dev, and `tried`, the chief figure of each

    @abstractmethod
    def encode(self, items: list, training: bool) -> Encoded:
        """The items as this one reads them; once for all seeds. The task has begun."""

    @abstractmethod
    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch | None = None) -> list[Epoch]:
        """Learn anew, from these items and this seed only. Returns the learning curve, maybe empty."""

    @abstractmethod
    def answer(self, encoded: Encoded) -> list:
        """An answer an item, as the task's `score` takes them."""

    def kept(self, curve: list[Epoch]) -> Epoch | None:
        """The epoch whose weights the model has, where there are epochs."""
        return None

    def save(self, target: Path, notes: dict) -> None:
        """Write what has learned to a folder, with notes (finetuning.json), whole or not at all."""
        raise NotImplementedError
