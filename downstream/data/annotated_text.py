"""Annotated text as every reader returns it: the raw text untouched, entities as character offsets into it."""

from collections import Counter
from dataclasses import dataclass, field

from alibert_common.errors import InputError

SHOWN = 20  # labels that an error names: a wrong column may hold thousands


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


@dataclass(repr=False)
class AnnotatedText:
    """One text with its entities, in the order of the file; and its patient, if the recipe says a column of them."""

    id: str
    text: str
    entities: list[Entity]
    patient: str = ""

    def __repr__(self) -> str:
        """Digests of data in earlier results are of this form (Split.sha256)."""
        return f"Document(id={self.id!r}, text={self.text!r}, entities={self.entities!r})"


@dataclass(frozen=True)
class Labels:
    """Which labels a task keeps: `types` stay, `rename` maps others onto them, `ignore` drops and counts them.

    unknown: of labels that are none of these, how often and where first they were met.
    """

    types: tuple[str, ...]
    rename: dict[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    unknown: dict[str, tuple[int, str, str]] = field(default_factory=dict, compare=False, repr=False)

    def keep(self, label: str, place: str, counts: Counter, what: str = "entities") -> str | None:
        """The task's name of `label`, or None if the recipe drops it or does not know it (see refuse_unknown).

        place: file and line, for the error. what: the things that carry such labels (texts, relations).
        """
        label = self.rename.get(label, label)
        if label in self.types:
            return label
        if label in self.ignore:
            counts[f"{what} of an ignored type"] += 1
        else:
            count, first, things = self.unknown.get(label, (0, place, what))
            self.unknown[label] = count + 1, first, things
        return None

    def refuse_unknown(self) -> None:
        """Raise InputError that names all labels which the recipe does not know, with their counts."""
        if not self.unknown:
            return
        (_, place, what), *more = self.unknown.values()
        first = list(self.unknown.items())[:SHOWN]
        rest = f" and {len(self.unknown) - SHOWN} more" * (len(self.unknown) > SHOWN)
        labels = ", ".join(repr(label) for label, _ in first) + rest
        counts = ", ".join(f"{count} {label}" for label, (count, *_) in first) + rest
        self.unknown.clear()
        raise InputError(
            f"{place}: {labels} {'are' if more else 'is'} not known to the recipe, whose types of {what} are "
            f"{', '.join(self.types)}; correct the annotations ({counts}), or add to types, rename or ignore there."
        )
