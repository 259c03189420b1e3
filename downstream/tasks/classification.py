"""Texts, or pairs of texts, with one label or any number: classification, inference, yes and no and maybe."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from alibert_common.errors import InputError
from downstream.data.annotated_text import Labels
from downstream.data.examples import LabelledText
from downstream.data.readers import TEXTS
from downstream.data.recipe import Recipe, check_labels
from downstream.metrics import labels as metrics
from downstream.tasks.base import Chief, Encoded, HeadSpec
from downstream.tasks.texts import OfTexts, Pair

F1S = {
    "micro_f1": Chief(("micro", "f1"), "micro_f1"),
    "macro_f1": Chief(("macro", "f1"), "macro_f1"),
    "weighted_f1": Chief(("weighted", "f1"), "weighted_f1"),
}
ONE = {"accuracy": Chief(("accuracy",), "accuracy"), **F1S}
YES_NO = ONE | {"macro_f1": Chief(("macro", "f1"), "macro_f1_of_all")}
SEVERAL = F1S | {
    "example_f1": Chief(("example_based", "f1"), "example_f1"),
    "mean_example_f1": Chief(("mean_example_f1",), "mean_example_f1"),
    "exact_match": Chief(("exact_match",), "accuracy"),
    "jaccard": Chief(("jaccard",), "jaccard"),
}


@dataclass(frozen=True, kw_only=True)
class LabelRecipe(Recipe):
    """Which labels a task tells apart."""

    labels: list[str]  # in the order of the tables
    rename: dict[str, str] = field(default_factory=dict)  # label in the files -> label of the task
    ignore: list[str] = field(default_factory=list)  # labels that are dropped, and counted

    def check(self, file: Path) -> None:
        super().check(file)
        if len(set(self.labels)) < 2 or "" in self.labels:
            raise InputError(f"{file}: labels are {self.labels}; at least two different ones are needed.")
        check_labels(self.kept(), "label", file)

    def kept(self) -> Labels:
        return Labels(tuple(self.labels), self.rename, tuple(self.ignore))


@dataclass(frozen=True, kw_only=True)
class TextRecipe(LabelRecipe):
    """How a text's labels are read and scored."""

    multi_label: bool = False  # any number of labels a text, also none
    threshold: float = 0.5  # probability from which a label is given; with 0.5, those likelier than not
    by_group: bool = False  # score documents: the labels of one are those of its sentences (BLUE's Hallmarks of Cancer)

    readers: ClassVar = TEXTS

    def check(self, file: Path) -> None:
        super().check(file)
        if (self.by_group or self.threshold != 0.5) and not self.multi_label:
            raise InputError(
                f"{file}: by_group and threshold are for texts with several labels; add multi_label: true."
            )
        if not 0 < self.threshold < 1:
            raise InputError(f"{file}: threshold is {self.threshold}; a probability between 0 and 1 is needed.")


class TextClassification(OfTexts):
    """A label, or labels, for each text or pair."""

    recipe: TextRecipe

    def __init__(self, recipe: TextRecipe):
        super().__init__(recipe)
        self.names = self.counted = tuple(recipe.labels)
        self.multi_label = recipe.multi_label
        answers = {*metrics.YES_NO}
        self.yes_no = not self.multi_label and answers <= set(recipe.labels) <= answers | {metrics.MAYBE}

    @property
    def chiefs(self) -> dict[str, Chief]:  # type: ignore[override]
        """Micro F1 of any number of labels; accuracy of one, which its micro F1 is, too."""
        return YES_NO if self.yes_no else SEVERAL if self.multi_label else ONE

    @property
    def evaluation(self) -> dict[str, str]:  # type: ignore[override]
        """Which labels the averages are over."""
        in_gold = "over the labels that occur in the split's gold"
        of_answers = {"macro": "over all answers, as BioASQ's", "weighted": in_gold}
        return of_answers if self.yes_no else {"macro, weighted": in_gold}

    def read(self, path: Path, format: str, counts: Counter) -> list[LabelledText]:
        """Raises InputError for a text with a label too many or too few."""
        items = super().read(path, format, counts)
        for item in items:
            if not self.multi_label and len(item.labels) != 1:
                raise InputError(
                    f"{path}: {item.id} has {len(item.labels)} labels; each text needs one, or say multi_label: true."
                )
        return items

    def begin(self, items: list[LabelledText]) -> None:
        """Raises InputError for training items that are all alike."""
        if len({item.labels for item in items}) < 2:
            raise InputError(f"{self.recipe.task}: all training texts have the same labels; there is nothing to learn.")

    def head(self) -> HeadSpec:
        """One classifier over the labels, or a yes or no for each."""
        return HeadSpec("labels" if self.multi_label else "label", self.names)

    def pairs(self, item: LabelledText) -> list[Pair]:
        """One."""
        return [(item.text, item.second)]

    def targets(self, item: LabelledText) -> list:
        """The label's id; or 0 or 1 for each label."""
        if self.multi_label:
            return [[float(name in item.labels) for name in self.names]]
        return [self.names.index(item.labels[0])]

    @property
    def limit(self) -> float:
        """The logit above which a label is given, of several."""
        return math.log(self.recipe.threshold / (1 - self.recipe.threshold))

    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """The likeliest label; or those that are likely enough."""
        return [self.named(mean[0]) for mean in self.means(encoded, outputs)]

    def named(self, logits: np.ndarray) -> tuple[str, ...]:
        """The labels that (L,) logits give."""
        if self.multi_label:
            return tuple(name for name, logit in zip(self.names, logits, strict=True) if logit > self.limit)
        return (self.names[int(logits.argmax())],)

    def score(self, items: list[LabelledText], answers: list[tuple[str, ...]]) -> dict:
        """Of texts, questions of yes and no (and maybe) as BioASQ's; of documents if the recipe says so."""
        if not self.multi_label:
            scored = metrics.yes_no if self.yes_no else metrics.single_label
            return scored(
                [label for item in items for label in item.labels], [label for (label,) in answers], self.names
            )
        if self.recipe.by_group:
            gold, mine = zip(*self._by_group(items, answers).values(), strict=True)
            return metrics.multi_label(gold, mine, self.names)
        return metrics.multi_label([item.labels for item in items], answers, self.names)

    def _by_group(self, items: list[LabelledText], answers: list[tuple[str, ...]]) -> dict[Hashable, tuple[set, set]]:
        """Gold and predicted labels of each document: those of its texts."""
        sides: dict[Hashable, tuple[set, set]] = {}
        for item, answer in zip(items, answers, strict=True):
            gold, mine = sides.setdefault(self.group(item), (set(), set()))
            gold.update(item.labels)
            mine.update(answer)
        return sides

    def tallies(self, items: list[LabelledText], answers: list[tuple[str, ...]]) -> list[list[float] | None]:
        """Where documents are scored, one has its tally with the first of its texts."""
        if not self.recipe.by_group:
            return super().tallies(items, answers)
        tally, sides = self.chief_figure.tally, self._by_group(items, answers)
        first = [sides.pop(self.group(item), None) for item in items]
        return [pair and list(map(float, tally(*pair))) for pair in first]

    def sides(self, item: LabelledText, answer: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels."""
        return item.labels, answer

    def record(self, item: LabelledText, answer: tuple[str, ...]) -> dict:
        """Text and labels."""
        second = {} if item.second is None else {"second": item.second}
        return {"id": item.id, "text": item.text, **second, "gold": list(item.labels), "predicted": list(answer)}

    def stratum(self, item: LabelledText) -> str:
        return " ".join(item.labels)

    def describe(self, items: list[LabelledText]) -> dict[str, int]:
        """Items of each label."""
        counts = Counter(label for item in items for label in item.labels)
        return {name: counts[name] for name in self.names}
