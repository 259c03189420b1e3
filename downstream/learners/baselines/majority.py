"""The most frequent answer of training, whatever the question: what a score is worth without reading."""

import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from downstream.data.examples import Candidates
from downstream.learners.baselines.base import Baseline
from downstream.tasks.base import Encoded, Task
from downstream.tasks.extractive_qa import Answer

Rule = Callable[[Any], Any]  # an answer for an item


def _entities(task: Task, items: list) -> Rule:
    """Most words are in no entity, so there is none: F1 is 0. A word's most frequent tag is what `dictionary` has."""
    return lambda item: [[] for _ in item.layers]


def _labels(task: Task, items: list) -> Rule:
    """The most frequent label, or set of labels."""
    answer = _most_frequent(tuple(name for name in task.names if name in item.labels) for item in items)
    return lambda item: answer


def _relation(task: Task, items: list) -> Rule:
    """The most frequent label. Where that is the negative one, which scores leave out, F1 is 0."""
    answer = _most_frequent(item.label for item in items)
    return lambda item: answer


def _score(task: Task, items: list) -> Rule:
    """The mean, which has the least squared error; a constant has no correlation."""
    answer = statistics.fmean(item.score for item in items)
    return lambda item: answer


def _places(task: Task, items: list) -> Rule:
    """The candidates at the places that are most often the right ones together."""
    places = _most_frequent(tuple(sorted(item.right)) for item in items)
    return lambda item: [1.0 if place in places else -1.0 for place in range(len(item.candidates))]


def _given_order(task: Task, items: list) -> Rule:
    """Candidates as they are listed, which is worth something in files that list the right one first."""

    def ranked(item: Candidates) -> list[float]:
        return [-float(place) for place in range(len(item.candidates))]

    return ranked


def _quoted(task: Task, items: list) -> Rule:
    """The most frequent answer, or none."""
    text = _most_frequent(item.answers[0][0] if item.answers else "" for item in items)
    answer = Answer((text,), (1.0,), 0.0) if text else Answer((), (), 1.0)
    return lambda item: answer


RULES = {
    "ner": _entities,
    "classification": _labels,
    "relations": _relation,
    "similarity": _score,
    "choice": _places,
    "ranking": _given_order,
    "extractive_qa": _quoted,
}


def _most_frequent(values: Iterable[Hashable]) -> Any:
    """Of equals the one met first."""
    return Counter(values).most_common(1)[0][0]


class Majority(Baseline):
    """One answer for all items."""

    name = "majority"

    def learn(self, train: Encoded, dev: Encoded) -> None:
        self.rule = RULES[self.task.recipe.kind](self.task, train.items)

    def answer(self, encoded: Encoded) -> list:
        """The same for all items."""
        return [self.rule(item) for item in encoded.items]

    @property
    def num_parameters(self) -> int:
        """None: it weighs nothing."""
        return 0
