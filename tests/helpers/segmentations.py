"""Every segmentation of a word under a Unigram model with its exact probability, for tests that draw."""

import math
from collections.abc import Iterator

UNKNOWN_PENALTY = 10.0  # sentencepiece's and `tokenizers`' own: below the worst score


def segmentations(text: str, scores: dict[str, float]) -> Iterator[tuple[str, ...]]:
    """All ways to spell the text with pieces; a character that is no piece may also stand alone, as an unknown."""
    if not text:
        yield ()
    for end in range(1, len(text) + 1):
        if text[:end] in scores or end == 1:
            yield from ((text[:end], *rest) for rest in segmentations(text[end:], scores))


def probabilities(text: str, scores: dict[str, float], alpha: float) -> dict[tuple[str, ...], float]:
    """The probability of each: the product of its pieces' probabilities to the power alpha, over the sum of all."""
    unknown = min(scores.values()) - UNKNOWN_PENALTY
    weights = {
        pieces: math.exp(alpha * sum(scores.get(piece, unknown) for piece in pieces))
        for pieces in segmentations(text, scores)
    }
    return {pieces: weight / sum(weights.values()) for pieces, weight in weights.items()}


def farthest(counts: dict, expected: dict[tuple[str, ...], float], draws: int) -> float:
    """The largest distance of a frequency from its probability, in standard deviations.

    What may be drawn less than 5 times in all is taken together: its law is not the normal one.
    """
    assert counts.keys() <= expected.keys() and sum(counts.values()) == draws
    rare = {pieces for pieces, share in expected.items() if share * draws < 5}
    groups = [(counts.get(pieces, 0), share) for pieces, share in expected.items() if pieces not in rare]
    groups.append((sum(counts.get(pieces, 0) for pieces in rare), sum(expected[pieces] for pieces in rare)))
    return max(abs(n - draws * p) / math.sqrt(max(draws * p * (1 - p), 1.0)) for n, p in groups)
