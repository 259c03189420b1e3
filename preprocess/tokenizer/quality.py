"""What a tokenizer makes of words: the figures by which tokenizers are compared."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain

import numpy as np
from tokenizers import Tokenizer

from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.vocabulary import UNKNOWN

WORDS_AT_ONCE = 1000  # an Encoding takes a kilobyte


@dataclass
class Pieces:
    """What encoding gave: how often each id occurred, how many words there were, and how many became one piece."""

    counts: np.ndarray  # (vocabulary,)
    lone: int | None  # the id of a `▁` by itself
    words: int = 0
    whole_words: int = 0

    def describe(self, raw_words: int) -> dict[str, float]:
        """The figures, as shares of tokens or of words with a letter or a digit."""
        tokens = int(self.counts.sum())
        lone = 0 if self.lone is None else int(self.counts[self.lone])
        return {
            "tokens": tokens,
            "tokens_per_white_space_word": round(tokens / raw_words, 4),
            "lone_boundary_share": round(lone / tokens, 6),
            "unknown_share": round(int(self.counts[UNKNOWN]) / tokens, 6),
            "whole_word_share": round(self.whole_words / max(self.words, 1), 4),
        }


def count_pieces(tokenizer: Tokenizer, words: Counter[str]) -> Pieces:
    """Encode every distinct word once, and count it as often as it occurs."""
    pieces = Pieces(np.zeros(tokenizer.get_vocab_size(), dtype=np.int64), tokenizer.token_to_id(BOUNDARY))
    distinct = list(words)
    for start in range(0, len(distinct), WORDS_AT_ONCE):
        some = distinct[start : start + WORDS_AT_ONCE]
        times = np.array([words[word] for word in some])
        encoded = [one.ids for one in tokenizer.encode_batch_fast(some, add_special_tokens=False)]
        sizes = np.array([*map(len, encoded)])
        np.add.at(pieces.counts, np.array([*chain.from_iterable(encoded)], np.int64), np.repeat(times, sizes))
        has_letter = np.array([any(map(str.isalnum, word)) for word in some])
        pieces.words += int(times[has_letter].sum())
        pieces.whole_words += int(times[has_letter & (sizes == 1)].sum())
    return pieces
