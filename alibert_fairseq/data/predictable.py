"""Tokens that a model may not learn, on their way from a data-bin to a sample: their ids are raised by V.

V is the size of the dictionary. So blocks, pairs, rows and mixes carry the marks along as they carry the tokens.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import torch
from torch import Tensor

from alibert_common.errors import InputError
from alibert_fairseq.data.token_view import Reading, Readings
from preprocess.databin.predictable import PROOF, Predictable, predictable_path
from preprocess.mixing.mix_file import split_name


def predictable_readings(data_bins: Sequence[str], size: int) -> Readings | None:
    """How the splits of data-bins are read with a dictionary of this size; None where all tokens may be learned.

    Raises InputError where only some of the training splits say which tokens may be learned.
    """
    splits = [split for data_bin in data_bins for split in _training_splits(data_bin)]
    marked = [predictable_path(split).is_file() for split in splits]
    proved = any(os.path.isfile(os.path.join(data_bin, PROOF)) for data_bin in data_bins)
    if not all(marked) and (any(marked) or proved):
        raise InputError(
            f"{predictable_path(splits[marked.index(False)])}: no such file, so that all its tokens would be learned; "
            "make the data-bin again with `binarize --min-patients`."
        )
    if not any(marked):
        return None

    def reading(path: str) -> Reading | None:
        return Raised(Predictable(path), size) if predictable_path(path).is_file() else None

    return reading


def _training_splits(data_bin: str) -> Iterator[str]:
    for number in count():
        split = os.path.join(data_bin, split_name(number))
        if not os.path.isfile(f"{split}.idx"):
            return
        yield split


class Raised:
    """A reading: ids plus V for tokens that may not be learned."""

    def __init__(self, predictable: Predictable, size: int):
        self.predictable, self.size = predictable, size

    def __call__(self, tokens: Tensor, place: int) -> Tensor:
        rare = ~self.predictable.between(place, place + len(tokens))
        return tokens + torch.from_numpy(rare * self.size)


def lowered(tokens: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """((T,) the ids of tokens that may be raised, (T,) bool whether each may be learned)."""
    predictable = tokens < size
    return tokens - size * ~predictable, predictable
