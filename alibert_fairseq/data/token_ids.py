"""Which ids of a dictionary are subwords of text: neither special tokens, nor fillers, nor the mask."""

import numpy as np
from fairseq.data import Dictionary

from preprocess.tokenizer.vocabulary import MASK

FILLERS = ("<unused", "[unused")  # they round our vocabularies up; BERT's vocabularies have them too


def mask_id(dictionary: Dictionary) -> int:
    """The id of the mask; a published dictionary knows it by our name too."""
    return dictionary.index(MASK)


def special_ids(dictionary: Dictionary) -> list[int]:
    """The ids that are never masked: <s>, padding, </s>, the mask, other special tokens of a published tokenizer."""
    others: set[int] = getattr(dictionary, "special", set()) - {dictionary.unk()}
    return sorted(others | {dictionary.bos(), dictionary.pad(), dictionary.eos(), mask_id(dictionary)})


def subword_ids(dictionary: Dictionary) -> np.ndarray:
    """Sorted ids of the subwords of text, wherever the dictionary has its special tokens and fillers."""
    others = {*special_ids(dictionary), dictionary.unk()}
    subwords = [i for i in range(len(dictionary)) if i not in others and not dictionary[i].startswith(FILLERS)]
    return np.array(subwords)
