"""Was a document, or a patient, in the training text? The likelihood ratio with a reference model.

The loss of a document is the mean cross-entropy over masked places, in nats, of several maskings of 15 % of its
tokens. The simple score of the audited model is its loss, with the sign changed. The calibrated one is the loss of the
reference, less that of the audited model. Source: Mireshghallah et al. 2022, arXiv 2203.03929. The standardised one is
the calibrated one times the square root of the number of masked places: a short document is never a sure case.
The score of a patient is the mean over the documents, weighted by their masked places.
Shapes: N documents, P patients, K maskings.
"""

from collections.abc import Sequence

import numpy as np

from alibert_fairseq.audit.rates import Separation, separation
from alibert_fairseq.audit.texts import Text
from alibert_fairseq.audit.word_scores import WordScorer

SHARE = 0.15  # of the tokens that a masking takes


def maskings_of(rows: Sequence[np.ndarray], special: np.ndarray, maskings: int, generator: np.random.Generator) -> list:
    """(row, places) for each of K maskings of each row, without special tokens; rows without any other have none."""
    found = []
    for row in rows:
        candidates = np.flatnonzero(~np.isin(row, special))
        number = max(1, round(SHARE * len(candidates)))
        for _ in range(maskings if len(candidates) else 0):
            found.append((row, np.sort(generator.choice(candidates, number, replace=False))))
    return found


def losses(
    scorer: WordScorer, texts: Sequence[Text], special: np.ndarray, maskings: int, seed: int, first: int = 0
) -> np.ndarray:
    """(N, 2): the sum of the losses of each document in nats, and the number of masked places.

    special: the ids that are never masked. first: the number of the first text. The maskings depend on seed and number.
    """
    cases, owners = [], list[int]()
    for number, text in enumerate(texts):
        own = maskings_of(text.rows, special, maskings, np.random.default_rng((seed, 4, first + number)))
        cases += own
        owners += [number] * len(own)
    sums = np.zeros((len(texts), 2))
    rows, places = [row for row, _ in cases], [chosen for _, chosen in cases]
    for owner, found in zip(owners, scorer.losses(rows, places), strict=True):
        sums[owner] += found.sum(), len(found)
    return sums


def attack(
    audited: np.ndarray, reference: np.ndarray, members: np.ndarray, patients: np.ndarray, seed: int
) -> dict[str, Separation]:
    """The separation by the simple, the calibrated and the standardised score, of documents and of patients.

    audited, reference: (N, 2) of `losses`; members: (N,) bool; patients: (N,). `control` is the simple score of the
    reference, which has read none of the documents.
    """
    found = {}
    for unit, groups in (("document", np.arange(len(patients))), ("patient", patients)):
        keys, first, owners = np.unique(groups, return_index=True, return_inverse=True)
        means = []
        for model in (audited, reference):
            sums = np.stack([np.bincount(owners, model[:, column], len(keys)) for column in (0, 1)])
            means.append(sums[0] / np.maximum(sums[1], 1))
        mine, theirs = means
        side, people, root = members[first], patients[first], np.sqrt(sums[1])  # of the same places in both models
        scores = {"simple": -mine, "calibrated": theirs - mine, "standardised": (theirs - mine) * root}
        for name, score in (scores | {"control": -theirs}).items():
            found[f"{unit}, {name}"] = separation(score, side, people, seed)
    return found
