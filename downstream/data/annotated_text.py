"""Annotated text as every reader returns it: the raw text untouched, entities as character offsets into it."""

from collections import Counter
from dataclasses import dataclass, field

from alibert_common.errors import InputError


@dataclass(frozen=True)
class Entity:
    """A typed stretch of text, possibly in several fragments: sorted, non-empty (start, end) pairs, end excluded."""

    label: str
    fragments: tuple[tuple[int, int], ...]

    @property
    def start(self) -> int:
        return self.fragments[0][0]

    @property
    def end(self) -> int:
        return self.fragments[-1][1]


@dataclass
class Document:
    """One text with its entities, in the order of the file."""

    id: str
    text: str
    entities: list[Entity]


@dataclass(frozen=True)
class Labels:
    """Which labels a task keeps: `types` stay, `rename` maps others onto them, `ignore` drops and counts them."""

    types: tuple[str, ...]
    rename: dict[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()

    def keep(self, label: str, place: str, counts: Counter, what: str = "entities") -> str | None:
        """The task's name of `label`, or None if the recipe drops it.

        place: file and line, for the error. what: the things that carry such labels (texts, relations), for both.
        """
        label = self.rename.get(label, label)
        if label in self.types:
            return label
        if label not in self.ignore:
            raise InputError(
                f"{place}: {label!r} is not known to the recipe, whose types of {what} are {', '.join(self.types)}; "
                "correct the annotation, or add the type there under types, rename or ignore."
            )
        counts[f"{what} of an ignored type"] += 1
        return None
