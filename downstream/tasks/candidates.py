"""Questions with candidate answers: multiple choice with one or several right ones, and ranking.

Question and candidate are read as a pair, and each pair is told to be right or not (004, Table 5, for ranking).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from alibert_common.errors import InputError
from downstream.data.examples import Candidates
from downstream.data.readers import CANDIDATES
from downstream.data.readers.candidates import fewer_candidates
from downstream.data.recipe import Recipe
from downstream.metrics.labels import multi_label
from downstream.metrics.ranking import ranking
from downstream.tasks.base import Chief, Encoded, HeadSpec
from downstream.tasks.classification import SEVERAL
from downstream.tasks.texts import OfTexts, Pair


@dataclass(frozen=True, kw_only=True)
class CandidatesRecipe(Recipe):
    """How candidates are read and weighed."""

    num_wrong: int | None = None  # candidates drawn of the wrong ones of each question; left out: all
    # of a right candidate in the loss; balanced: as many as the wrong ones weigh
    right_weight: str | float = "balanced"

    readers: ClassVar = CANDIDATES

    def check(self, file: Path) -> None:
        super().check(file)
        if self.num_wrong is not None and self.num_wrong < 1:
            raise InputError(f"{file}: num_wrong is {self.num_wrong}; a right candidate needs at least 1 beside it.")
        weight = self.right_weight
        if weight != "balanced" and (isinstance(weight, str) or weight <= 0):
            raise InputError(f"{file}: right_weight is {weight!r}; give a number above 0, or balanced.")


class OfCandidates(OfTexts):
    """A number for each candidate, above 0 where it is more likely right than not."""

    recipe: CandidatesRecipe
    names = ("right",)
    weight = 1.0

    def read(self, path: Path, format: str, counts: Counter) -> list[Candidates]:
        items = super().read(path, format, counts)
        if self.recipe.num_wrong is None:
            return items
        fewer = fewer_candidates(items, self.recipe.num_wrong, self.recipe.split_seed)
        counts["wrong candidates not drawn"] += sum(len(item.candidates) for item in items)
        counts["wrong candidates not drawn"] -= sum(len(item.candidates) for item in fewer)
        return fewer

    def begin(self, items: list[Candidates]) -> None:
        """Weighs right candidates. Raises InputError for training items without right ones, or wrong ones."""
        right = sum(len(item.right) for item in items)
        wrong = sum(len(item.candidates) for item in items) - right
        if not right or not wrong:
            raise InputError(
                f"{self.recipe.task}: {right} right candidates, {wrong} wrong ones; there is nothing to learn."
            )
        self.weight = wrong / right if self.recipe.right_weight == "balanced" else float(self.recipe.right_weight)

    def head(self) -> HeadSpec:
        return HeadSpec("labels", self.names, weight=self.weight)

    def pairs(self, item: Candidates) -> list[Pair]:
        """The question with each candidate."""
        return [(item.question, candidate) for candidate in item.candidates]

    def targets(self, item: Candidates) -> list[list[float]]:
        """1 for a right one."""
        return [[float(number in item.right)] for number in range(len(item.candidates))]

    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[list[float]]:
        """Logits of the candidates."""
        return [mean[:, 0].tolist() for mean in self.means(encoded, outputs)]

    def record(self, item: Candidates, answer: list[float]) -> dict:
        """The candidates with their logits."""
        question = {"id": item.id, "text": item.question, "candidates": list(item.candidates)}
        return question | {"gold": list(item.right), "predicted": answer}

    def describe(self, items: list[Candidates]) -> dict[str, int]:
        """Candidates, and right ones."""
        right = sum(len(item.right) for item in items)
        return {"candidates": sum(len(item.candidates) for item in items), "right": right}


class MultipleChoice(OfCandidates):
    """Every candidate that is more likely right than not is chosen; if there is none, the likeliest."""

    chiefs: ClassVar = {
        "exact_match": SEVERAL["exact_match"],
        "jaccard": SEVERAL["jaccard"],
        "micro_f1": Chief(("micro", "f1"), "entity_micro_f1"),  # of chosen places: how many there are need not be known
    }
    evaluation: ClassVar = {"jaccard": "shared of united answers; DrBenchmark's Hamming score of FrenchMedMCQA"}

    def read(self, path: Path, format: str, counts: Counter) -> list[Candidates]:
        """Raises InputError for a question that leaves no choice."""
        items = super().read(path, format, counts)
        for item in items:
            if len(item.candidates) < 2:
                raise InputError(
                    f"{path}: {item.id} has {len(item.candidates)} candidates; a choice is between two or more."
                )
        return items

    def score(self, items: list[Candidates], answers: list[list[float]]) -> dict:
        """Exact match of the set of answers, and how much of it is right."""
        places = [str(number) for number in range(max(len(item.candidates) for item in items))]
        gold, mine = zip(*map(self.sides, items, answers), strict=True)
        return {name: figure for name, figure in multi_label(gold, mine, places).items() if name != "classes"}

    def sides(self, item: Candidates, answer: list[float]) -> tuple[list[str], list[str]]:
        """The numbers of the right ones and of those that are chosen."""
        return [str(number) for number in item.right], [str(number) for number in chosen(answer)]


class Ranking(OfCandidates):
    """Candidates in the order of their numbers."""

    chiefs: ClassVar = {
        "mean_reciprocal_rank": Chief(("mean_reciprocal_rank",), "reciprocal_rank"),
        "top_1_accuracy": Chief(("top_1_accuracy",), "top_1_accuracy"),
        "mean_average_precision": Chief(("mean_average_precision",), "average_precision"),
    }
    evaluation: ClassVar = {"ties": "are broken against the model"}

    def score(self, items: list[Candidates], answers: list[list[float]]) -> dict:
        """Mean reciprocal rank of the first right candidate, and others."""
        return ranking([item.right for item in items], answers)

    def sides(self, item: Candidates, answer: list[float]) -> tuple[tuple[int, ...], list[float]]:
        return item.right, answer


def chosen(logits: Sequence[float]) -> tuple[int, ...]:
    """The candidates above 0, or the highest one."""
    return tuple(number for number, logit in enumerate(logits) if logit > 0) or (int(np.argmax(logits)),)
