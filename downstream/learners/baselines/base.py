"""What baselines without an encoder have in common: how they are named in tables, and how they read texts."""

from abc import abstractmethod
from collections import Counter
from importlib import metadata
from typing import ClassVar

import numpy as np

from downstream.learners.base import Learner
from downstream.tasks.base import Encoded, Piece, Task
from downstream.tasks.texts import OfTexts, Pair
from downstream.training.epochs import Epoch, Watch


def conditions_of(name: str, settings: dict, libraries: tuple[str, ...]) -> dict:
    """A baseline's, in the form that an encoder has, so that one table shows both."""
    return {
        "model": {"folder": name, "architecture": "baseline", "random_init": False, "frozen": False},
        "protocol": {"name": f"baseline {name}", "changed": [], **settings},
        "libraries": {library: metadata.version(library) for library in libraries},
    }


class Baseline(Learner):
    """Draws nothing at random: one seed says all.

    name: on the command line and in tables. settings: all that its scores depend on but the
    data. libraries: packages that have a part in its scores.
    """

    name: ClassVar[str]
    settings: ClassVar[dict] = {}
    libraries: ClassVar[tuple[str, ...]] = ()
    draws = False

    def __init__(self, task: Task):
        self.task = task
        self.conditions = conditions_of(self.name, self.settings, self.libraries)
        self.conditions["note"] = "draws nothing at random: one seed stands for all on the same training items"

    def encode(self, items: list, training: bool) -> Encoded:
        """The items as they are."""
        return Encoded(items, [], Counter())

    def fit(self, train: Encoded, dev: Encoded, seed: int, watch: Watch | None = None) -> list[Epoch]:
        """Learn from the items; there is no curve."""
        self.learn(train, dev)
        return []

    @abstractmethod
    def learn(self, train: Encoded, dev: Encoded) -> None:
        """From the training items; from dev only a setting, which `selected` then has."""


class TextBaseline(Baseline):
    """Reads every text, or pair of texts, of an item whole, and gives for it what the head of an encoder would."""

    task: OfTexts

    def encode(self, items: list, training: bool) -> Encoded:
        """A piece a pair, without token ids."""
        split = Encoded(items, [], Counter())
        for number, item in enumerate(items):
            for place, (pair, target) in enumerate(zip(self.task.pairs(item), self.task.targets(item), strict=True)):
                split.pieces.append(Piece([], target, number, place))
                split.counts["empty texts"] += "" in pair
        return split

    def answer(self, encoded: Encoded) -> list:
        """The task's own, of the outputs."""
        return self.task.decode(encoded, list(self.outputs(self.task.all_pairs(encoded))))

    @abstractmethod
    def outputs(self, pairs: list[Pair]) -> np.ndarray:
        """(pairs, outputs): a logit for each label or candidate, or a number."""
