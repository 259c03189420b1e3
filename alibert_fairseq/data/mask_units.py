"""What is masked together: single tokens, whole words, n-grams or spans of words. Pure functions of a generator.

Shapes: T = tokens of one sequence, W = its words, M = masked positions. A unit is one or more whole words side by side.
It crosses no special token and overlaps no other unit.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from alibert_fairseq.data.masking import MaskedPositions, MaskingRule, select_tokens
from preprocess.tokenizer.word_starts import Words, words_of


def select_units(
    candidates: np.ndarray, starts: np.ndarray | None, rule: MaskingRule, generator: np.random.Generator,
    length: int | None = None,
) -> MaskedPositions:  # fmt: skip
    """Select the positions to predict in the rule's units; `starts` is needed for all units but tokens.

    length: tokens of the sequence without those of documents that were taken out (default: T).
    """
    number = rule.number_to_mask(len(candidates) if length is None else length)
    if starts is None or rule.unit == "token":
        return select_tokens(candidates, number, generator)
    words = words_of(candidates, starts)
    if rule.word_selection == "uniform":
        return select_words_uniformly(words, number, generator)
    return fill_with_units(words, LAWS[rule.unit], number, generator)


def fill_with_units(words: Words, law: "Law", number: int, generator: np.random.Generator) -> MaskedPositions:
    """Take words in random order, each with the length of the unit that would begin there, up to `number` positions.

    A unit that would exceed the number is not taken, so a few positions may stay unused where only long words are left.
    Long words are therefore masked less often than short ones.
    """
    order = generator.permutation(len(words.first)).tolist()
    most = np.minimum(words.left, len(law.cumulative))
    among = law.cumulative[most - 1] if law.among_those_that_fit else law.cumulative[-1]
    drawn = 1 + np.searchsorted(law.cumulative, generator.random(len(most)) * among, side="right")
    lengths = np.minimum(drawn, most).tolist()  # (W,) words of the unit that would begin at each word
    first, ends, free = words.first.tolist(), words.ends.tolist(), [True] * len(order)
    positions, units, unit = list[int](), list[int](), 0
    for word in order:
        if len(positions) == number:
            break
        if length := law.fit(word, lengths[word], ends[word] + number - len(positions), ends, free):
            free[word : word + length] = [False] * length
            subwords = ends[word + length] - ends[word]
            units += [unit] * subwords
            unit += 1
            positions += range(first[word], first[word] + subwords)
    masked = np.array((positions, units), dtype=np.int64)  # (2, M)
    return MaskedPositions(*masked[:, np.argsort(masked[0])])


def select_words_uniformly(words: Words, number: int, generator: np.random.Generator) -> MaskedPositions:
    """Select every word with the same probability, whatever its length, so that `number` positions are expected.

    The number of words is rounded up or down at random. The number of positions varies with the words' lengths.
    """
    sizes = np.diff(words.ends)  # (W,)
    expected = len(sizes) * min(1.0, number / max(1, words.ends[-1]))
    picked = np.sort(generator.permutation(len(sizes))[: int(expected + generator.random())])
    units = np.repeat(np.arange(len(picked)), sizes[picked])
    inside = np.arange(len(units)) - np.repeat(np.cumsum(sizes[picked]) - sizes[picked], sizes[picked])
    return MaskedPositions(words.first[picked][units] + inside, units)


def whole_or_none(word: int, length: int, most: int, ends: list[int], free: list[bool]) -> int:
    """Words of an n-gram at `word`: as many of `length` as end within `most` subwords, or none if one is masked."""
    while length and ends[word + length] > most:
        length -= 1
    return length if all(free[word : word + length]) else 0


def cut_short(word: int, length: int, most: int, ends: list[int], free: list[bool]) -> int:
    """Words of a span at `word`: at most `length`, up to an earlier span and within `most` subwords."""
    reached = 0
    while reached < length and free[word + reached] and ends[word + reached + 1] <= most:
        reached += 1
    return reached


class Law(NamedTuple):
    """How long the units are, and what happens to one that does not fit."""

    cumulative: np.ndarray  # weights of units of 1, of at most 2, ... words
    among_those_that_fit: bool  # near a special token: choose among the lengths that fit, or among all and cut
    fit: Callable[[int, int, int, list[int], list[bool]], int]


# word: BERT's whole words (`create_pretraining_data.py`).
# ngram: ALBERT section 4.1 (`create_masked_lm_predictions`), n up to 3 with p(n) proportional to 1/n.
# span: SpanBERT section 3.1, geometric with p = 0.2, none above 10 words; scaled to sum to 1, as in its code, the mean
# is its 3.8 words. Its code lets spans run into one another and cuts the last one inside a word; here words are whole.
LAWS = {
    "word": Law(np.ones(1), True, whole_or_none),
    "ngram": Law(np.cumsum(1 / np.arange(1, 4)), True, whole_or_none),
    "span": Law(np.cumsum(0.2 * 0.8 ** np.arange(10)), False, cut_short),
}
