"""What the optimizers refuse in one sentence: values that cannot be, weights without layers, the state of others."""

import numpy as np
import pytest
import torch
from optim_helpers import build, gradients, parameters, trained, values

from alibert_fairseq.optim.adam import parse_betas

REFUSED = [
    (torch.float16, ["--fp16"], "--fp16-no-flatten-grads"),
    (torch.float16, ["--bf16", "--memory-efficient-bf16"], "--bf16-autocast"),
    (torch.bfloat16, ["--bf16", "--memory-efficient-bf16"], "--bf16-autocast"),
]


@pytest.mark.parametrize("optimizer", ["lamb", "alibert_adam", "muon"])
@pytest.mark.parametrize("dtype, words, remedy", REFUSED)
def test_weights_without_layers_or_without_float32_are_refused(optimizer, dtype, words, remedy, monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)  # fairseq flattens for a GPU
    with pytest.raises(SystemExit, match=f"^error: .*{remedy}[^.\n]*\\.$"):
        build(parameters(values(), dtype), "--optimizer", optimizer, "--lr", "0.01", *words)


def test_betas_are_read_in_both_spellings():
    assert parse_betas("--betas", "0.9,0.98") == parse_betas("--betas", "(0.9, 0.98)") == (0.9, 0.98)


OUTSIDE = [
    ("lamb", "--lamb-betas", "0.9"),
    ("lamb", "--lamb-betas", "a,b"),
    ("lamb", "--lamb-betas", "0.9,1"),
    ("lamb", "--lamb-betas", "-0.1,0.9"),
    ("lamb", "--lamb-eps", "0"),
    ("lamb", "--lamb-max-grad-norm", "-1"),
    ("lamb", "--weight-decay", "-1"),
    ("lamb", "--weight-decay", "inf"),
    ("alibert_adam", "--alibert-adam-betas", "1,1"),
    ("alibert_adam", "--alibert-adam-eps", "-1e-6"),
    ("alibert_adam", "--weight-decay", "nan"),
]


@pytest.mark.parametrize(("optimizer", "option", "value"), OUTSIDE)
def test_a_value_that_cannot_be_is_refused(optimizer, option, value):
    with pytest.raises(SystemExit, match=rf"^error: {option} .* is not .*; leave it out for the default\.$"):
        build(parameters(values()), "--optimizer", optimizer, f"{option}={value}")


@pytest.mark.parametrize("option", ["--lamb-betas=0,0", "--weight-decay=0", "--lamb-max-grad-norm=0"])
def test_values_at_the_edge_are_taken(option):
    params = parameters(values())
    trained(params, build(params, "--optimizer", "lamb", "--lr", "0.01", option), gradients(2))
    assert all(torch.isfinite(p).all() for p in params)


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ([(3, 4), (4,), (2, 2)], r"it trained 3 tensors and this run trains 2: .* --reset-optimizer\.$"),
        ([(3, 4), (4, 1)], r"in other groups, as with another --layer-lr-decay; .* --reset-optimizer\.$"),
        ([(2, 4), (4,)], r"moments of \(2, 4\) .* \(3, 4\) .* --max-positions; .* --finetune-from-model .*\.$"),
    ],
)
def test_the_state_of_other_tensors_is_refused(shapes, sentence):
    theirs = parameters([np.ones(shape) for shape in shapes])
    optimizer = build(theirs, "--optimizer", "lamb")
    trained(theirs, optimizer, [[np.ones(shape) for shape in shapes]])
    ours = build(parameters([np.ones((3, 4)), np.ones(4)]), "--optimizer", "lamb")
    with pytest.raises(ValueError, match=sentence):
        ours.load_state_dict(optimizer.state_dict())
