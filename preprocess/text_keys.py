"""Keys of texts: equal for texts of the same words, different for others."""

import hashlib
from collections.abc import Sequence

import numpy as np


def text_key(text: str) -> bytes:
    """16 bytes of the words, whatever white space is between them.

    Two different texts of a corpus of 10^12 lines share a key with a probability below 10^-14.
    """
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=16).digest()


def key_array(texts: Sequence[str]) -> np.ndarray:
    """(texts, 2) uint64: the keys' high and low halves, in whose order keys sort."""
    return np.frombuffer(b"".join(map(text_key, texts)), ">u8").reshape(-1, 2).astype(np.uint64)
