"""The ids of short parts of text, found for a whole block at once: exact, and of a fixed size in memory.

A part of up to 15 bytes is its own key: a pair of numbers that hold its bytes and its length. A key has two places in
the table, which its bits tell. A new part takes the first one if it is free, else the second, whoever had it.
Shapes: P parts, K places.
"""

from typing import NamedTuple

import numpy as np

KEY_BYTES = 15  # the sixteenth byte is the length; of 1,000 parts in French text, 5 are longer
IDS = 4  # most that a short part has; of 100 different ones, 2 have more
BITS = 18  # 262,144 places, 7 to 9 MB: 118 MB of leaflets, cases and novels have some 145,000 different parts
HIGH, LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)  # odd, their bits at random
MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # of a number's lowest bytes


class Keys(NamedTuple):
    """(P,) and (P,) uint64: the first eight bytes; the next seven, and the length as the highest byte."""

    low: np.ndarray
    high: np.ndarray

    def at(self, some: np.ndarray) -> "Keys":
        """Some of the keys."""
        return Keys(self.low[some], self.high[some])


def keys_of(text: bytes, starts: np.ndarray, sizes: np.ndarray) -> Keys:
    """The keys of the parts that begin at `starts` and have `sizes` bytes; those of longer ones mean nothing."""
    numbers = np.ndarray(len(text) + 1, np.dtype("<u8"), text + bytes(16), strides=(1,))
    low = numbers[starts] & MASKS[np.minimum(sizes, 8)]
    rest = numbers[np.minimum(starts + 8, len(text))] & MASKS[np.clip(sizes - 8, 0, 7)]
    return Keys(low, rest | sizes.astype(np.uint64) << np.uint64(56))


class PartTable:
    """Parts with at most IDS ids each."""

    def __init__(self, dtype: np.dtype, bits: int = BITS):
        self.bits = bits
        self.low, self.high = np.zeros((2, 1 << bits), np.uint64)
        self.ids, self.counts = np.zeros((1 << bits, IDS), dtype), np.zeros(1 << bits, np.uint8)

    def find(self, keys: Keys) -> np.ndarray:
        """(P,) the place of each key, -1 where it has none."""
        first, second = self._places(keys)
        places = np.where(self._holds(first, keys), first, -1)
        rest = np.flatnonzero(places < 0)
        second = second[rest]
        places[rest] = np.where(self._holds(second, keys.at(rest)), second, -1)
        return places

    def add(self, keys: Keys, ids: np.ndarray, counts: np.ndarray) -> None:
        """Add parts: `ids` (P, IDS), of which the first `counts` (P,) are meant."""
        first, second = self._places(keys)
        places, one = np.unique(np.where(self.high[first] == 0, first, second), return_index=True)
        self.low[places], self.high[places] = keys.at(one)
        self.ids[places], self.counts[places] = ids[one], counts[one]

    def ids_at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the ids at all places end to end, (P,) how many at each); none at -1."""
        counts = np.where(places < 0, 0, self.counts[places])
        return self.ids[places][np.arange(IDS) < counts[:, None]], counts

    def _places(self, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
        """(P,) and (P,): the two places that a key may have."""
        mixed = (keys.low ^ keys.high * HIGH) * LOW
        first, second = (mixed >> np.uint64(64 - number * self.bits) for number in (1, 2))
        return first.astype(np.int64), second.astype(np.int64) & ((1 << self.bits) - 1)

    def _holds(self, places: np.ndarray, keys: Keys) -> np.ndarray:
        return (self.low[places] == keys.low) & (self.high[places] == keys.high)
