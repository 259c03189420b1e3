"""Figures as functions of sums over items, so that drawing the items again costs one product of matrices.

A Figure has a tally of one item, a few numbers that add up, and the value of such sums. Spearman's correlation is none:
the rank of an item depends on the other items drawn.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from downstream.metrics.extractive_qa import exact_match, factoid_reciprocal_rank, list_rates, token_f1
from downstream.metrics.labels import agreement
from downstream.metrics.ranking import average_precision, reciprocal_rank, top_1
from downstream.metrics.similarity import NO_SPREAD


class Figure(NamedTuple):
    """tally: (gold, predicted) of one item to k numbers. value: their sums over items, (..., k), to figures, (...).

    exchangeable: tallies of one system, (seeds, items, k), to such as another system's may be exchanged with, of the
    same figure. Most are as they stand; what a system predicts on a scale of its own is brought to a common one.
    """

    tally: Callable[..., Sequence[float]]
    value: Callable[[np.ndarray], np.ndarray]
    exchangeable: Callable[[np.ndarray], np.ndarray] = np.asarray


def figure(name: str, classes: Sequence[str] = ()) -> Figure:
    """The figure of a name in FIGURES or OVER_CLASSES; `classes` are those that count, for the latter.

    micro_f1 over the positive classes is that of relations. An item is then a label or a collection of labels. Its
    tally: right decisions for each class, then predictions of each, then gold labels of each.
    """
    if name in FIGURES:
        return FIGURES[name]
    value = OVER_CLASSES[name]

    def tally(gold: str | Collection[str], predicted: str | Collection[str]) -> list[bool]:
        theirs, mine = _labels(gold), _labels(predicted)
        return [name in side for side in (theirs & mine, mine, theirs) for name in classes]

    def of_sums(sums: np.ndarray) -> np.ndarray:
        return value(*np.moveaxis(sums.reshape(*sums.shape[:-1], 3, -1), -2, 0))

    return Figure(tally, of_sums)


def grouped(tallies: np.ndarray, groups: Sequence[Hashable]) -> np.ndarray:
    """Tallies of items, (..., items, k), summed to those of their groups, (..., groups, k), in order of appearance.

    For items that are not independent, the sentences or relations of one document: documents are drawn, not sentences.
    """
    numbers: dict[Hashable, int] = {}
    belongs = [numbers.setdefault(group, len(numbers)) for group in groups]
    sums = np.zeros((*tallies.shape[:-2], len(numbers), tallies.shape[-1]), tallies.dtype)
    np.add.at(sums, (..., np.array(belongs, dtype=int), slice(None)), tallies)  # type: ignore[arg-type]
    return sums


def mean_of(score: Callable[..., float]) -> Figure:
    """The mean over items of a score of one item, such as partial(token_f1, language="fr")."""
    return Figure(lambda gold, predicted: (score(gold, predicted), 1), lambda sums: _ratio(sums[..., 0], sums[..., 1]))


def _labels(item: str | Collection[str]) -> set[str]:
    return {item} if isinstance(item, str) else set(item)


def _entities(gold: Collection[Hashable], predicted: Collection[Hashable]) -> tuple[int, int, int]:
    """Of a document's entities, as multisets: give sets where a second one of a kind is the same one."""
    return (Counter(gold) & Counter(predicted)).total(), len(predicted), len(gold)


def _example_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of the mean precision and recall; sums of precisions and recalls stand in the same relation as their means."""
    precision, recall = sums[..., 0], sums[..., 1]
    return _ratio(2 * precision * recall, precision + recall) / np.maximum(sums[..., 2], 1)


def _pearson(sums: np.ndarray) -> np.ndarray:
    """From the number of pairs and the sums of x, y, x squared, y squared and xy."""
    x, y, xx, yy, xy = np.moveaxis(_ratio(sums[..., 1:], sums[..., :1]), -1, 0)
    spread_x, spread_y = xx - x**2, yy - y**2
    varied = (spread_x > NO_SPREAD**2 * xx) & (spread_y > NO_SPREAD**2 * yy)
    return _ratio(xy - x * y, np.sqrt(np.where(varied, spread_x * spread_y, 0)))


def _standardised(tallies: np.ndarray) -> np.ndarray:
    """Pearson's tallies with the predictions y of each seed at mean 0 and spread 1, which its value does not depend on.

    A mixture of two systems' predictions does depend on their scales: cosines among scores from 0 to 5 correlate with
    nothing, however good both are. Constant predictions become 0.
    """
    n, x, y, xx, yy, xy = np.moveaxis(np.asarray(tallies, dtype=float), -1, 0)
    number, square = n.sum(-1, keepdims=True), yy.sum(-1, keepdims=True)
    mean = y.sum(-1, keepdims=True) / number
    variance = square / number - mean**2
    scale = _ratio(np.ones_like(variance), np.sqrt(np.where(variance > NO_SPREAD**2 * square / number, variance, 0)))
    moved, squared = (y - mean * n) * scale, (yy - 2 * mean * y + mean**2 * n) * scale**2
    return np.stack([n, x, moved, xx, squared, (xy - mean * x) * scale], axis=-1)


def _f1(found: np.ndarray, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return _ratio(2 * found, predicted + gold)


def _mean(figures: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean over the classes."""
    return _ratio((figures * weights).sum(-1), weights.sum(-1))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole, 0 where whole is."""
    whole = np.broadcast_to(whole, part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


FIGURES: dict[str, Figure] = {
    "entity_micro_f1": Figure(_entities, lambda sums: _f1(*np.moveaxis(sums, -1, 0))),
    "accuracy": mean_of(lambda gold, predicted: _labels(gold) == _labels(predicted)),
    "example_f1": Figure(lambda gold, predicted: (*agreement(gold, predicted)[:2], 1), _example_f1),
    "mean_example_f1": mean_of(lambda gold, predicted: agreement(gold, predicted)[2]),
    "jaccard": mean_of(lambda gold, predicted: agreement(gold, predicted)[3]),
    "pearson": Figure(lambda x, y: (1, x, y, x * x, y * y, x * y), _pearson, _standardised),
    "reciprocal_rank": mean_of(reciprocal_rank),
    "top_1_accuracy": mean_of(top_1),
    "average_precision": mean_of(average_precision),
    "exact_match": mean_of(exact_match),
    "token_f1": mean_of(token_f1),
    "lenient_accuracy": mean_of(lambda forms, answers: factoid_reciprocal_rank(forms, answers) > 0),
    "factoid_reciprocal_rank": mean_of(factoid_reciprocal_rank),
    "list_f1": mean_of(lambda answers, predicted: list_rates(answers, predicted)[2]),
}
OVER_CLASSES: dict[str, Callable[..., np.ndarray]] = {  # of found, predicted and gold, each (..., classes)
    "micro_f1": lambda found, predicted, gold: _f1(found.sum(-1), predicted.sum(-1), gold.sum(-1)),
    "macro_f1": lambda found, predicted, gold: _mean(_f1(found, predicted, gold), gold > 0),  # classes in the gold
    "macro_f1_of_all": lambda found, predicted, gold: _f1(found, predicted, gold).mean(-1),  # 0 of one nobody gives
    "weighted_f1": lambda found, predicted, gold: _mean(_f1(found, predicted, gold), gold),
}
