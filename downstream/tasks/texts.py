"""What the families have in common whose model reads a text, or a pair of texts, and answers once for it.

A text that is longer than the model reads is cut into overlapping windows; of a pair, both are, and every window of one
goes with every window of the other. Each window learns the answer of the whole; the answer is made of their mean.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from downstream.tasks.base import Encoded, Piece, Task

OVERLAP_SHARE = 8  # of a window that the next one reads again: a sentence or so, as in the windows of entities

Pair = tuple[str, str | None]


class OfTexts(Task):
    """One or several texts or pairs an item, each with a target."""

    @abstractmethod
    def pairs(self, item: Any) -> list[Pair]:
        """What is read of an item: (text, second text or None), always as many for one item."""

    @abstractmethod
    def targets(self, item: Any) -> list:
        """What is learned of each of them."""

    def all_pairs(self, encoded: Encoded) -> list[Pair]:
        """The pairs of all items, one after the other."""
        return [pair for item in encoded.items for pair in self.pairs(item)]

    def encode(self, items: list, tokenizer, frame, training: bool) -> Encoded:
        """Pieces whose place is the number of their pair in the item."""
        split, longest = Encoded(items, [], Counter()), min(self.recipe.max_tokens, frame.longest)
        texts = sorted({text for item in items for pair in self.pairs(item) for text in pair if text})
        tokens = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"] if texts else []
        ids = dict(zip(texts, tokens, strict=True))
        for number, item in enumerate(items):
            for place, (pair, target) in enumerate(zip(self.pairs(item), self.targets(item), strict=True)):
                first, second = ids.get(pair[0], []), None if pair[1] is None else ids.get(pair[1], [])
                windows = windows_of(first, second, frame, longest)
                split.pieces += [Piece(read, target, number, place, types) for read, types in windows]
                split.counts["texts in several windows"] += len(windows) > 1
                split.counts["empty texts"] += "" in pair
        split.counts["tokens"] = sum(len(piece.ids) for piece in split.pieces)
        split.counts["sequences"] = len(split.pieces)
        return split

    def means(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Of each item, the mean output over the windows of each of its pairs: (pairs, outputs)."""
        rows: list[list[list[np.ndarray]]] = [[[] for _ in self.pairs(item)] for item in encoded.items]
        for piece, output in zip(encoded.pieces, outputs, strict=True):
            rows[piece.item][piece.place].append(output)
        return [np.stack([np.mean(windows, axis=0) for windows in pairs]) for pairs in rows]

    def texts(self, item: Any) -> Iterable[str]:
        """Each text of its pairs once."""
        return dict.fromkeys(text for pair in self.pairs(item) for text in pair if text)


def windows_of(first: list[int], second: list[int] | None, frame, longest: int) -> list[tuple]:
    """(ids, token types or None) of each window of at most `longest` tokens in all; together they hold every token."""
    if second is None:
        return [frame.around(first[begin:end]) for begin, end in slices(len(first), frame.room(longest))]
    room = frame.room(longest, pair=True)
    shorter = min(len(first), len(second), room // 2)  # the shorter text is read whole, if it leaves half to the other
    sizes = (shorter, room - shorter) if len(first) <= len(second) else (room - shorter, shorter)
    return [
        frame.around(first[begin:end], second[start:stop])
        for begin, end in slices(len(first), max(sizes[0], 1))
        for start, stop in slices(len(second), max(sizes[1], 1))
    ]


def slices(length: int, size: int, overlap: int | None = None) -> list[tuple[int, int]]:
    """(begin, end) of windows of `size` over `length` tokens, the last one flush with the end; (0, 0) of none."""
    if length <= size:
        return [(0, length)]
    step = size - (size // OVERLAP_SHARE if overlap is None else overlap)
    begins = [*range(0, length - size, step), length - size]
    return [(begin, begin + size) for begin in begins]
