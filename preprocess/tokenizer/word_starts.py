"""Where words start, by the tokenizer's own marks, and the words of a sequence of ids.

    Unigram, sentencepiece   ▁hépat ite    a subword that begins with ▁ (U+2581) starts a word
    byte-level BPE           ĠhÃ©pat ite   one that begins with Ġ (U+0120) does
    WordPiece                hépat ##ite   one that does not begin with ## does

Letters say nothing: google-research/albert (`_is_start_piece_sp`) takes each subword with a letter outside a to z for
the start of a word, which breaks French words at é, è, ç and œ.
Shapes: V = ids, T = tokens of a sequence, W = its words.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alibert_common.errors import InputError
from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.vocabulary import CONTINUATION

BYTE_BOUNDARY = "Ġ"  # how GPT-2's byte-level BPE spells the space in front of a word
# A fifth of BERT's subwords and most of sentencepiece's and GPT-2's bear the mark. A vocabulary of numbers, of whole
# words or of another convention has it by chance, in a subword or two.
LEAST_SHARE = 0.01


def word_mark(subwords: Sequence[str]) -> str:
    """The mark of a vocabulary. Raises InputError for one of another convention."""
    marks = (BOUNDARY, BYTE_BOUNDARY, CONTINUATION)
    counts = {mark: sum(subword.startswith(mark) for subword in subwords) for mark in marks}
    mark = max(marks, key=counts.__getitem__)
    if counts[mark] < LEAST_SHARE * len(subwords) or not subwords:
        raise InputError(
            f"dict.txt: fewer than 1 % of its {len(subwords):,} subwords begin with {marks[0]}, {marks[1]} or "
            f"{marks[2]}, so nothing shows where words start; use --mask-unit token and no --min-patients, or a "
            "tokenizer that marks words."
        )
    return mark


def starts_by(mark: str, symbols: Sequence[str]) -> np.ndarray:
    """(V,) bool: whether a token starts a word. The token after a special one always does; see `words_of`."""
    marked = np.array([symbol.startswith(mark) for symbol in symbols])
    return ~marked if mark == CONTINUATION else marked


class Words(NamedTuple):
    """The words of a sequence."""

    first: np.ndarray  # (W,) position of the first subword
    ends: np.ndarray  # (W + 1,) subwords before each word, and of all words
    left: np.ndarray  # (W,) words from this one up to the next special token, this one included


def words_of(candidates: np.ndarray, starts: np.ndarray) -> Words:
    """Group the candidates into words. A special token ends a word; the next token starts one, marked or not.

    candidates: (T,) bool, False at special tokens; starts: (T,) bool, True where a token starts a word.
    """
    after_special = np.ones_like(candidates)  # (T,)
    np.logical_not(candidates[:-1], out=after_special[1:])
    first = (candidates & (starts | after_special)).nonzero()[0]
    run = np.cumsum(after_special[first])  # (W,) words with the same number have no special token between them
    left = np.searchsorted(run, run, side="right") - np.arange(len(first))
    subwords = np.cumsum(candidates)  # (T,)
    ends = np.empty(len(first) + 1, dtype=np.int64)
    ends[:-1], ends[-1] = subwords[first] - 1, np.count_nonzero(candidates)
    return Words(first, ends, left)
