"""How two mentions in a text are related, told of the whole text in which they are marked or replaced."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from alibert_common.errors import InputError
from downstream.data.examples import Mention, Relation
from downstream.data.readers import RELATIONS
from downstream.metrics import labels as metrics
from downstream.tasks.base import Encoded, HeadSpec
from downstream.tasks.classification import F1S, ONE, LabelRecipe
from downstream.tasks.texts import OfTexts, Pair

MARKS = (("<< ", " >>"), ("[[ ", " ]]"))  # around the first and the second argument, as SciBERT's ChemProt has them


@dataclass(frozen=True, kw_only=True)
class RelationRecipe(LabelRecipe):
    """How relations are shown to the model and scored."""

    negative: str = ""  # the label of mentions that are not related, which the scores leave out; none if left out
    show: str = "replaced"  # mentions become @TYPE$, as in BLUE; marked: they stay, between signs

    readers: ClassVar = RELATIONS
    choices: ClassVar = {"show": ("replaced", "marked")}

    def check(self, file: Path) -> None:
        super().check(file)
        if self.negative and self.negative not in self.labels:
            raise InputError(f"{file}: negative is {self.negative!r}, which is none of the labels.")


class Relations(OfTexts):
    """A label for each pair of mentions."""

    recipe: RelationRecipe
    chiefs: ClassVar = {**F1S, "accuracy": ONE["accuracy"]}

    def __init__(self, recipe: RelationRecipe):
        super().__init__(recipe)
        self.names = tuple(recipe.labels)
        self.counted = tuple(name for name in recipe.labels if name != recipe.negative)

    @property
    def evaluation(self) -> dict[str, str]:  # type: ignore[override]
        """With the labels that count."""
        return {"show": self.recipe.show, "labels that count": ", ".join(self.counted)}

    def begin(self, items: list[Relation]) -> None:
        """Raises InputError for training items that are all alike."""
        if len({item.label for item in items}) < 2:
            raise InputError(f"{self.recipe.task}: all training relations have one label; there is nothing to learn.")

    def head(self) -> HeadSpec:
        """A classifier over the labels, the negative one among them."""
        return HeadSpec("label", self.names)

    def pairs(self, item: Relation) -> list[Pair]:
        """The text with its two mentions shown."""
        return [(shown(item, self.recipe.show), None)]

    def targets(self, item: Relation) -> list[int]:
        """The label's id."""
        return [self.names.index(item.label)]

    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[str]:
        """The likeliest label."""
        return [self.names[int(mean[0].argmax())] for mean in self.means(encoded, outputs)]

    def score(self, items: list[Relation], answers: list[str]) -> dict:
        """Micro and macro figures are those of the labels but the negative one."""
        return metrics.single_label([item.label for item in items], answers, self.names, self.counted)

    def sides(self, item: Relation, answer: str) -> tuple[str, str]:
        """The labels."""
        return item.label, answer

    def record(self, item: Relation, answer: str) -> dict:
        """The text as it was read, and the labels."""
        return {"id": item.id, "text": shown(item, self.recipe.show), "gold": item.label, "predicted": answer}

    def texts(self, item: Relation) -> Iterable[str]:
        """As it stands in the file."""
        return [item.text]

    def is_scored(self, item: Relation) -> bool:
        """F1 is of the labels that count; accuracy of all."""
        return item.label in self.counted or self.recipe.figure == "accuracy"

    def stratum(self, item: Relation) -> str:
        return item.label

    def describe(self, items: list[Relation]) -> dict[str, int]:
        """Items of each label."""
        counts = Counter(item.label for item in items)
        return {name: counts[name] for name in self.names}


def shown(item: Relation, show: str) -> str:
    """The text with the two mentions replaced by @TYPE$, or between signs; as it is where the file has done that.

    Of mentions that overlap the outer one is shown around the inner one, and replaced by both: @TYPE1$ @TYPE2$.
    """
    if item.mentions is None:
        return item.text
    return _marked(item.text, item.mentions) if show == "marked" else _replaced(item.text, item.mentions)


def _marked(text: str, mentions: tuple[Mention, Mention]) -> str:
    """Signs are put in from the end of the text, so that offsets before them hold; of equal places the inner first."""
    signs = []
    for number, (mention, (opening, closing)) in enumerate(zip(mentions, MARKS, strict=True)):
        length = mention.end - mention.start
        # What opens stands after what closes there; the longer one opens first, the shorter one closes first.
        signs += [(mention.start, 1, -length, number, opening), (mention.end, 0, length, -number, closing)]
    for place, *_, sign in sorted(signs, reverse=True):
        text = text[:place] + sign + text[place:]
    return text


def _replaced(text: str, mentions: tuple[Mention, Mention]) -> str:
    first, second = sorted(mentions, key=lambda mention: (mention.start, mention.end))
    names = [f"@{mention.label.upper()}$" for mention in (first, second)]
    if second.start < first.end:  # they overlap
        return text[: first.start] + " ".join(names) + text[max(first.end, second.end) :]
    return text[: first.start] + names[0] + text[first.end : second.start] + names[1] + text[second.end :]
