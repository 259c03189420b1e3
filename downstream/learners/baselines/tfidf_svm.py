"""TF-IDF with a linear support vector machine (003, Table 6); a ridge regression where the answer is a number."""

from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from downstream.learners.baselines.base import TextBaseline
from downstream.learners.baselines.tfidf import SETTINGS, Tfidf, cosines, overlaps
from downstream.tasks.base import Encoded
from downstream.tasks.candidates import OfCandidates
from downstream.tasks.classification import TextClassification
from downstream.tasks.similarity import Similarity
from downstream.tasks.texts import Pair

# C, by tens up to scikit-learn's 1. With 10, MORFITT and RefoMed were worse on dev, and pairs did not converge.
STRENGTHS = (0.01, 0.1, 1.0)
# Of several labels a text: the distance above which one is given. The label attention chooses its border, too.
BORDERS = tuple(step / 16 for step in range(-8, 9))
ITERATIONS = 10_000  # at most; with scikit-learn's 1,000 a rare label of ChemProt, balanced, did not converge
# 1 / alpha, by tens around scikit-learn's 1 and above: a few features need little of it
RIDGE = (0.1, 1.0, 10.0, 100.0)


class Setting(NamedTuple):
    """What is chosen on dev. balanced: a label's texts together weigh as much as the others, however few they are."""

    strength: float
    balanced: bool
    border: float = 0.0

    def __str__(self) -> str:
        border = f", border {self.border:g}" if self.border else ""
        return f"C {self.strength:g}" + ", balanced" * self.balanced + border


class TfidfSvm(TextBaseline):
    """One machine a label, against all others. The setting is the one with the best figure on dev, of equals the one
    with the smallest C, then with no border. A right candidate weighs what the recipe says.

    Of a pair the machine sees both texts, what they share, and how much that is; a ridge regression only how much, for
    data sets of similarities are too small for a weight a word.
    """

    name = "tfidf_svm"
    settings: ClassVar = {**SETTINGS, "C": STRENGTHS, "balanced": "or not", "border": BORDERS, "C of ridge": RIDGE}

    def learn(self, train: Encoded, dev: Encoded) -> None:
        """Raises InputError for texts without a word."""
        pairs = self.task.all_pairs(train)
        self.tfidf = Tfidf().fit(pairs)
        self.paired = any(second is not None for _, second in pairs)
        features, targets = self.features(pairs), self._targets(train)
        on_dev = self.features(self.task.all_pairs(dev))
        several = isinstance(self.task, TextClassification) and self.task.multi_label
        models, figures = {}, {}
        for setting in self.choices():
            machines = [self._machine(features, column, setting) for column in targets.T]
            distances = self._read(machines, on_dev)
            for border in sorted(BORDERS, key=abs) if several else (0.0,):
                own = setting._replace(border=border)
                models[own] = machines
                answers = self.task.decode(dev, list(distances + self._shift(border)))
                figures[own] = self.task.chosen(self.task.score(dev.items, answers))
        best = max(figures, key=figures.__getitem__)
        self.models, self.border = models[best], best.border
        self.num_parameters = sum(1 if isinstance(model, float) else model.coef_.size + 1 for model in self.models)
        self.selected = {**best._asdict(), "tried": {str(setting): figure for setting, figure in figures.items()}}

    def choices(self) -> list[Setting]:
        """Weights of labels are chosen where there are labels, and the recipe has no say."""
        if isinstance(self.task, Similarity):
            return [Setting(strength, False) for strength in RIDGE]
        weights = (False,) if isinstance(self.task, OfCandidates) else (False, True)
        return [Setting(*setting) for setting in product(STRENGTHS, weights)]

    def features(self, pairs: list[Pair]) -> sparse.csr_matrix | np.ndarray:
        """(pairs, features)."""
        if not self.paired:
            return sparse.hstack(self.tfidf.vectors([text for text, _ in pairs]), format="csr")
        first, second = self.tfidf.sides(pairs)
        alike = np.hstack([cosines(first, second), overlaps(pairs)])
        if isinstance(self.task, Similarity):
            return alike
        shared = [a.multiply(b) for a, b in zip(first, second, strict=True)]
        return sparse.hstack([*first, *second, *shared, alike], format="csr")

    def _targets(self, train: Encoded) -> np.ndarray:
        """(pairs, outputs): 0 or 1, or a number."""
        rows = [piece.target for piece in train.pieces]
        if self.task.head().kind == "label":
            return np.eye(len(self.task.names))[rows]
        return np.array(rows, dtype=float).reshape(len(rows), -1)

    def _machine(self, features, column: np.ndarray, setting: Setting) -> LinearSVC | Ridge | float:
        """A constant where training has a label always, or never."""
        if isinstance(self.task, Similarity):
            return Ridge(alpha=1 / setting.strength).fit(features, column)
        if len(set(column)) == 1:
            return 2 * float(column[0]) - 1
        weights: Any = "balanced" if setting.balanced else None
        if isinstance(self.task, OfCandidates):
            weights = {1: self.task.weight}
        machine = LinearSVC(C=setting.strength, class_weight=weights, max_iter=ITERATIONS, random_state=1)
        return machine.fit(features, column)

    def outputs(self, pairs: list[Pair]) -> np.ndarray:
        """Signed distances from the borders that were chosen."""
        return self._read(self.models, self.features(pairs)) + self._shift(self.border)

    def _shift(self, border: float) -> float:
        """Distances are no logits: the recipe's threshold, of probabilities, may not move the border."""
        return (self.task.limit if isinstance(self.task, TextClassification) else 0.0) - border

    def _read(self, models: list, features) -> np.ndarray:
        read = {float: lambda constant, rows: np.full(rows.shape[0], constant), Ridge: Ridge.predict}
        columns = [read.get(type(model), LinearSVC.decision_function)(model, features) for model in models]
        return np.column_stack(columns)
