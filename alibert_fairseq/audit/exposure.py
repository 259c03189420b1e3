"""How far a model prefers the secret of a canary to other secrets of its kind (Carlini et al. 2019, section 4.2).

The exposure of a secret is log2 of the number of candidates, less log2 of its rank among them, the secret included.
The candidates are drawn as the secret was. All tokens of a secret are masked together, and its score is the mean of
their log-probabilities. A model that never read the secret ranks it at random, at 1.44 bits in the mean.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

from alibert_common.errors import InputError
from alibert_fairseq.audit.word_scores import WordScorer
from preprocess.canaries.canaries import Canary
from preprocess.canaries.secrets import draw_secret

CANDIDATES = 511  # an exposure is 9 bits at most
CHANCE = 1 / np.log(2)  # bits: the mean of -log2 of a uniform number


class Encoded(NamedTuple):
    """A sentence with a secret: its ids, <s> and </s> included, and the places of the secret's tokens."""

    ids: list[int]
    places: list[int]


@dataclass(frozen=True)
class Probe:
    """A canary and its candidates, the canary itself first."""

    canary: Canary
    encoded: list[Encoded]


def probes_of(canaries: Sequence[Canary], tokenizer: Tokenizer, begin: int, end: int, seed: int) -> list[Probe]:
    """The probes of canaries. begin, end: the ids of <s> and </s>. Canaries of one sentence share their candidates."""
    pools: dict[str, list[Encoded]] = {}
    for number, sentence in enumerate(dict.fromkeys(canary.sentence for canary in canaries)):
        generator = np.random.default_rng((seed, 2, number))
        same = [canary for canary in canaries if canary.sentence == sentence]
        secrets = [draw_secret(same[0].kind, generator) for _ in range(CANDIDATES)]
        pools[sentence] = _encoded(sentence, [*(canary.secret for canary in same), *secrets], tokenizer, begin, end)
    own = {sentence: iter(pool) for sentence, pool in pools.items()}
    return [Probe(canary, [next(own[canary.sentence]), *pools[canary.sentence][-CANDIDATES:]]) for canary in canaries]


def _encoded(sentence: str, secrets: Sequence[str], tokenizer: Tokenizer, begin: int, end: int) -> list[Encoded]:
    """A sentence with each of the secrets."""
    first, found = sentence.index("{}"), list[Encoded]()
    texts = tokenizer.encode_batch([sentence.format(secret) for secret in secrets], add_special_tokens=False)
    for secret, text in zip(secrets, texts, strict=True):
        last = first + len(secret)
        places = [place for place, (start, stop) in enumerate(text.offsets, 1) if start < last and stop > first]
        found.append(Encoded([begin, *text.ids, end], places))
    return found


def exposures(scorer: WordScorer, probes: Sequence[Probe]) -> np.ndarray:
    """(probes,) bits. Where candidates have the score of the secret, it stands behind them.

    Raises InputError for a canary that is longer than what the model reads.
    """
    found = np.empty(len(probes))
    for number, probe in enumerate(probes):
        if (longest := max(len(one.ids) for one in probe.encoded)) > scorer.longest:
            raise InputError(
                f"{probe.canary.id}: has up to {longest} tokens, and the model reads {scorer.longest}; audit a model "
                "with more --max-positions, or a data-bin without canaries."
            )
        scores = _scores(scorer, probe.encoded)
        rank = int((scores[1:] >= scores[0]).sum()) + 1
        found[number] = np.log2(len(scores)) - np.log2(rank)
    return found


def _scores(scorer: WordScorer, encoded: Sequence[Encoded]) -> np.ndarray:
    """The score of each sentence. Those of one length differ at masked places alone, so one of them answers for all."""
    groups, scores = defaultdict[tuple, list[int]](list), np.empty(len(encoded))
    for number, one in enumerate(encoded):
        groups[len(one.ids), tuple(one.places)].append(number)
    firsts = [encoded[numbers[0]] for numbers in groups.values()]
    likely = scorer.log_probabilities([np.array(one.ids) for one in firsts], [np.array(one.places) for one in firsts])
    for of_group, numbers in zip(likely.split([len(one.places) for one in firsts]), groups.values(), strict=True):
        rows = torch.tensor([[encoded[number].ids[place] for place in encoded[number].places] for number in numbers])
        scores[numbers] = of_group[torch.arange(rows.shape[1]), rows].double().mean(-1).numpy()
    return scores
