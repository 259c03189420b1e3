"""Segmentations of words drawn from a Unigram model: forward filtering, backward sampling (Kudo 2018).

A segmentation x of a word has the probability P(x) = prod p(x_i)^alpha / Z, over all segmentations, not over the n best
(Kudo's l is infinite). Why not a library's sampler: that of `tokenizers` 0.23 multiplies by alpha again at every step,
so the start of a word comes from another distribution, and it cannot be seeded. That of sentencepiece is exact, and the
tests compare with it, but until 0.2.1 it is seeded once a thread, and it builds the lattice again for every draw.
"""

import math
from array import array
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

UNKNOWN_PENALTY = 10.0  # below the worst score; sentencepiece's and `tokenizers`' own figure
START = 0  # the node before the first character, of all words


class Lattices:
    """A lattice a word, built once. A node is a position in a word; its edges are the pieces that end there.

    An edge is drawn with the probability that the word up to this node ends with this piece: with the weight of all
    ways to its start, times its own.
    """

    def __init__(self, vocabulary: Sequence[tuple[str, float]], unknown: int, alpha: float):
        """`vocabulary` and `unknown`, an id, are those of tokenizer.json: (piece, score) by id, the last of a name."""
        self.unknown = unknown
        self.pieces = {piece: (alpha * score, number) for number, (piece, score) in enumerate(vocabulary)}
        self.longest = max(map(len, self.pieces))
        self.unknown_weight = alpha * (min(score for _, score in vocabulary) - UNKNOWN_PENALTY)
        self.forget()

    def forget(self) -> None:
        """Drop every word."""
        self.words: dict[str, int] = {}
        self.first = array("i", [0])  # (nodes,), the first of its edges
        self.limit = array("d")  # (edges,), the sum of the probabilities of the node's edges up to this one
        self.piece = array("i")  # (edges,), an id
        self.before = array("i")  # (edges,), the node where the piece starts

    @property
    def size(self) -> int:
        """Bytes in memory, roughly."""
        return 16 * len(self.limit) + 4 * len(self.first) + 200 * len(self.words)

    def word(self, text: str) -> int:
        """The last node of a word."""
        if text not in self.words:
            self.words[text] = self._add(text)
        return self.words[text]

    def single(self, number: int) -> int:
        """The node of a word that is always this one id."""
        self._add_node([(0.0, number, START)])
        return len(self.first) - 1

    def _add(self, text: str) -> int:
        pieces, longest, first = self.pieces, self.longest, len(self.first) - 1
        forward = [0.0]  # the logarithm of the weight of all ways to each position
        for end in range(1, len(text) + 1):
            edges = []
            for start in range(max(0, end - longest), end):
                if found := pieces.get(text[start:end]):
                    edges.append((forward[start] + found[0], found[1], first + start if start else START))
            if text[end - 1] not in pieces:
                edges.append((forward[-1] + self.unknown_weight, self.unknown, first + end - 1 if end > 1 else START))
            forward.append(self._add_node(edges))
        return len(self.first) - 1

    def _add_node(self, edges: list[tuple[float, int, int]]) -> float:
        """Append a node with edges (log-weight, piece, node before); returns the logarithm of their sum."""
        edges.sort(reverse=True)  # the likeliest first: most draws end there
        top = edges[0][0]
        sums = list(accumulate(math.exp(weight - top) for weight, _, _ in edges))
        self.first.append(len(self.limit))
        self.limit.extend([partial / sums[-1] for partial in sums[:-1]])
        self.limit.append(math.inf)  # a draw never falls behind the last, whatever the rounding
        self.piece.extend([piece for _, piece, _ in edges])
        self.before.extend([before for _, _, before in edges])
        return top + math.log(sums[-1])

    def draw(self, words: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The ids of one segmentation of each word, end to end; `words` (N,) are nodes.

        All words go back from their ends together, a piece a step. What is drawn depends on the words and the generator
        alone, not on when a lattice was built.
        """
        first, limit, piece, before = (
            np.frombuffer(values, values.typecode) for values in (self.first, self.limit, self.piece, self.before)
        )
        index, node, steps = np.arange(len(words)), words, []
        while len(index):
            edge = _choose(first[node], limit, generator.random(len(node)))
            steps.append((index, piece[edge]))
            node = before[edge]
            unfinished = node != START
            index, node = index[unfinished], node[unfinished]
        return self._joined(steps, len(words))

    def _joined(self, steps: list[tuple[np.ndarray, np.ndarray]], words: int) -> np.ndarray:
        """Pieces drawn from the last to the first, put in order; unknowns side by side in a word are one."""
        sizes = np.zeros(words, np.int64)
        for index, _ in steps:
            sizes[index] += 1
        ends = np.cumsum(sizes)
        ids = np.empty(sizes.sum(), np.int64)
        for step, (index, pieces) in enumerate(steps, 1):
            ids[ends[index] - step] = pieces
        joined = np.zeros(len(ids), bool)
        joined[1:] = (ids[1:] == self.unknown) & (ids[:-1] == self.unknown)
        joined[ends - sizes] = False
        return ids[~joined]


def _choose(edge: np.ndarray, limit: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """For each first edge and number in [0, 1) the edge whose share the number falls in."""
    beyond = np.flatnonzero(uniform >= limit[edge])
    while len(beyond):
        edge[beyond] += 1
        beyond = beyond[uniform[beyond] >= limit[edge[beyond]]]
    return edge
