"""Selecting and corrupting the tokens that a model must predict: pure functions of a random generator.

Shapes: T = tokens of one sequence, <s> and </s> included; M = masked positions, those to predict. Nothing here knows
of batches or ranks, so the same (seed, epoch, sample index) gives the same masks on any number of processes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

MASK_UNITS = ("token", "word", "ngram", "span")
WORD_SELECTIONS = ("bert", "uniform")


@dataclass(frozen=True)
class MaskingRule:
    """Which positions are masked, and what replaces their tokens. Shares are of the masked positions."""

    mask_share: float  # replaced by <mask>
    random_share: float  # replaced by a random subword; the rest stays unchanged
    mask_prob: float = 0.15  # share of the sequence to mask (BERT, ELECTRA section 2; AliBERT section 3.3.1)
    unit: str = "token"  # of MASK_UNITS: what is masked together (ELECTRA and AliBERT: single tokens)
    max_predictions: int = 0  # most masked positions of one sequence; 0: no limit beside mask_prob
    word_selection: str = "bert"  # of WORD_SELECTIONS, for whole words

    def __post_init__(self) -> None:
        if not 0 < self.mask_prob < 1:
            raise ValueError(f"mask_prob must lie between 0 and 1, not {self.mask_prob}")
        masked, random = self.mask_share, self.random_share
        if min(masked, random) < 0 or masked + random > 1:
            raise ValueError(
                f"the shares of the masked positions, {masked:g} <mask>, {random:g} random and "
                f"{1 - masked - random:g} unchanged, must be 0 or more"
            )
        if self.max_predictions < 0:
            raise ValueError(f"max_predictions must be 0, which sets no limit, or more, not {self.max_predictions}")
        if self.word_selection == "uniform" and (self.unit != "word" or self.max_predictions):
            raise ValueError("--mask-word-selection uniform needs --mask-unit word and no --max-predictions")

    def number_to_mask(self, length: int) -> int:
        """Positions to mask of a sequence of `length` tokens, <s> and </s> counted: BERT's and ELECTRA's number."""
        number = max(1, round(self.mask_prob * length))
        return min(number, self.max_predictions) if self.max_predictions else number


class MaskedPositions(NamedTuple):
    """The positions to predict, sorted, and for each the number of the unit it was selected with. Both (M,)."""

    positions: np.ndarray
    units: np.ndarray


def generator_for(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random generator of one sample in one epoch, whatever its rank, worker or batch."""
    return np.random.default_rng((seed, epoch, index))


def select_tokens(candidates: np.ndarray, number: int, generator: np.random.Generator) -> MaskedPositions:
    """Select `number` single tokens without replacement, or all candidates if there are fewer.

    candidates: (T,) bool, True where a token may be masked (neither special nor padding).

    google-research/electra (`pretrain/pretrain_helpers.py`) draws as many with replacement. That masks 13.8 to 14 %
    instead of 15 % and averages token ids drawn twice (its issue 41).
    """
    places = candidates.nonzero()[0]
    number = min(len(places), number)
    positions = generator.choice(places, size=number, replace=False) if number else places
    positions.sort()
    return MaskedPositions(positions, np.arange(number))


def corrupt(
    tokens: np.ndarray, masked: MaskedPositions, rule: MaskingRule, mask_id: int, random_ids: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Return a copy of `tokens` (T,) where each masked position holds <mask>, a random subword or its own token.

    Each position has its own fate (BERT, ALBERT), but a span has one fate for all (SpanBERT section 3.1).
    random_ids: the ids of random subwords (neither special tokens nor fillers).
    """
    corrupted = tokens.copy()
    if rule.unit == "span":
        fate = generator.random(masked.units.max(initial=-1) + 1)[masked.units]
    else:
        fate = generator.random(len(masked.positions))
    random_subwords = random_ids[generator.integers(0, len(random_ids), size=len(masked.positions))]
    corrupted[masked.positions[fate < rule.mask_share]] = mask_id
    at_random = (fate >= rule.mask_share) & (fate < rule.mask_share + rule.random_share)
    corrupted[masked.positions[at_random]] = random_subwords[at_random]
    return corrupted
