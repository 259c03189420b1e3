"""Where words start, by the tokenizer's own marks, so that whole words can be drawn.

    Unigram, sentencepiece   ▁hépat ite    a piece that begins with ▁ (U+2581) starts a word
    byte-level BPE           ĠhÃ©pat ite   one that begins with Ġ (U+0120) does
    WordPiece                hépat ##ite   one that does not begin with ## does

Letters say nothing: google-research/albert (`_is_start_piece_sp`) takes each piece with a letter outside a to z for the
start of a word, which breaks French words at é, è, ç and œ.
"""

import numpy as np
from fairseq.data import Dictionary

from alibert_common.errors import InputError
from alibert_fairseq.data.token_ids import piece_ids
from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.vocabulary import CONTINUATION

BYTE_BOUNDARY = "Ġ"  # how GPT-2's byte-level BPE spells the space in front of a word
# A fifth of BERT's pieces and most of sentencepiece's and GPT-2's bear the mark; a vocabulary of numbers, whole words
# or another convention has it by chance, in a piece or two.
LEAST_SHARE = 0.01


def word_starts(dictionary: Dictionary) -> np.ndarray:
    """(V,) bool: whether a piece starts a word, as the pieces themselves show it.

    Raises InputError for a dictionary of another convention. What follows a special token starts a word in any case;
    see mask_units.words_of.
    """
    pieces = [dictionary[i] for i in piece_ids(dictionary)]
    marks = (BOUNDARY, BYTE_BOUNDARY, CONTINUATION)
    counts = {mark: sum(piece.startswith(mark) for piece in pieces) for mark in marks}
    mark = max(marks, key=counts.get)
    if counts[mark] < LEAST_SHARE * len(pieces) or not pieces:
        raise InputError(
            f"dict.txt: fewer than 1 % of its {len(pieces):,} pieces begin with {marks[0]}, {marks[1]} or {marks[2]}, "
            f"so it does not show where words start; use --mask-unit token, or a tokenizer that marks words."
        )
    marked = np.array([dictionary[i].startswith(mark) for i in range(len(dictionary))])
    return ~marked if mark == CONTINUATION else marked
