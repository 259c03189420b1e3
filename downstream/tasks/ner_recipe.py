"""The recipe of a task of named entities: its types, and the policies that make its entities flat."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from alibert_common.errors import InputError
from downstream.data.annotated_text import Labels
from downstream.data.readers import ENTITIES
from downstream.data.recipe import Recipe, check_labels
from downstream.data.spans import Policy


@dataclass(frozen=True, kw_only=True)
class NerRecipe(Recipe):
    """Which entities a task keeps, how they become sequences that are flat."""

    types: list[str]  # the entity types, in the order of the tables
    rename: dict[str, str] = field(default_factory=dict)  # type in the files -> type of the task
    ignore: list[str] = field(default_factory=list)  # types that are dropped, and counted
    # Of entities that overlap keep the longest; innermost: the shortest; concatenated: a word's types make one label
    # (DrBenchmark's QUAERO); per_type: a head for each type, of which each keeps its longest.
    nested: str = "outermost"
    discontinuous: str = "split"  # each fragment an entity; hull: first to last character; drop
    partial_words: str = "expand"  # an entity that begins or ends inside a word takes the whole word; drop
    sequence: str = "line"  # a sequence a line, where a line is a sentence; window: as many lines as fit

    readers: ClassVar = ENTITIES
    choices: ClassVar = {
        "nested": ("outermost", "innermost", "concatenated", "per_type"),
        "discontinuous": ("split", "hull", "drop"),
        "partial_words": ("expand", "drop"),
        "sequence": ("line", "window"),
    }

    def check(self, file: Path) -> None:
        super().check(file)
        for name in self.types:
            if not name or " ".join(name.split()) != name or name.strip("-") != name or "+" in name or "/" in name:
                raise InputError(
                    f"{file}: type {name!r} has an outer or double space, an outer hyphen, a + or a /, which would be "
                    "lost in labels; give it another name under rename."
                )
        check_labels(self.kept(), "type", file)

    def kept(self) -> Labels:
        return Labels(tuple(self.types), self.rename, tuple(self.ignore))

    def policy(self) -> Policy:
        return Policy(self.nested, self.discontinuous, self.partial_words)
