"""Ranks of whole words by masked-language models: every candidate, over as many pieces as a model's vocabulary needs.

Where a word was, k masks are put, and a candidate of k pieces scores the sum of their log-probabilities: one pass for
each k scores all candidates of k pieces. docs/howto/masked_words.md says why.
"""

import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby

import torch

from alibert_common.errors import InputError
from downstream.masked_words.fillers import Filler, Spelling, context_of, spell, surroundings
from downstream.masked_words.questions import Candidates, Question
from downstream.tasks.base import Piece
from downstream.training.loop import collate

TOGETHER = 64  # questions of which all scores are held at a time: 30 MB with 100,000 candidates
LOGITS = 2**24  # values of a batch's output, padding included: 64 MB, some 400 tokens of a vocabulary of 40,000


def cut_to_fit(questions: list[Question], fillers: list[Filler]) -> tuple[list[Question], Counter]:
    """Questions that every model can read whole, the words farthest from the mask left out of those that are too long.

    All models are given the same text, the longest that fits the one with the least room, with as many words on either
    side as there are. Returns, beside them, how many were cut, by source.
    """
    cut: Counter = Counter()
    fitting = []
    for question in questions:
        radius = widest(question, fillers)
        cut[question.source] += radius < question.words_around()
        fitting.append(question.within(radius))
    return fitting, cut


def widest(question: Question, fillers: list[Filler]) -> int:
    """The largest number of words around the mask that fits all models. Raises InputError if not even none does."""

    def too_long(radius: int) -> bool:
        contexts = ((filler, context_of(filler, question.within(radius))) for filler in fillers)
        return any(len(before) + len(after) > filler.room for filler, (before, after) in contexts)

    most = question.words_around()
    if not too_long(most):
        return most
    if too_long(0):
        raise InputError(f"{question.place}: what touches {question.word!r} is too long for the models; add spaces.")
    return bisect.bisect_left(range(1, most + 1), True, key=too_long)


@torch.no_grad()
def answers(
    filler: Filler, questions: list[Question], candidates: Candidates, top: int, advance: Callable[[int], object]
) -> tuple[list[dict], Counter]:
    """For each question the `top` words with scores, and of the expected word rank, score and number of pieces.

    A word's score is that of its best form. The score given is the softmax of all candidates' scores. Ranks count from
    1, words of equal score before the expected one: what a vocabulary spells the same it cannot tell apart. All three
    are None for a word that the model cannot predict. Returns, beside the answers, how many forms it cannot predict, by
    reason, in the place where they are most. `advance` is told how many questions were answered.
    """
    number_of = candidates.number_of()
    places = [surroundings(question) for question in questions]
    order = sorted(range(len(questions)), key=lambda number: (places[number], len(questions[number].sentence)))
    found: list[dict] = [{} for _ in questions]
    never: Counter = Counter()
    for _, group in groupby(order, key=places.__getitem__):
        numbers = list(group)
        spelling = spell(filler, questions[numbers[0]], candidates.forms, candidates.numbers)
        never |= spelling.never
        for start in range(0, len(numbers), TOGETHER):
            chunk = numbers[start : start + TOGETHER]
            scores = scores_of(filler, [questions[number] for number in chunk], spelling, len(candidates.words))
            for number, row in zip(chunk, scores, strict=True):
                expected = number_of[questions[number].word.casefold()]
                pieces = {"expected_pieces": spelling.sizes.get(expected)}
                found[number] = answer(row, expected, candidates.words, top) | pieces
            advance(len(chunk))
    return found, never


def answer(scores: torch.Tensor, expected: int, words: list[str], top: int) -> dict:
    """The answer to one question; `scores` are of all candidates, -inf for those that cannot be predicted."""
    best = scores.topk(min(top, len(words))).indices.tolist()
    shares = scores.softmax(-1)
    possible = scores[expected] > -torch.inf
    return {
        "top": [{"word": words[number], "score": shares[number].item()} for number in best],
        "expected_rank": int((scores >= scores[expected]).sum()) if possible else None,
        "expected_score": shares[expected].item() if possible else None,
    }


def scores_of(filler: Filler, questions: list[Question], spelling: Spelling, num_words: int) -> torch.Tensor:
    """Log-probabilities (questions, words) of all candidates, of each the best form; -inf where there is none."""
    contexts = [context_of(filler, question) for question in questions]
    scores = torch.full((len(questions), num_words), -torch.inf, device=filler.model.device)
    for size, (pieces, numbers) in spelling.by_size.items():
        columns = torch.arange(size, device=pieces.device)
        for row, logarithms in enumerate(mask_logarithms(filler, contexts, size)):
            sums = logarithms[columns, pieces].sum(-1)
            scores[row].scatter_reduce_(0, numbers, sums, "amax")
    return scores


def mask_logarithms(filler: Filler, contexts: list[tuple[list[int], list[int]]], size: int) -> Iterator[torch.Tensor]:
    """For each context the log-probabilities (size, vocabulary) of all pieces at `size` masks, in one pass of them."""
    frame, masks = filler.frame, [filler.tokenizer.mask_token_id] * size
    rows = [[*frame.prefix, *before, *masks, *after, *frame.suffix] for before, after in contexts]
    places = [len(frame.prefix) + len(before) for before, _ in contexts]
    together = max(1, LOGITS // (max(map(len, rows)) * filler.model.config.vocab_size))
    for start in range(0, len(rows), together):
        pieces = [Piece(row, None, number) for number, row in enumerate(rows[start : start + together])]
        logits = filler.model(**collate(pieces, frame.padding, filler.model.device)).logits
        for number, place in enumerate(places[start : start + together]):
            yield logits[number, place : place + size].float().log_softmax(-1)
