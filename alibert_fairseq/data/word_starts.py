"""Where words start, by the tokenizer's own marks, so that whole words can be masked.

    Unigram, sentencepiece   ▁hépat ite    a subword that begins with ▁ (U+2581) starts a word
    byte-level BPE           ĠhÃ©pat ite   one that begins with Ġ (U+0120) does
    WordPiece                hépat ##ite   one that does not begin with ## does

Letters say nothing: google-research/albert (`_is_start_piece_sp`) takes each subword with a letter outside a to z for
the start of a word, which breaks French words at é, è, ç and œ.
"""

import numpy as np
from fairseq.data import Dictionary

from alibert_common.errors import InputError
from alibert_fairseq.data.dictionary import subword_ids
from preprocess.tokenizer.normalizer import BOUNDARY
from preprocess.tokenizer.vocabulary import CONTINUATION

BYTE_BOUNDARY = "Ġ"  # how GPT-2's byte-level BPE spells the space in front of a word
# A fifth of BERT's subwords and most of sentencepiece's and GPT-2's bear the mark. A vocabulary of numbers, of whole
# words or of another convention has it by chance, in a subword or two.
LEAST_SHARE = 0.01


def word_starts(dictionary: Dictionary) -> np.ndarray:
    """(V,) bool: whether a subword starts a word, by its mark.

    Raises InputError for a dictionary of another convention. The token after a special
    token always starts a word; see mask_units.words_of.
    """
    subwords = [dictionary[i] for i in subword_ids(dictionary)]
    marks = (BOUNDARY, BYTE_BOUNDARY, CONTINUATION)
    counts = {mark: sum(subword.startswith(mark) for subword in subwords) for mark in marks}
    mark = max(marks, key=counts.__getitem__)
    if counts[mark] < LEAST_SHARE * len(subwords) or not subwords:
        raise InputError(
            f"dict.txt: fewer than 1 % of its {len(subwords):,} subwords begin with {marks[0]}, {marks[1]} or "
            f"{marks[2]}, so nothing shows where words start; use --mask-unit token, or a tokenizer that marks words."
        )
    marked = np.array([dictionary[i].startswith(mark) for i in range(len(dictionary))])
    return ~marked if mark == CONTINUATION else marked
