"""Questions whose answers stand in a text: first and last token of the answer, over windows of the text (BERT's SQuAD).

Windows overlap by half, so that an answer at the border of one stands whole, with its context, in another. Every window
gives its likeliest spans; a question's answers are the likeliest of all its windows and texts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from alibert_common.errors import InputError
from downstream.data.examples import ReadingQuestion
from downstream.data.readers import READING
from downstream.data.recipe import Recipe
from downstream.metrics import extractive_qa as metrics
from downstream.metrics.sufficient_statistics import Figure, mean_of
from downstream.tasks.base import Chief, Encoded, HeadSpec, Piece, Task
from downstream.tasks.texts import slices

QUESTION = 64  # tokens of a question that are read, as BERT's; what is longer is counted
BEST = 20  # first and last tokens of a window that are looked at, and answers that are kept of a question, as BERT's


@dataclass(frozen=True, kw_only=True)
class ReadingRecipe(Recipe):
    """How answers are found and scored."""

    max_tokens: int = 384  # BERT's for SQuAD: a paragraph and its question
    longest_answer: int = 30  # tokens, as BERT's
    list_threshold: float = 0.42  # of the probability of an answer to a list question; BioBERT's for BioASQ
    language: str = "en"  # whose articles do not count; en is SQuAD's

    readers: ClassVar = READING
    choices: ClassVar = {"language": tuple(metrics.ARTICLES)}

    def check(self, file: Path) -> None:
        super().check(file)
        if self.longest_answer < 1:
            raise InputError(f"{file}: longest_answer is {self.longest_answer}; an answer has 1 token at least.")
        if not 0 <= self.list_threshold <= 1:
            raise InputError(f"{file}: list_threshold is {self.list_threshold}; it is a probability, 0 to 1.")


class QuestionWindow(NamedTuple):
    """Where a piece reads: number of the context, tokens begin to end (excluded) of it; and where these begin in it."""

    context: int
    begin: int
    end: int
    place: int


Found = tuple[float, str]  # a span of a context: the sum of the logits of its two ends, and its text


class Answer(NamedTuple):
    """The likeliest answers, best first, and how probable each is among them and `none`: the texts do not answer."""

    texts: tuple[str, ...]
    probabilities: tuple[float, ...]
    none: float


class ExtractiveAnswers(Task):
    """The span that answers a question, or none; of a list question, all that are likely enough."""

    recipe: ReadingRecipe
    names = ()
    may_be_none = False  # whether texts may leave a question without an answer, as SQuAD 2's
    chiefs: ClassVar = {
        "f1": Chief(("f1",), "token_f1"),
        "exact_match": Chief(("exact_match",), "exact_match"),
        "mean_reciprocal_rank": Chief(("factoids", "mean_reciprocal_rank"), "factoid_reciprocal_rank"),
        "lenient_accuracy": Chief(("factoids", "lenient_accuracy"), "lenient_accuracy"),
        "list_f1": Chief(("lists", "f1"), "list_f1"),
    }
    evaluation: ClassVar = {"f1, exact_match": "SQuAD's, of the first answer", "factoids, lists": "BioASQ's"}

    @property
    def chief_figure(self) -> Figure:
        """SQuAD's figures are in the recipe's language."""
        score = {"f1": metrics.token_f1, "exact_match": metrics.exact_match}.get(self.chief.path[0])
        return mean_of(partial(score, language=self.recipe.language)) if score else super().chief_figure

    def begin(self, items: list[ReadingQuestion]) -> None:
        """Whether a question may have no answer. Raises InputError if no training question has one in its text."""
        self.may_be_none = any(not item.answers for item in items)
        if not any(item.places for item in items):
            raise InputError(f"{self.recipe.task}: no training question has an answer in its text; see the data.")

    def head(self) -> HeadSpec:
        return HeadSpec("span")

    def encode(self, items: list[ReadingQuestion], tokenizer, frame, training: bool) -> Encoded:
        """Pieces placed by a QuestionWindow; notes are, of each item, the characters of every token of each context.

        In training a window has a piece for each answer that stands whole in it, or one that has none.
        """
        split = Encoded(items, [], Counter())
        for number, item in enumerate(items):
            question = tokenizer(item.question, add_special_tokens=False, verbose=False)["input_ids"]
            split.counts["questions cut"] += len(question) > QUESTION
            question = question[:QUESTION]
            size = frame.room(min(self.recipe.max_tokens, frame.longest), pair=True) - len(question)
            if size < 2:
                raise InputError(f"{self.recipe.task}: max_tokens leaves no room beside a question; raise it.")
            split.notes.append([])
            for place, context in enumerate(item.contexts):
                read = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
                split.notes[-1].append(read["offset_mapping"])
                spans = [span[1:] for span in item.places if span[0] == place]
                answers = _on_tokens(spans, read["offset_mapping"])
                for begin, end in slices(len(read["input_ids"]), size, size // 2):
                    ids, types = frame.around(question, read["input_ids"][begin:end])
                    window = QuestionWindow(place, begin, end, len(frame.pair[0]) + len(question) + len(frame.pair[1]))
                    targets = _targets(answers, window)
                    for target in targets if training else targets[:1]:
                        split.pieces.append(Piece(ids, target, number, window, types))
        split.counts["tokens"] = sum(len(piece.ids) for piece in split.pieces)
        split.counts["sequences"] = len(split.pieces)
        return split

    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list[Answer]:
        """The likeliest answers of each question."""
        spans: list[list[Found]] = [[] for _ in encoded.items]
        none: list[list[float]] = [[] for _ in encoded.items]
        for piece, logits in zip(encoded.pieces, outputs, strict=True):
            offsets = encoded.notes[piece.item][piece.place.context]
            text = encoded.items[piece.item].contexts[piece.place.context]
            spans[piece.item] += self._best(logits, piece.place, text, offsets)
            none[piece.item].append(float(logits[0].sum()))  # both ends on the first token: no answer in this window
        return [
            _answer(best, min(nothing, default=0.0) if self.may_be_none else -math.inf)
            for best, nothing in zip(spans, none, strict=True)
        ]

    def _best(
        self, logits: np.ndarray, window: QuestionWindow, text: str, offsets: list[tuple[int, int]]
    ) -> list[Found]:
        """The likeliest spans of a window, none of them longer than the recipe says."""
        own = logits[window.place : window.place + window.end - window.begin]
        firsts, lasts = (np.argsort(-own[:, side], kind="stable")[:BEST].tolist() for side in (0, 1))
        spans = []
        for first, last in product(firsts, lasts):
            if first <= last < first + self.recipe.longest_answer:
                start, end = offsets[window.begin + first][0], offsets[window.begin + last][1]
                if span := text[start:end].strip():
                    spans.append((float(own[first, 0] + own[last, 1]), span))
        return sorted(spans, key=itemgetter(0), reverse=True)[:BEST]

    def score(self, items: list[ReadingQuestion], answers: list[Answer]) -> dict:
        """SQuAD's measures of the first answer to a question, BioASQ's of the first five, and of lists."""
        pairs = [(item, self.given(item, answer)) for item, answer in zip(items, answers, strict=True)]
        single = [(_forms(item), given) for item, given in pairs if not item.is_list]
        several = [(item.answers, given) for item, given in pairs if item.is_list]
        figures = {}
        if single:
            forms, given = zip(*single, strict=True)
            figures = metrics.reading(forms, [(*texts, "")[0] for texts in given], self.recipe.language)
            figures["factoids"] = metrics.factoids(forms, given)
        if several:
            figures["lists"] = metrics.lists(*zip(*several, strict=True))
        return figures

    def given(self, item: ReadingQuestion, answer: Answer) -> tuple[str, ...]:
        """The answers to a question, best first; of a list question those that are likely enough, at least one."""
        if not answer.texts or answer.none > answer.probabilities[0]:
            return ()
        if not item.is_list:
            return answer.texts
        limit = self.recipe.list_threshold
        likely = [text for text, share in zip(answer.texts, answer.probabilities, strict=True) if share >= limit]
        return tuple(likely) or answer.texts[:1]

    def sides(self, item: ReadingQuestion, answer: Answer) -> tuple | None:
        """None for a list question where the chief figure is of others, and the other way round."""
        if not self.is_scored(item):
            return None
        given = self.given(item, answer)
        if item.is_list:
            return item.answers, given
        return _forms(item), given if self.chief.path[0] == "factoids" else (*given, "")[0]

    def is_scored(self, item: ReadingQuestion) -> bool:
        """Whether it is of the kind, list or not, that the chief figure is of."""
        return item.is_list == (self.chief.path[0] == "lists")

    def chosen(self, figures: dict) -> float:
        """The chief one; 0 where none of the few dev_items of a protocol is of its kind."""
        return super().chosen(figures) if self.chief.path[0] in figures else 0.0

    def record(self, item: ReadingQuestion, answer: Answer) -> dict:
        question = {"id": item.id, "text": item.question, "contexts": list(item.contexts)}
        answers = {"gold": [list(forms) for forms in item.answers], "predicted": list(self.given(item, answer))}
        return question | answers | {"probabilities": list(answer.probabilities)}

    def document(self, item: ReadingQuestion) -> str:
        """The question: a text that several are about has no name, so the recipe names the patients of questions."""
        return item.id

    def texts(self, item: ReadingQuestion) -> Iterable[str]:
        """Question and contexts."""
        return [item.question, *item.contexts]

    def describe(self, items: list[ReadingQuestion]) -> dict[str, int]:
        """Questions, those of lists, those without an answer."""
        return {
            "questions": len(items),
            "of lists": sum(item.is_list for item in items),
            "without an answer": sum(not item.answers for item in items),
        }


def _forms(item: ReadingQuestion) -> tuple[str, ...]:
    """What is accepted as its answer."""
    return tuple(form for answer in item.answers for form in answer)


def _on_tokens(spans: Iterable[tuple[int, int]], offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The tokens of each span of characters, first to last (included); a span without a token is left out."""
    inside = (
        [token for token, (first, last) in enumerate(offsets) if first < end and start < last] for start, end in spans
    )
    return [(tokens[0], tokens[-1]) for tokens in inside if tokens]


def _targets(answers: list[tuple[int, int]], window: QuestionWindow) -> list[tuple[int, int]]:
    """First and last token, in the piece, of each answer that stands whole in the window; (0, 0) if none does."""
    shift = window.place - window.begin
    whole = [(first, last) for first, last in answers if window.begin <= first and last < window.end]
    return [(first + shift, last + shift) for first, last in whole] or [(0, 0)]


def _answer(spans: list[Found], none: float) -> Answer:
    """The best of each text (letters' case apart), with softmax probabilities among them and none."""
    best: dict[str, Found] = {}
    for logit, text in sorted(spans, key=itemgetter(0), reverse=True):
        best.setdefault(text.casefold(), (logit, text))
    kept = list(best.values())[:BEST]
    logits = np.array([logit for logit, _ in kept] + [none])
    shares = np.exp(logits - logits.max()) if np.isfinite(logits).any() else np.ones(1)
    shares = (shares / shares.sum()).tolist()
    return Answer(tuple(text for _, text in kept), tuple(shares[:-1]), shares[-1])
