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

    auto: one of transformers' AutoModelFor... classes. names: of its outputs, in the order of their ids. problem:
    `problem_type` of the saved configuration, None where the class has none. targets: those of a batch, padded to a
    width in tokens, as a tensor. loss: of the model's output and these. read: the model's output as what `decode` gets
    of each piece, one row a piece (cut to its tokens if per_token).
    """

    auto: Any
    names: tuple[str, ...]
    problem: str | None
    targets: Callable[[list, int], torch.Tensor]
    loss: Callable[[Any, torch.Tensor], torch.Tensor]
    read: Callable[[Any], torch.Tensor]
    per_token: bool


def a_label_per_token(names: Sequence[str]) -> Head:
    """Targets: a label id a token, IGNORED where none is learned. Answers: the likeliest label id a token."""
    return Head(
        AutoModelForTokenClassification,
        tuple(names),
        None,
        _padded,
        lambda output, targets: functional.cross_entropy(output.logits.flatten(0, 1).float(), targets.flatten()),
        lambda output: output.logits.argmax(-1),
        per_token=True,
    )


def a_label_per_token_and_type(names: Sequence[str], num_layers: int) -> Head:
    """So many classifiers side by side in one linear map; `names` are those of the first's tags, then the second's...

    Targets: a row of tag ids, one a layer, for each token. Answers: the same, the likeliest.
    """

    def by_layer(logits: torch.Tensor) -> torch.Tensor:
        return logits.unflatten(-1, (num_layers, len(names) // num_layers))

    return Head(
        AutoModelForTokenClassification,
        tuple(names),
        None,
        lambda rows, width: _padded(rows, width, [IGNORED] * num_layers),
        lambda output, targets: functional.cross_entropy(
            by_layer(output.logits).flatten(0, 2).float(), targets.flatten()
        ),
        lambda output: by_layer(output.logits).argmax(-1),
        per_token=True,
    )


def a_label(names: Sequence[str]) -> Head:
    """Targets: the id of the one right label. Answers: the logits of all."""
    return Head(
        AutoModelForSequenceClassification,
        tuple(names),
        "single_label_classification",
        lambda rows, width: torch.tensor(rows),
        lambda output, targets: functional.cross_entropy(output.logits.float(), targets),
        lambda output: output.logits.float(),
        per_token=False,
    )


def labels(names: Sequence[str], weight: float | None = None) -> Head:
    """Targets: 0 or 1 for each label. Answers: the logits of all. `weight` of a 1 against a 0 in the loss (1)."""
    positive = None if weight is None else torch.tensor(weight)

    def loss(output, targets: torch.Tensor) -> torch.Tensor:
        more = None if positive is None else positive.to(targets.device)
        return functional.binary_cross_entropy_with_logits(output.logits.float(), targets, pos_weight=more)

    return Head(
        AutoModelForSequenceClassification,
        tuple(names),
        "multi_label_classification",
        lambda rows, width: torch.tensor(rows, dtype=torch.float),
        loss,
        lambda output: output.logits.float(),
        per_token=False,
    )


def a_number() -> Head:
    """Targets and answers: one number each; the loss is its squared error."""
    return Head(
        AutoModelForSequenceClassification,
        ("score",),
        "regression",
        lambda rows, width: torch.tensor(rows, dtype=torch.float),
        lambda output, targets: functional.mse_loss(output.logits.squeeze(-1).float(), targets),
        lambda output: output.logits.float(),
        per_token=False,
    )


def a_span() -> Head:
    """Targets: the first and the last token of the answer, twice the first special token's place where there is none.
    Answers: the logits of the two, a token."""

    def loss(output, targets: torch.Tensor) -> torch.Tensor:
        first, last = targets.unbind(-1)
        begins = functional.cross_entropy(output.start_logits.float(), first)
        return (begins + functional.cross_entropy(output.end_logits.float(), last)) / 2

    return Head(
        AutoModelForQuestionAnswering,
        (),
        None,
        lambda rows, width: torch.tensor(rows),
        loss,
        lambda output: torch.stack([output.start_logits, output.end_logits], -1).float(),
        per_token=True,
    )


def _padded(rows: list[list], width: int, filler: int | list[int] = IGNORED) -> torch.Tensor:
    return torch.tensor([row + [filler] * (width - len(row)) for row in rows])


def head_of(spec: HeadSpec) -> Head:
    """The head that a task asks for."""
    makers: dict[str, Callable[[], Head]] = {
        "label_per_token": lambda: a_label_per_token(spec.names),
        "label_per_token_and_type": lambda: a_label_per_token_and_type(spec.names, spec.num_layers),
        "label": lambda: a_label(spec.names),
        "labels": lambda: labels(spec.names, spec.weight),
        "number": a_number,
        "span": a_span,
    }
    return makers[spec.kind]()


def with_probabilities(head: Head, num_layers: int) -> Head:
    """The head, whose answers for a token are label ids and their probabilities: (batch, tokens, layers, 2)."""

    def read(output: Any) -> torch.Tensor:
        by_layer = output.logits.float().unflatten(-1, (num_layers, -1)).softmax(-1)
        probabilities, ids = by_layer.max(-1)
        return torch.stack([ids.float(), probabilities], -1)

    return head._replace(read=read)
