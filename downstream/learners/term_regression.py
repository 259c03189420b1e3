"""A logistic regression for each label over TF-IDF of words and letters. The folder of a model can hold it.

Its terms are saved as numbers, which a program can turn into words again. So terms of fewer than five texts are left
out, a name that few texts have among them. On MORFITT's dev set this does no harm (docs/results/modern_choices.md).
"""

import numpy as np
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from downstream.learners.baselines.tfidf import VIEWS, Tfidf, View
from downstream.tasks.texts import Pair

STRENGTH, ITERATIONS = 10.0, 1000  # C; 3 to 30 are alike on MORFITT's dev set
FEWEST = 5  # texts that a term occurs in
SURE = 4.0  # logit of a label that every text has; minus that of a label that none has
OWN = "regression."  # before its names in the file


class TermRegression:
    """weights: (L, F), bias: (L,) over the terms of both views of `tfidf`. A pair of texts is read as one text."""

    def __init__(self, tfidf: Tfidf, weights: np.ndarray, bias: np.ndarray):
        self.tfidf, self.weights, self.bias = tfidf, weights, bias

    @classmethod
    def fitted(cls, pairs: list[Pair], targets: np.ndarray) -> "TermRegression":
        """targets: (pairs, L) 0 and 1. A label's texts weigh as much as the others. It draws nothing. Raises
        InputError for texts without a word."""
        tfidf = Tfidf().fit(joined := _joined(pairs), FEWEST)
        features = _features(tfidf, joined)
        weights, bias = np.zeros((targets.shape[1], features.shape[1]), np.float32), np.zeros(targets.shape[1])
        for number, column in enumerate(targets.T.astype(int)):
            if column.mean() in (0, 1):
                bias[number] = SURE * (2 * column[0] - 1)
            if column.mean() in (0, 1) or not features.shape[1]:
                continue
            fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=ITERATIONS).fit(features, column)
            weights[number], bias[number] = fitted.coef_[0], fitted.intercept_[0]
        return cls(tfidf, weights, bias)

    @property
    def num_parameters(self) -> int:
        """Weights and biases."""
        return self.weights.size + self.bias.size

    def logits(self, pairs: list[Pair]) -> np.ndarray:
        """(pairs, L)."""
        return _features(self.tfidf, _joined(pairs)) @ self.weights.T + self.bias

    def state(self) -> dict[str, Tensor]:
        """What a file of safetensors holds."""
        parts = {"weights": self.weights, "bias": self.bias}
        for name, view in zip(VIEWS, self.tfidf.views, strict=True):
            parts |= {f"{name}.known": view.known.astype(np.int32), f"{name}.idf": view.idf.astype(np.float32)}
        return {f"{OWN}{name}": torch.from_numpy(part) for name, part in parts.items()}

    @classmethod
    def of(cls, state: dict[str, Tensor]) -> "TermRegression":
        """From `state`, other tensors beside it. Raises KeyError if something is missing or sizes differ."""
        parts = {name.removeprefix(OWN): part.numpy() for name, part in state.items() if name.startswith(OWN)}
        views = [View(name, parts[f"{name}.known"], parts[f"{name}.idf"]) for name in VIEWS]
        terms = [sum(map(len, sizes)) for sizes in ([v.known for v in views], [v.idf for v in views])]
        if parts["weights"].shape != (len(parts["bias"]), terms[0]) or terms[0] != terms[1]:
            raise KeyError("weights and terms of the regression differ in number")
        return cls(Tfidf(views), parts["weights"], parts["bias"])


def _joined(pairs: list[Pair]) -> list[Pair]:
    return [(f"{first} {second}" if second else first, None) for first, second in pairs]


def _features(tfidf: Tfidf, pairs: list[Pair]) -> sparse.csr_matrix:
    return sparse.hstack(tfidf.vectors([text for text, _ in pairs]), format="csr")
