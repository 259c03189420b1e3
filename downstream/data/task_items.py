"""What splits and the search for copies need to know of a task's items: how they are read, named and grouped."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from downstream.data.recipe import Recipe


class TaskItems(ABC):
    """The items of one data set, read as its recipe says."""

    recipe: Recipe

    def __init__(self, recipe: Recipe):
        self.recipe = recipe

    @property
    @abstractmethod
    def metric_name(self) -> str:
        """The metric that chooses epochs, seeds and settings, in words."""

    def read(self, path: Path, format: str, counts: Counter) -> list:
        """The items of a file or folder, as Recipe.read has it."""
        return self.recipe.read(path, format, counts)

    @abstractmethod
    def texts(self, item: Any) -> Iterable[str]:
        """The texts of an item, for the search of copies."""

    @abstractmethod
    def describe(self, items: list) -> dict[str, int]:
        """How often each label occurs."""

    def learned(self, items: list) -> dict[str, int]:
        """How often each label occurs in what is learned and scored: `describe`, unless a policy drops some."""
        return self.describe(items)

    def id_of(self, item: Any) -> str:
        """The item's id, its own in the split."""
        return item.id

    def is_scored(self, item: Any) -> bool:
        """Whether the metric says anything of it."""
        return True

    def group(self, item: Any) -> str:
        """The document that the item says it is of, or itself."""
        return getattr(item, "group", "") or self.id_of(item)

    def document(self, item: Any) -> str:
        """The name of its document, as the recipe's patient_pattern and patient_list mean it."""
        return self.group(item)

    def undivided(self, item: Any) -> str:
        """What must not be divided between splits, and what intervals are over: the patient, or else the group."""
        return item.patient or self.group(item)

    def stratum(self, item: Any) -> str:
        """What is to be as frequent in every fold."""
        return ""
