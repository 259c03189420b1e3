"""Keys of texts: equal for texts of the same words, different for others."""

import hashlib

import numpy as np

KEY_BYTES = 16


def text_key(text: str) -> bytes:
    """KEY_BYTES of the words, whatever white space is between them.

    Two different texts of a corpus of 10^12 lines share a key with a probability below 10^-14.
    """
    return spaced_key(" ".join(text.split()))


def spaced_key(text: str) -> bytes:
    """`text_key` of a text whose words single spaces part."""
    return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).digest()


def key_array(keys: bytes | bytearray) -> np.ndarray:
    """(keys, 2) uint64: the high and low halves of keys that lie one after the other; they sort as the keys do."""
    return np.frombuffer(keys, ">u8").reshape(-1, 2).astype(np.uint64)


def is_new(*columns: np.ndarray) -> np.ndarray:
    """(rows,) whether a row of sorted columns differs from the row before."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return new
