"""TF-IDF vectors of texts, and how much two texts have in common."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from alibert_common.errors import InputError
from downstream.tasks.texts import Pair

WORD = r"\w+|[^\w\s]"  # signs too: a mention that is marked or replaced stands between some
# Words and pairs of words; stretches of letters inside words, which inflections and misspellings share.
VIEWS = {"word": (1, 2), "char_wb": (2, 5)}
SETTINGS = {"tfidf": {"views": VIEWS, "sublinear_tf": True, "lowercase": True, "word": WORD}}
NONE = np.zeros(0, dtype=np.int32)
MOST = 2**31 - 1  # numbers of terms: two terms of a corpus hardly ever share one


class View:
    """One kind of terms. known: (F,) sorted numbers of those in use (MurmurHash3); idf: (F,) their weights."""

    def __init__(self, name: str, known: np.ndarray = NONE, idf: np.ndarray = NONE):
        pattern = WORD if name == "word" else None
        self.hashing = HashingVectorizer(
            analyzer=name,
            ngram_range=VIEWS[name],
            token_pattern=pattern,
            n_features=MOST,
            alternate_sign=False,
            norm=None,
        )
        self.known, self.idf = known, idf

    def fit(self, texts: list[str], fewest: int) -> "View":
        """From the terms that occur in so many of these texts."""
        numbers, times = np.unique(self.hashing.transform(texts).indices, return_counts=True)
        self.known = numbers[times >= fewest]
        self.idf = np.log((1 + len(texts)) / (1 + times[times >= fewest])) + 1  # scikit-learn's
        return self

    def transform(self, texts: list[str]) -> sparse.csr_matrix:
        """(texts, F): counts are damped (1 + log) and weighted; rows have length 1, or 0."""
        found = self.hashing.transform(texts).tocoo()
        place = np.searchsorted(self.known, found.col)
        kept = np.append(self.known, -1)[place] == found.col
        shape = (found.shape[0], len(self.known))
        rows = sparse.csr_matrix((found.data[kept], (found.row[kept], place[kept])), shape=shape)
        rows.data = (1 + np.log(rows.data)) * self.idf[rows.indices]
        return normalize(rows, copy=False) if len(self.known) else rows


class Tfidf:
    """Vocabulary and weights come from the texts it is fitted on; what else a text has is passed over.

    Counts are damped (1 + log), so that a long text is not ruled by the word it repeats. Rows have length 1 in a view.
    """

    def __init__(self, views: list[View] | None = None):
        self.views = views or [View(name) for name in VIEWS]

    def fit(self, pairs: list[Pair], fewest: int = 1) -> "Tfidf":
        """fewest: texts that a term occurs in. Raises InputError for texts without a word."""
        texts = [text for pair in pairs for text in pair if text]
        if not any(map(str.strip, texts)):
            raise InputError("no training text has a word; check the recipe's columns.")
        for view in self.views:
            view.fit(texts, fewest)
        return self

    def vectors(self, texts: list[str]) -> list[sparse.csr_matrix]:
        """(texts, features) of each view."""
        return [view.transform(texts) for view in self.views]

    def sides(self, pairs: list[Pair]) -> list[list[sparse.csr_matrix]]:
        """The same of the first texts and of the second ones."""
        return [self.vectors([pair[side] or "" for pair in pairs]) for side in (0, 1)]


def cosines(first: list[sparse.csr_matrix], second: list[sparse.csr_matrix]) -> np.ndarray:
    """(pairs, views): rows have length 1, or 0."""
    return np.column_stack([np.asarray(a.multiply(b).sum(axis=1)) for a, b in zip(first, second, strict=True)])


def overlaps(pairs: list[Pair]) -> np.ndarray:
    """(pairs, 4): words that both texts have as a share of those of either, of the first's and of the second's; and
    the ratio of the shorter one's number of words to the longer one's."""
    rows = []
    for first, second in pairs:
        one, other = set(first.lower().split()), set((second or "").lower().split())
        shared, sizes = len(one & other), sorted((len(one), len(other)))
        rows.append([shared / max(total, 1) for total in (len(one | other), len(one), len(other))])
        rows[-1].append(sizes[0] / max(sizes[1], 1))
    return np.array(rows)
