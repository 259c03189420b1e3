"""Choosing and corrupting the tokens a model must predict: pure functions of a generator.

Shapes: T = tokens of one sequence, <s> and </s> included; M = drawn positions. Nothing here knows of batches or ranks,
so the same (seed, epoch, sample index) gives the same draws on any number of processes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

MASK_UNITS = ("token", "word", "ngram", "span")


@dataclass(frozen=True)
class MaskingRule:
    """What is drawn, and what happens to it. Shares are of the drawn positions."""

    mask_share: float  # replaced by <mask>
    random_share: float  # replaced by a random piece; the rest stays as it is
    mask_prob: float = 0.15  # share of the sequence drawn (BERT, ELECTRA section 2; AliBERT section 3.3.1)
    unit: str = "token"  # of MASK_UNITS: what is drawn together (ELECTRA and AliBERT: single tokens)
    max_predictions: int = 0  # most positions drawn of one sequence; 0: no limit beside mask_prob

    def __post_init__(self):
        if not 0 < self.mask_prob < 1:
            raise ValueError(f"mask_prob must lie between 0 and 1, not {self.mask_prob}")
        masked, random = self.mask_share, self.random_share
        if min(masked, random) < 0 or masked + random > 1:
            raise ValueError(
                f"the drawn tokens' shares, {masked:g} masked, {random:g} random and {1 - masked - random:g} left, "
                "must be 0 or more"
            )
        if self.max_predictions < 0:
            raise ValueError(f"max_predictions must be 0, which sets no limit, or more, not {self.max_predictions}")

    def number_to_draw(self, length: int) -> int:
        """Positions to draw of a sequence of `length` tokens, <s> and </s> counted: BERT's and ELECTRA's number."""
        number = max(1, round(self.mask_prob * length))
        return min(number, self.max_predictions) if self.max_predictions else number


class Drawn(NamedTuple):
    """The positions to predict, sorted, and for each the number of the unit that it was drawn with. Both (M,)."""

    positions: np.ndarray
    units: np.ndarray


def generator_for(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random generator of one sample in one epoch, whatever the rank, the worker or the batch it falls in."""
    return np.random.default_rng((seed, epoch, index))


def draw_tokens(candidates: np.ndarray, number: int, generator: np.random.Generator) -> Drawn:
    """Draw single tokens, without replacement: `number` of them, or all candidates.

    candidates: (T,) bool, True where a token may be drawn (neither special nor padding).

    google-research/electra (`pretrain/pretrain_helpers.py`) draws as many with replacement, which masks 13.8 to 14 %
    instead of 15 % and averages token ids drawn twice (its issue 41).
    """
    places = np.flatnonzero(candidates)
    number = min(len(places), number)
    positions = np.sort(generator.choice(places, size=number, replace=False)) if number else places
    return Drawn(positions, np.arange(number))


def corrupt(
    tokens: np.ndarray,
    drawn: Drawn,
    rule: MaskingRule,
    mask_id: int,
    random_ids: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return a copy of `tokens` (T,) with each drawn position masked, replaced by a random piece, or left.

    The fate is drawn for each position (BERT, ALBERT), for spans once for the whole span (SpanBERT section 3.1).
    random_ids: the ids random pieces come from (no special, no filler).
    """
    corrupted = tokens.copy()
    if rule.unit == "span":
        fate = generator.random(drawn.units.max(initial=-1) + 1)[drawn.units]
    else:
        fate = generator.random(len(drawn.positions))
    random_pieces = random_ids[generator.integers(0, len(random_ids), size=len(drawn.positions))]
    corrupted[drawn.positions[fate < rule.mask_share]] = mask_id
    at_random = (fate >= rule.mask_share) & (fate < rule.mask_share + rule.random_share)
    corrupted[drawn.positions[at_random]] = random_pieces[at_random]
    return corrupted
