"""What the tagger decides: equal words of a document share their scores, then the CRF reads each sequence.

A leaflet names its medicine a hundred times, and a letter its diagnosis. Where one sentence says what the word is, the
others need not (Krishnan and Manning 2006 learn this from labels; here the scores are averaged).
"""

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from downstream.data.word_features import LOWER
from downstream.learners.chain_crf import ChainCrf
from downstream.tasks.base import Piece

SEQUENCES = 64  # that the CRF reads at a time


@torch.no_grad()
def decide(
    crf: ChainCrf, pieces: list[Piece], scores: list[np.ndarray], share: float, probabilities: bool = False
) -> list:
    """The likeliest tags of each piece, (tokens, L, 1), or with their probabilities, (tokens, L, 2).

    scores: of each piece, (tokens, L, K), of which only those at the first tokens of words count. The result is 0 at
    other tokens. Pieces with one `item` are a document. share: see `in_documents`.
    """
    of_words = in_documents(pieces, [rows[p.beside.first] for p, rows in zip(pieces, scores, strict=True)], share)
    found = [np.zeros((*rows.shape[:2], 1 + probabilities), dtype=np.float32) for rows in scores]
    order = sorted((number for number, rows in enumerate(of_words) if len(rows)), key=lambda n: len(of_words[n]))
    for start in range(0, len(order), SEQUENCES):
        some = order[start : start + SEQUENCES]
        device = crf.transitions.device
        batch = pad_sequence([torch.from_numpy(of_words[number]) for number in some], batch_first=True).to(device)
        real = pad_sequence([torch.ones(len(of_words[number]), dtype=torch.bool) for number in some], batch_first=True)
        continues = torch.from_numpy(np.concatenate([pieces[number].beside.continues for number in some])).to(device)
        sequences = batch, real.to(device), continues
        tags = crf.best(*sequences)
        values = [tags.float()]
        if probabilities:
            values.append(crf.probabilities(*sequences).gather(-1, tags.unsqueeze(-1)).squeeze(-1))
        for number, rows in zip(some, torch.stack(values, -1).cpu().numpy(), strict=True):
            found[number][pieces[number].beside.first] = rows[: len(of_words[number])]
    return found


def in_documents(pieces: list[Piece], scores: list[np.ndarray], share: float) -> list[np.ndarray]:
    """The scores (words, L, K) of each piece. A share of them is the mean over the same word in its document.

    Words are the same if they differ in case only.
    """
    if not pieces:
        return []
    keys = [np.stack([np.full(len(p.beside.first), p.item), p.beside.features[:, LOWER]], 1) for p in pieces]
    _, which, times = np.unique(np.concatenate(keys), axis=0, return_inverse=True, return_counts=True)
    which, flat = which.reshape(-1), np.concatenate(scores)
    sums = np.zeros((len(times), *flat.shape[1:]))
    np.add.at(sums, which, flat)
    means = sums / times.reshape(-1, *[1] * (flat.ndim - 1))
    mixed = (share * means[which] + (1 - share) * flat).astype(np.float32)
    return np.split(mixed, np.cumsum([len(rows) for rows in scores])[:-1])
