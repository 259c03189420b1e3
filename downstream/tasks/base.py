"""What a family of tasks has to say for itself, so that one loop trains, one command scores, and one report shows all.

The way of an item (an annotated document, a labelled text, a question): `read` from files, `encode`d to what the model
reads, the model's outputs `decode`d to an answer an item, answers `score`d against the items.
"""

import functools
import operator
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from downstream.data.task_items import TaskItems
from downstream.metrics.sufficient_statistics import Figure, figure

IGNORED = -100  # PyTorch's cross_entropy passes over this label


@dataclass
class Piece:
    """What the model reads at once: token ids, special tokens included; their types (None: all 0); what its loss is
    computed against; the number of its item; what `decode` needs to know of its place there; and what a stronger
    form reads beside the ids (learners/tagger.py, learners/bi_encoder.py)."""

    ids: list[int]
    target: Any
    item: int
    place: Any = None
    types: list[int] | None = None
    beside: Any = None

    @property
    def num_tokens(self) -> int:
        """All tokens that the encoder reads of it."""
        return len(self.ids) + len(getattr(self.beside, "ids", ()))


@dataclass
class Encoded:
    """A split as a model reads it. `notes` is the task's own, for `decode`; `counts` what was met on the way; `epoch`,
    the pieces of an epoch of training where it is not each piece once."""

    items: list
    pieces: list[Piece]
    counts: Counter
    notes: list = field(default_factory=list)
    epoch: int | None = None


class HeadSpec(NamedTuple):
    """The head that a task needs; training/heads.py builds it.

    kind: a name in training/heads.py. names: of the outputs, in the order of their ids. num_layers: classifiers side by
    side, each with an equal share of the names. weight: of a 1 against a 0 in the loss (None: 1).
    """

    kind: str
    names: tuple[str, ...] = ()
    num_layers: int = 1
    weight: float | None = None


class Chief(NamedTuple):
    """The figure that chooses the best epoch, seed and setting; higher is better.

    path: where it stands in a task's figures. tally: its name in
    metrics/sufficient_statistics.py, for intervals and comparisons.
    """

    path: tuple[str, ...]
    tally: str


class Task(TaskItems):
    """One data set of a family; built from its recipe.

    names: what its head tells apart, in the order of ids. counted: the labels that its chief figure is made of.
    evaluation: how figures are made, for readers of metrics.json.
    """

    chiefs: ClassVar[dict[str, Chief]]  # by the name that a recipe's `figure` has for them; the first is the default
    names: tuple[str, ...]
    counted: tuple[str, ...] = ()
    evaluation: ClassVar[dict[str, str]]

    @property
    def chief(self) -> Chief:
        """The recipe's, or the family's."""
        return self.chiefs[self.recipe.figure or next(iter(self.chiefs))]

    @property
    def metric_name(self) -> str:
        return " ".join(self.chief.path)

    @property
    def chief_figure(self) -> Figure:
        """As tallies add up to it."""
        return figure(self.chief.tally, self.counted)

    @abstractmethod
    def begin(self, items: list) -> None:
        """See the training items, before anything is encoded. Raises InputError if they hold nothing to learn."""

    @abstractmethod
    def head(self) -> HeadSpec:
        """Once training has begun, or `names` been set to those of a fine-tuned model."""

    @abstractmethod
    def encode(self, items: list, tokenizer, frame, training: bool) -> Encoded:
        """As many pieces as the items need: nothing is cut off in silence."""

    @abstractmethod
    def decode(self, encoded: Encoded, outputs: Sequence[np.ndarray]) -> list:
        """An answer an item, from the model's outputs for each piece."""

    @abstractmethod
    def score(self, items: list, answers: list) -> dict:
        """Figures, in dictionaries by name."""

    @abstractmethod
    def sides(self, item: Any, answer: Any) -> tuple[Any, Any] | None:
        """Gold and predicted of an item as the chief's tally takes them; None if the chief figure is not of it."""

    def tallies(self, items: list, answers: list) -> list[list[float] | None]:
        """Each item's part of the chief figure, which sums of these give (metrics/sufficient_statistics.py)."""
        tally = self.chief_figure.tally
        sides = [self.sides(*pair) for pair in zip(items, answers, strict=True)]
        return [pair and list(map(float, tally(*pair))) for pair in sides]

    @abstractmethod
    def record(self, item: Any, answer: Any) -> dict:
        """An item with gold and predicted, for readers of predictions.jsonl."""

    def unseen(self, items: list) -> tuple[int, int]:
        """How many annotations have a label that training has not, which no model can answer; of how many."""
        return 0, 0

    def unseen_labels(self, items: list) -> str:
        """A sentence on annotations that no model can answer, once the task has begun; empty if there are none."""
        unseen, total = self.unseen(items)
        return f"{unseen} of {total} entities have a label that training has not" if unseen else ""

    def chosen(self, figures: Any) -> float:
        """The chief one."""
        return functools.reduce(operator.getitem, self.chief.path, figures)
