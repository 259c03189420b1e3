"""The heads of the task families: transformers' own classes, so a fine-tuned folder loads in its pipelines."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from downstream.tasks.base import IGNORED, HeadSpec


class Head(NamedTuple):
    """What is put on the encoder, and how it learns.

    auto: one of transformers' AutoModelFor... classes. loss: of the model's output and the targets of a batch. names:
    of its outputs, in the order of their ids. problem: `problem_type` of the saved configuration, None where the class
    has none. targets: those of a batch, padded to a width in tokens, as a tensor. read: the model's output as what
    `decode` gets of each piece, one row a piece (cut to its tokens if per_token).
    """

    auto: Any
    loss: Callable[[Any, torch.Tensor], torch.Tensor]
    names: tuple[str, ...] = ()
    problem: str | None = None
    targets: Callable[[list, int], torch.Tensor] = lambda rows, width: torch.tensor(rows)
    read: Callable[[Any], torch.Tensor] = lambda output: output.logits.float()
    per_token: bool = False


def a_label_per_token(names: Sequence[str], num_layers: int = 1) -> Head:
    """Targets: for each token a row of label ids, one a layer; IGNORED where none is learned. Answers: the likeliest.

    The classifiers of the layers are side by side in one linear map. `names` are those of the first one's tags, then
    the second's...
    """
    ignored = [[IGNORED] * num_layers]

    def by_layer(output: Any) -> torch.Tensor:
        return output.logits.unflatten(-1, (num_layers, -1))

    return Head(
        AutoModelForTokenClassification,
        lambda output, targets: functional.cross_entropy(by_layer(output).flatten(0, -2).float(), targets.flatten()),
        tuple(names),
        targets=lambda rows, width: torch.tensor([row + ignored * (width - len(row)) for row in rows]),
        read=lambda output: by_layer(output).argmax(-1),
        per_token=True,
    )


def a_label(names: Sequence[str]) -> Head:
    """Targets: the id of the one right label. Answers: the logits of all."""
    return Head(
        AutoModelForSequenceClassification,
        lambda output, targets: functional.cross_entropy(output.logits.float(), targets),
        tuple(names),
        "single_label_classification",
    )


def labels(names: Sequence[str], weight: float | None = None) -> Head:
    """Targets: 0 or 1 for each label. Answers: the logits of all. `weight` of a 1 against a 0 in the loss (1)."""

    def loss(output: Any, targets: torch.Tensor) -> torch.Tensor:
        positive = None if weight is None else torch.tensor(weight, device=targets.device)
        return functional.binary_cross_entropy_with_logits(output.logits.float(), targets, pos_weight=positive)

    kind = AutoModelForSequenceClassification
    return Head(kind, loss, tuple(names), "multi_label_classification", targets=_numbers)


def a_number() -> Head:
    """Targets and answers: one number each; the loss is its squared error."""
    return Head(
        AutoModelForSequenceClassification,
        lambda output, targets: functional.mse_loss(output.logits.squeeze(-1).float(), targets),
        ("score",),
        "regression",
        targets=_numbers,
    )


def _numbers(rows: list, width: int) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float)


def a_span() -> Head:
    """Targets: the first and the last token of the answer, twice the first special token's place where there is none.
    Answers: the logits of the two for each token."""

    def loss(output: Any, targets: torch.Tensor) -> torch.Tensor:
        first, last = targets.unbind(-1)
        begins = functional.cross_entropy(output.start_logits.float(), first)
        return (begins + functional.cross_entropy(output.end_logits.float(), last)) / 2

    return Head(
        AutoModelForQuestionAnswering,
        loss,
        read=lambda output: torch.stack([output.start_logits, output.end_logits], -1).float(),
        per_token=True,
    )


def head_of(spec: HeadSpec) -> Head:
    """The head that a task asks for."""
    makers: dict[str, Callable[[], Head]] = {
        "label_per_token": lambda: a_label_per_token(spec.names, spec.num_layers),
        "label": lambda: a_label(spec.names),
        "labels": lambda: labels(spec.names, spec.weight),
        "number": a_number,
        "span": a_span,
    }
    return makers[spec.kind]()


def with_probabilities(head: Head, num_layers: int) -> Head:
    """The head, whose answers for a token are label ids and their probabilities: (batch, tokens, layers, 2)."""

    def read(output: Any) -> torch.Tensor:
        probabilities, ids = output.logits.float().unflatten(-1, (num_layers, -1)).softmax(-1).max(-1)
        return torch.stack([ids.float(), probabilities], -1)

    return head._replace(read=read)
