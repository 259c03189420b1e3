"""Which ids of a dictionary are pieces of text: neither a special token, nor a filler, nor the mask."""

import numpy as np
from fairseq.data import Dictionary

from preprocess.tokenizer.vocabulary import MASK

FILLERS = ("<unused", "[unused")  # what rounds our vocabularies up, and what BERT's keep free


def mask_id(dictionary: Dictionary) -> int:
    """The id of the mask; a published dictionary answers to our name of it too."""
    return dictionary.index(MASK)


def special_ids(dictionary: Dictionary) -> list[int]:
    """The ids that are never drawn: <s>, padding, </s>, the mask, and what else a published tokenizer calls special."""
    others = getattr(dictionary, "special", set()) - {dictionary.unk()}
    return sorted(others | {dictionary.bos(), dictionary.pad(), dictionary.eos(), mask_id(dictionary)})


def piece_ids(dictionary: Dictionary) -> np.ndarray:
    """Sorted ids of the pieces of text, wherever the dictionary has its special tokens and fillers."""
    others = {*special_ids(dictionary), dictionary.unk()}
    pieces = [i for i in range(len(dictionary)) if i not in others and not dictionary[i].startswith(FILLERS)]
    return np.array(pieces)
