"""Heads: the losses are transformers' own, one classifier a type is a loop over the types."""

import pytest
import torch
from tiny_models import write_electra, write_roberta
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput, TokenClassifierOutput

from downstream.tasks.base import IGNORED
from downstream.training.heads import a_label, a_label_per_token, a_number, a_span, labels
from downstream.training.models import load_model

IDS = torch.tensor([[0, 7, 8, 9, 2], [0, 9, 2, 1, 1], [0, 8, 8, 2, 1]])
BATCH = {"input_ids": IDS, "attention_mask": (IDS != 1).long()}
WIDTH = IDS.shape[1]
TOKENS = [[IGNORED, 1, 2, 0, IGNORED], [IGNORED, 2, IGNORED], [IGNORED, 0, 1, IGNORED]]


@pytest.fixture(scope="module", params=[write_roberta, write_electra])
def folder(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("model"))


@pytest.fixture
def loaded(folder):
    """A function: the model with a head, large random weights in it."""

    def load(head):
        torch.manual_seed(2)
        model = load_model(folder, head, random_init=False).eval()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if not name.startswith(model.base_model_prefix):
                    weight.normal_(0, 3)
        return model

    return load


@pytest.mark.parametrize(
    "head, rows, own",
    [
        (a_label(["a", "b", "c"]), [2, 0, 1], {"labels": torch.tensor([2, 0, 1])}),
        (
            labels(["a", "b", "c"]),
            [[1, 0, 1], [0, 0, 0], [0, 1, 0]],
            {"labels": torch.tensor([[1.0, 0, 1], [0, 0, 0], [0, 1, 0]])},
        ),
        (a_number(), [0.5, 4.0, -1.0], {"labels": torch.tensor([0.5, 4.0, -1.0])}),
        (
            a_label_per_token(["O", "B-x", "I-x"]),
            [[[label] for label in row] for row in TOKENS],
            {"labels": torch.tensor([row + [IGNORED] * (WIDTH - len(row)) for row in TOKENS])},
        ),
        (
            a_span(),
            [[1, 3], [0, 0], [2, 2]],
            {"start_positions": torch.tensor([1, 0, 2]), "end_positions": torch.tensor([3, 0, 2])},
        ),
    ],
    ids=["single label", "multi-label", "regression", "token classification", "question answering"],
)
def test_the_loss_is_transformers_own(loaded, head, rows, own):
    model = loaded(head)
    theirs = model(**BATCH, **own).loss
    ours = head.loss(model(**BATCH), head.targets(rows, WIDTH))
    assert torch.allclose(ours, theirs, rtol=1e-6) and theirs > 0.1
    theirs.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    head.loss(model(**BATCH), head.targets(rows, WIDTH)).backward()
    for name, weight in model.named_parameters():
        assert name not in expected or torch.allclose(weight.grad, expected[name], rtol=1e-4, atol=1e-6), name


def test_what_is_read_of_the_output(loaded):
    for head, read in [
        (a_label(["a", "b", "c"]), lambda output: output.logits),
        (labels(["a", "b"]), lambda output: output.logits),
        (a_number(), lambda output: output.logits),
        (a_label_per_token(["O", "B-x", "I-x"]), lambda output: output.logits.argmax(-1, keepdim=True)),
        (a_span(), lambda output: torch.stack([output.start_logits, output.end_logits], -1)),
    ]:
        output = loaded(head)(**BATCH)
        assert torch.equal(head.read(output), read(output))
        assert head.read(output).shape[:2] == (IDS.shape if head.per_token else (3, max(1, len(head.names))))


def test_a_right_label_can_weigh_more_than_a_wrong_one():
    logits, targets = torch.randn(4, 3), torch.randint(0, 2, (4, 3)).float()
    output = SequenceClassifierOutput(logits=logits)
    right = -functional.logsigmoid(logits) * targets
    wrong = -functional.logsigmoid(-logits) * (1 - targets)
    for weight in (1.0, 5.0):
        assert torch.allclose(labels("abc", weight).loss(output, targets), (weight * right + wrong).mean())
    assert torch.equal(labels("abc").loss(output, targets), labels("abc", 1.0).loss(output, targets))


def test_one_classifier_a_type_is_a_loop_over_the_types():
    torch.manual_seed(1)
    names = [f"{kind}/{tag}" for kind in ("anatomy", "substance") for tag in "OBI"]
    head = a_label_per_token(names, 2)
    assert head.names == tuple(names)
    output = TokenClassifierOutput(logits=torch.randn(2, 4, 6))
    rows = [[[IGNORED] * 2, [1, 0], [2, 1], [IGNORED] * 2], [[IGNORED] * 2, [0, 2], [IGNORED] * 2]]
    targets = head.targets(rows, 4)
    assert targets.tolist() == [*rows[:1], [*rows[1], [IGNORED] * 2]]
    losses = []
    for kind in range(2):
        logits, wanted = output.logits[..., 3 * kind : 3 * kind + 3], targets[..., kind]
        assert torch.equal(head.read(output)[..., kind], logits.argmax(-1))
        losses.append(functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=IGNORED))
    assert torch.allclose(head.loss(output, targets), sum(losses) / 2)
