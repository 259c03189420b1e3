"""The most frequent answer of training, whatever the question: what a score is worth without reading."""

import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from downstream.learners.baselines.base import Baseline
from downstream.tasks.base import Encoded, Task
from downstream.tasks.extractive_qa import Answer


def _rule(task: Task, items: list) -> Callable[[Any], Any]:
    """Gives an answer for an item, whatever it holds, by the training items."""
    match task.recipe.kind:
        case "ner":  # most words are in no entity, so F1 is 0; a word's most frequent tag is what `dictionary` has
            return lambda item: [[] for _ in item.layers]
        case "ranking":  # as they are listed, which is worth something in files that list the right one first
            return lambda item: [-float(place) for place in range(len(item.candidates))]
        case "choice":  # the candidates at the places that are most often the right ones together
            places = _most_frequent(tuple(sorted(item.right)) for item in items)
            return lambda item: [1.0 if place in places else -1.0 for place in range(len(item.candidates))]
        case "classification":  # a label, or a set of labels
            answer = _most_frequent(tuple(name for name in task.names if name in item.labels) for item in items)
        case "relations":  # where that is the negative label, which scores leave out, F1 is 0
            answer = _most_frequent(item.label for item in items)
        case "similarity":  # the mean, which has the least squared error; a constant has no correlation
            answer = statistics.fmean(item.score for item in items)
        case "extractive_qa":  # or none
            text = _most_frequent(item.answers[0][0] if item.answers else "" for item in items)
            answer = Answer((text,), (1.0,), 0.0) if text else Answer((), (), 1.0)
    return lambda item: answer


def _most_frequent(values: Iterable[Hashable]) -> Any:
    """Of equals the one met first."""
    return Counter(values).most_common(1)[0][0]


class Majority(Baseline):
    """One answer for all items."""

    name = "majority"
    num_parameters = 0

    def learn(self, train: Encoded, dev: Encoded) -> None:
        self.rule = _rule(self.task, train.items)

    def answer(self, encoded: Encoded) -> list:
        """The same for all items."""
        return [self.rule(item) for item in encoded.items]
