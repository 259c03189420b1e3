"""Choosing and corrupting the tokens a model must predict: pure functions of a generator.

Shapes: T = tokens of one sequence, <s> and </s> included. Nothing here knows of batches or ranks, so the same
(seed, epoch, sample index) gives the same draws on any number of processes.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MaskingRule:
    """What happens to the positions drawn for prediction. Shares are of the drawn positions."""

    mask_share: float  # replaced by <mask>
    random_share: float  # replaced by a random piece; the rest stays as it is
    mask_prob: float = 0.15  # share of the sequence drawn (BERT, ELECTRA section 2; AliBERT section 3.3.1)

    def __post_init__(self):
        if not 0 < self.mask_prob < 1:
            raise ValueError(f"mask_prob must lie between 0 and 1, not {self.mask_prob}")
        if min(self.mask_share, self.random_share) < 0 or self.mask_share + self.random_share > 1:
            raise ValueError(f"mask_share {self.mask_share} and random_share {self.random_share} must sum to at most 1")


def generator_for(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random generator of one sample in one epoch, whatever the rank, the worker or the batch it falls in."""
    return np.random.default_rng((seed, epoch, index))


def select_positions(candidates: np.ndarray, mask_prob: float, generator: np.random.Generator) -> np.ndarray:
    """Draw the positions to predict, without replacement.

    candidates: (T,) bool, True where a token may be drawn (neither special nor padding).
    Returns sorted positions; their number is round(mask_prob * T), at least one and at most all candidates.

    The count is that of google-research/electra (`pretrain/pretrain_helpers.py`, the specials counted in T); Google
    draws with replacement, which masks 13.8 to 14 % instead of 15 % and averages token ids drawn twice (its issue 41).
    """
    places = np.flatnonzero(candidates)
    count = min(len(places), max(1, round(mask_prob * len(candidates))))
    return np.sort(generator.choice(places, size=count, replace=False)) if count else places


def corrupt(
    tokens: np.ndarray,
    positions: np.ndarray,
    rule: MaskingRule,
    mask_id: int,
    random_ids: tuple[int, int],
    generator: np.random.Generator,
) -> np.ndarray:
    """Return a copy of `tokens` (T,) with each drawn position masked, replaced by a random piece, or left.

    random_ids: the half-open range of ids random pieces come from (no special, no filler).
    """
    corrupted = tokens.copy()
    fate = generator.random(len(positions))
    random_pieces = generator.integers(*random_ids, size=len(positions))
    corrupted[positions[fate < rule.mask_share]] = mask_id
    at_random = (fate >= rule.mask_share) & (fate < rule.mask_share + rule.random_share)
    corrupted[positions[at_random]] = random_pieces[at_random]
    return corrupted
