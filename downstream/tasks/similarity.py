"""How alike two texts are, as a number."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from alibert_common.errors import InputError
from downstream.data.examples import ScoredPair
from downstream.data.readers import PAIRS
from downstream.data.recipe import Recipe
from downstream.metrics.similarity import similarity
from downstream.tasks.base import Chief, Encoded, HeadSpec
from downstream.tasks.texts import OfTexts, Pair


@dataclass(frozen=True, kw_only=True)
class SimilarityRecipe(Recipe):
    """Needs nothing of its own."""

    readers: ClassVar = PAIRS


class Similarity(OfTexts):
    """A number for each pair, learned with the squared error."""

    chiefs: ClassVar = {"pearson": Chief(("pearson",), "pearson")}
    names = ("score",)
    evaluation: ClassVar = {"pearson, spearman": "0 where all answers are the same"}

    def begin(self, items: list[ScoredPair]) -> None:
        """Raises InputError for training items that are all alike."""
        if len({item.score for item in items}) < 2:
            raise InputError(f"{self.recipe.task}: all training pairs have one score; there is nothing to learn.")

    def head(self) -> HeadSpec:
        return HeadSpec("number", self.names)

    def pairs(self, item: ScoredPair) -> list[Pair]:
        return [(item.first, item.second)]

    def targets(self, item: ScoredPair) -> list[float]:
        return [item.score]

    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[float]:
        """A score for each pair."""
        return [float(mean[0, 0]) for mean in self.means(encoded, outputs)]

    def score(self, items: list[ScoredPair], answers: list[float]) -> dict:
        """Correlations."""
        return similarity([item.score for item in items], answers)

    def sides(self, item: ScoredPair, answer: float) -> tuple[float, float]:
        return item.score, answer

    def record(self, item: ScoredPair, answer: float) -> dict:
        return {"id": item.id, "text": item.first, "second": item.second, "gold": item.score, "predicted": answer}

    def describe(self, items: list[ScoredPair]) -> dict[str, int]:
        """Pairs by their score, rounded."""
        return {str(score): count for score, count in sorted(Counter(round(item.score) for item in items).items())}
