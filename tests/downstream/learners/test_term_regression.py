"""The regression over TF-IDF, against scikit-learn with a vocabulary of words."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from alibert_common.errors import InputError
from downstream.learners import term_regression
from downstream.learners.baselines.tfidf import VIEWS, WORD, Tfidf
from downstream.learners.term_regression import STRENGTH, SURE, TermRegression

TEXTS = ["Le foie, le foie !", "douleur du rein", "rein et foie", "Une douleur du coeur du patient"]
OTHERS = ["le foie du patient", "rien de connu : zzz", ""]
TARGETS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 1, 0]])


def by_vocabulary(texts: list[str]) -> list[sparse.csr_matrix]:
    """Of each view, as scikit-learn has it with a vocabulary of the TEXTS."""
    patterns = {"word": WORD, "char_wb": None}
    return [
        TfidfVectorizer(analyzer=name, ngram_range=sizes, sublinear_tf=True, token_pattern=patterns[name])
        .fit(TEXTS)
        .transform(texts)
        for name, sizes in VIEWS.items()
    ]


def in_pairs(texts: list[str]) -> list[tuple[str, None]]:
    return [(text, None) for text in texts]


def test_numbers_in_place_of_terms_change_no_vector():
    made = Tfidf().fit(in_pairs(TEXTS))
    for texts in (TEXTS, OTHERS):
        for mine, other in zip(made.vectors(texts), by_vocabulary(texts), strict=True):
            assert mine.shape == other.shape
            assert np.sort(mine.toarray()) == pytest.approx(np.sort(other.toarray()))
        mine, other = (
            [rows @ known.T for rows, known in zip(*pair, strict=True)]
            for pair in ((made.vectors(texts), made.vectors(TEXTS)), (by_vocabulary(texts), by_vocabulary(TEXTS)))
        )
        for found, expected in zip(mine, other, strict=True):  # cosines do not depend on the order of the terms
            assert found.toarray() == pytest.approx(expected.toarray())


@pytest.fixture
def every_term(monkeypatch):
    """Also those of a single text."""
    monkeypatch.setattr(term_regression, "FEWEST", 1)


def test_it_is_scikit_learns_regression_of_each_label(every_term):
    made = TermRegression.fitted(in_pairs(TEXTS), TARGETS)
    rows, others = (sparse.hstack(by_vocabulary(texts)) for texts in (TEXTS, OTHERS))
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000).fit(rows, TARGETS[:, 0])
    found = made.logits(in_pairs(OTHERS))
    assert found[:, 0] == pytest.approx(model.decision_function(others), abs=1e-3)
    assert found[:, 1:].tolist() == [[SURE, -SURE]] * 3  # a label of every text, and one of none


def test_terms_of_fewer_than_five_texts_are_in_no_folder():
    texts = ["le foie", "le rein"] * 4 + ["le foie de Dupontel"]
    made = TermRegression.fitted(in_pairs(texts), np.eye(2)[[0, 1] * 4 + [0]])
    hashing = Tfidf().views[0].hashing
    known = {*made.tfidf.views[0].known}
    numbers = {word: hashing.transform([word]).indices[0] for word in ("le", "foie", "rein", "dupontel")}
    assert {word for word, number in numbers.items() if number in known} == {"le", "foie"}
    few = TermRegression.fitted(in_pairs(TEXTS), TARGETS)
    assert few.state()["regression.weights"].shape == (3, 0)
    assert few.logits(in_pairs(OTHERS)).tolist() == [[0, SURE, -SURE]] * 3


def test_what_is_saved_gives_its_logits_again(every_term):
    made = TermRegression.fitted([("le foie", "le rein"), ("le coeur", None)], np.eye(2))
    state = made.state()
    again = TermRegression.of(state)
    asked = [("le foie", "et rein"), ("coeur", None)]
    assert again.logits(asked) == pytest.approx(made.logits(asked), abs=1e-5)
    assert again.logits([("le foie", "le rein")]) == pytest.approx(again.logits([("le foie le rein", None)]))
    with pytest.raises(KeyError):
        TermRegression.of({name: part for name, part in state.items() if not name.endswith("idf")})
    with pytest.raises(KeyError, match="differ in number"):
        TermRegression.of(state | {"regression.weights": state["regression.weights"][:, 1:]})


def test_texts_without_a_word_are_refused():
    with pytest.raises(InputError, match="no training text has a word"):
        TermRegression.fitted(in_pairs(["", " "]), np.eye(2))
