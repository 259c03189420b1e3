"""The vector of a text: the mean of an encoder's last hidden states over all its windows, special tokens included."""

from collections.abc import Iterable

import numpy as np

from downstream.tasks.base import Piece
from downstream.tasks.texts import Pair, windows_of
from downstream.training.heads import a_number
from downstream.training.loop import Learned, predict
from downstream.training.tokenizer import Frame

HIDDEN = a_number()._replace(read=lambda output: output.last_hidden_state.float(), per_token=True)  # (tokens, width)
PIECES = 1024  # whose states are in memory together


def cosines_of(pairs: Iterable[Pair], tokenizer, frame: Frame, longest: int, learned: Learned) -> np.ndarray:
    """(pairs, 1). longest: tokens of a window, special ones included. learned: an encoder under the head HIDDEN."""
    pairs = list(pairs)
    texts, pieces = sorted({text or "" for pair in pairs for text in pair}), []
    for number, text in enumerate(texts):
        ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        windows = windows_of(ids, None, frame, longest)
        pieces += [Piece(read, None, number, types=types) for read, types in windows]
    sums: list[np.ndarray | float] = [0.0 for _ in texts]  # a sum has the direction of a mean
    for start in range(0, len(pieces), PIECES):
        some = pieces[start : start + PIECES]
        for piece, rows in zip(some, predict(learned, some), strict=True):
            sums[piece.item] += rows.sum(axis=0)
    vectors = {text: total / np.linalg.norm(total) for text, total in zip(texts, sums, strict=True)}
    return np.array([[float(vectors[first or ""] @ vectors[second or ""])] for first, second in pairs])
