"""How well a score tells members from non-members: AUC, true positives at few false ones, and their intervals.

Shapes: N scores, members and others; P patients; R resamples.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95
FALSE_POSITIVES = (0.001, 0.01)  # Carlini et al. 2022, Membership Inference Attacks From First Principles, section III


@dataclass(frozen=True)
class Rate:
    """A value and the interval in which it lies, by the bootstrap over patients."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Separation:
    """How well a score tells members from others. `true_positives` are by the share of false ones."""

    members: int
    others: int
    auc: Rate
    true_positives: dict[float, Rate]
    curve: list[tuple[float, float]]  # (false positives, true positives)


def separation(scores: np.ndarray, members: np.ndarray, patients: np.ndarray, seed: int) -> Separation:
    """scores: (N,), higher for members; members: (N,) bool; patients: (N,), resampled together."""
    ordered = _Ordered(scores, members)
    resampled = [ordered.figures(weights) for weights in _resamples(members, patients, seed)]
    whole = ordered.figures(np.ones(len(scores)))
    rates = [_rate(value, np.array([one[place] for one in resampled])) for place, value in enumerate(whole)]
    return Separation(
        int(members.sum()), int((~members).sum()), rates[0], dict(zip(FALSE_POSITIVES, rates[1:], strict=True)),
        ordered.curve(),
    )  # fmt: skip


class _Ordered:
    """Scores from the highest on; equal ones are one step."""

    def __init__(self, scores: np.ndarray, members: np.ndarray):
        self.order = np.argsort(-scores, kind="stable")
        self.members = members[self.order]
        inverse = scores[self.order]
        self.ends = np.flatnonzero(np.append(inverse[1:] != inverse[:-1], True))  # the last one of each step

    def rates(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(false positives, true positives) at each step, from 0 to 1."""
        weights = weights[self.order]
        found = []
        for mine in (~self.members, self.members):
            total = np.cumsum(weights * mine)
            found.append(np.concatenate([[0.0], total[self.ends] / total[-1]]))
        return found[0], found[1]

    def figures(self, weights: np.ndarray) -> list[float]:
        """AUC, with a half for equal scores, and the true positives at each share of FALSE_POSITIVES or fewer."""
        false, true = self.rates(weights)
        auc = float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2))
        return [auc, *(float(true[np.searchsorted(false, share, side="right") - 1]) for share in FALSE_POSITIVES)]

    def curve(self) -> list[tuple[float, float]]:
        """Some hundred points for a picture."""
        false, true = self.rates(np.ones(len(self.members)))
        places = np.unique(np.linspace(0, len(false) - 1, num=200, dtype=int))
        return [(float(false[place]), float(true[place])) for place in places]


def _resamples(members: np.ndarray, patients: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """(N,) how often each score is drawn: patients are drawn with replacement, of members and others apart."""
    generator = np.random.default_rng((seed, 1))
    sides = [np.unique(patients[side], return_inverse=True)[1] for side in (members, ~members)]
    for _ in range(RESAMPLES):
        weights = np.empty(len(members))
        for side, own in zip((members, ~members), sides, strict=True):
            number = int(own.max()) + 1
            weights[side] = np.bincount(generator.integers(number, size=number), minlength=number)[own]
        yield weights


def _rate(value: float, resampled: np.ndarray) -> Rate:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Rate(value, float(low), float(high))


def share_interval(hits: int, number: int) -> Rate:
    """A share of independent cases with Wilson's interval (Brown, Cai and DasGupta 2001)."""
    if not number:
        return Rate(0.0, 0.0, 1.0)
    z, share = 1.959963984540054, hits / number
    middle = (share + z * z / (2 * number)) / (1 + z * z / number)
    half = z / (1 + z * z / number) * np.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return Rate(share, max(0.0, float(middle - half)), min(1.0, float(middle + half)))
