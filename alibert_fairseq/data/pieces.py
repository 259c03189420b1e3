"""Which ids of a dictionary are pieces of text: neither a special token, nor a filler, nor the mask."""

import numpy as np
from fairseq.data import Dictionary

MASKS = ("<mask>", "[MASK]")  # fairseq's name of the mask, and BERT's
FILLERS = ("<unused", "[unused")  # what rounds our vocabularies up, and what BERT's keep free


def add_mask(dictionary: Dictionary) -> int:
    """The id of the mask, added as `<mask>` behind the pieces where the dictionary has none."""
    return dictionary.add_symbol(next((name for name in MASKS if name in dictionary), MASKS[0]))


def mask_id(dictionary: Dictionary) -> int:
    """The id of the mask that the dictionary has."""
    return dictionary.indices[next((name for name in MASKS if name in dictionary), MASKS[0])]


def special_ids(dictionary: Dictionary) -> list[int]:
    """The ids that no unit of text holds and that are never drawn: <s>, padding, </s> and the mask."""
    return [dictionary.bos(), dictionary.pad(), dictionary.eos(), mask_id(dictionary)]


def piece_ids(dictionary: Dictionary) -> np.ndarray:
    """Sorted ids of the pieces of text, wherever the dictionary has its special tokens and fillers."""
    others = {*special_ids(dictionary), dictionary.unk()}
    pieces = [i for i in range(len(dictionary)) if i not in others and not dictionary[i].startswith(FILLERS)]
    return np.array(pieces)
