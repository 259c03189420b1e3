"""LAMB and Adam against vectors worked out in double precision, and their invariants.

tests/parity/test_optimizers.py compares them with other people's, test_layer_lr_decay.py has the rates by depth,
test_optim_refusals.py what is refused, test_optim_apex.py where apex's kernel takes over.
"""

import logging

import numpy as np
import pytest
import torch
from optim_helpers import build, gradients, parameters, trained, values

from alibert_fairseq.optim import adam_lamb_step, lamb
from alibert_fairseq.optim.adam_lamb_step import AdamLamb, decay_groups

# p0 = [3, 4]; gradients [.6, .8], [3, -4], [-.1, .2]; lr .01, decay .01, eps 1e-6, betas .9, .999. Computed from the
# formulas in plain Python; the first four were also given by torch-optimizer 0.3.0, timm 1.0.31 and optax.
GRADIENTS = [[0.6, 0.8], [3.0, -4.0], [-0.1, 0.2]]
VECTORS = {
    "albert": (
        {"bias_correction": False, "max_grad_norm": 1.0},
        [[2.964700227, 3.964589182], [2.915240972, 3.966716047], [2.866326958, 3.961169346]],
    ),
    "apex": (
        {"bias_correction": True, "max_grad_norm": 1.0},
        [[2.964815878, 3.964474269], [2.915315078, 3.965098615], [2.866670376, 3.957628689]],
    ),
    "optax": (
        {"bias_correction": True},
        [[2.964815878, 3.964474269], [2.922878862, 3.990780270], [2.880091053, 4.015602803]],
    ),
    "torch-optimizer": (
        {"bias_correction": False},
        [[2.964700227, 3.964589182], [2.923736306, 3.992386640], [2.882244420, 4.019352580]],
    ),
    "bert-adam": (
        {"bias_correction": False, "max_grad_norm": 1.0, "adapt": False},
        [[2.968078890, 3.967978473], [2.925287749, 3.969818240], [2.890698321, 3.965895707]],
    ),
}


def test_lamb_moves_a_tensor_in_pieces_as_it_moves_a_whole_one(monkeypatch):
    """A CPU takes pieces, a GPU all tensors at once."""
    monkeypatch.setattr(adam_lamb_step, "PIECE", 10)

    def moved() -> list[torch.Tensor]:
        draw = torch.Generator().manual_seed(1)
        params = [torch.nn.Parameter(torch.randn(shape, generator=draw).double()) for shape in ((7, 9), (4,), (2, 5))]
        params[1].data.zero_()
        optimizer = AdamLamb(params, lr=0.1, weight_decay=0.1, max_grad_norm=1.0)
        for _ in range(3):
            for p in params:
                p.grad = torch.randn(p.shape, generator=draw).double()
            optimizer.step()
        return [p.detach() for p in params]

    pieces = moved()
    whole = AdamLamb._lamb
    monkeypatch.setattr(AdamLamb, "_lamb_in_pieces", lambda own, group, *one: whole(own, group, *([x] for x in one)))
    for one, other in zip(pieces, moved(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("adapt", [True, False])
def test_a_gradient_may_lie_in_memory_otherwise_than_its_parameter(adapt):
    def moved(lies) -> torch.Tensor:
        p = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
        p.grad = lies(torch.tensor([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]))
        AdamLamb([p], lr=0.1, adapt=adapt).step()
        return p.detach()

    assert torch.equal(moved(lambda grad: grad), moved(lambda grad: grad.t().contiguous().t()))


@pytest.mark.parametrize("form", VECTORS)
def test_three_steps_equal_the_vectors(form):
    settings, expected = VECTORS[form]
    p = torch.nn.Parameter(torch.tensor([3.0, 4.0], dtype=torch.float64))
    optimizer = AdamLamb([p], lr=0.01, eps=1e-6, weight_decay=0.01, **settings)
    for gradient, position in zip(GRADIENTS, expected, strict=True):
        p.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        assert p.tolist() == pytest.approx(position, abs=1e-9)


@pytest.mark.parametrize("bias_correction", [True, False])
def test_without_decay_lamb_ignores_the_scale_of_gradients_and_steps_by_lr_times_norm(bias_correction):
    starts, ends = values(), []
    for scale in (1.0, 1000.0):
        params = parameters(starts)
        optimizer = AdamLamb(params, lr=0.01, eps=1e-15, weight_decay=0.0, bias_correction=bias_correction)
        for step in gradients(5):
            before = [p.detach().clone() for p in params]
            trained(params, optimizer, [[scale * gradient for gradient in step]])
            for p, old in zip(params, before, strict=True):
                if old.norm() > 0:  # otherwise the ratio is 1
                    assert (p - old).norm().item() == pytest.approx(0.01 * old.norm().item(), rel=1e-9)
        ends.append(params)
    for one, other, zero in zip(*ends, [np.linalg.norm(start) == 0 for start in starts], strict=True):
        assert torch.allclose(one, other, rtol=1e-9) or zero


def test_without_decay_bias_correction_changes_nothing_but_through_epsilon():
    starts = [value for value in values() if np.linalg.norm(value) > 0]
    steps = [[g for g in step if g.shape != (3, 3)] for step in gradients(10)]
    ends = []
    for bias_correction in (True, False):
        params = parameters(starts)
        optimizer = AdamLamb(params, lr=0.01, eps=1e-15, weight_decay=0.0, bias_correction=bias_correction)
        ends.append(trained(params, optimizer, steps))
    assert all(np.allclose(one, other, rtol=1e-12, atol=0) for one, other in zip(*ends, strict=True))


def test_a_tensor_of_zeros_moves_with_ratio_one_and_a_step_of_zero_moves_nothing():
    zeros, ones, moving = parameters([np.zeros((2, 2)), np.ones((2, 2)), np.ones((2, 2))], torch.float32)
    optimizer = AdamLamb([zeros, ones, moving], lr=0.1, weight_decay=0.0)
    trained([zeros, ones, moving], optimizer, [[np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 2))]])
    assert torch.allclose(zeros, torch.full((2, 2), -0.1), atol=1e-6)
    assert torch.equal(ones, torch.ones(2, 2))
    assert torch.allclose(moving, torch.full((2, 2), 0.9), atol=1e-6)


def test_tensors_without_a_gradient_stay_and_count_for_nothing():
    params, alone = parameters(values()[:2]), parameters(values()[:1])
    for group, tensors in ((params, params[:1]), (alone, alone)):
        optimizer = AdamLamb(group, lr=0.01, max_grad_norm=1.0)
        for step in gradients(3):
            tensors[0].grad = torch.tensor(step[0])
            optimizer.step()
    assert torch.equal(params[0], alone[0])
    assert np.array_equal(params[1].detach().numpy(), values()[1])


def test_vectors_neither_decay_nor_adapt():
    matrix, bias = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))
    decaying, exempt = decay_groups([matrix, bias], weight_decay=0.1, adapt=True)
    assert decaying["params"] == [matrix] and decaying["weight_decay"] == 0.1 and decaying["adapt"]
    assert exempt["params"][0] is bias and exempt["weight_decay"] == 0 and not exempt["adapt"]


CLIPS = {
    "LAMB at 1.0": [],
    "LAMB at 0.5": ["--lamb-max-grad-norm", "0.5"],
    "--clip-norm at 2.0": ["--clip-norm", "2.0"],
    "nothing": ["--lamb-max-grad-norm", "0"],
}


@pytest.mark.parametrize("said", CLIPS)
def test_one_clip_acts_and_the_log_says_which(said, caplog):
    params = parameters(values()[:1])
    with caplog.at_level(logging.INFO, logger=lamb.__name__):
        optimizer = build(params, "--optimizer", "lamb", *CLIPS[said])
    assert [record.getMessage() for record in caplog.records if "clipped" in record.getMessage()] == [
        f"gradients are clipped by {said}"
    ]
    trained(params, optimizer, [[np.full((4, 3), 10.0)]])  # what fairseq clips, it has clipped before
    moment = optimizer.optimizer.state[params[0]]["exp_avg"] / 0.1
    limit = float(said.split()[-1]) if said.startswith("LAMB") else 10 * 12**0.5
    assert moment.norm().item() == pytest.approx(limit)


@pytest.mark.parametrize("optimizer", ["lamb", "alibert_adam"])
@pytest.mark.parametrize("half", ["--bf16", "--fp16"])
def test_master_weights_move_as_float32_weights_do(optimizer, half):
    dtype = torch.bfloat16 if half == "--bf16" else torch.float16
    model = parameters(values(), dtype)
    whole = [torch.nn.Parameter(p.detach().float()) for p in model]
    words = ["--optimizer", optimizer, "--lr", "0.01"]
    mixed, plain = build(model, *words, half, "--fp16-no-flatten-grads"), build(whole, *words)
    scale = mixed.scaler.loss_scale if mixed.scaler else 1.0
    for step in gradients(10):
        mixed.zero_grad()
        for p, q, gradient in zip(model, whole, step, strict=True):
            p.grad = torch.tensor(gradient * scale, dtype=dtype)
            q.grad = p.grad.float() / scale
        mixed._needs_sync = True  # set by its backward()
        mixed.clip_grad_norm(0.0)
        mixed.step()
        plain.step()
    assert all(torch.equal(p, q) for p, q in zip(mixed.fp32_params, whole, strict=True))
    assert all(torch.equal(p, q.to(dtype)) for p, q in zip(model, whole, strict=True))


def test_an_overflow_changes_nothing_but_the_scale():
    model = parameters(values(), torch.float16)
    optimizer = build(model, "--optimizer", "lamb", "--lr", "0.01", "--fp16", "--fp16-no-flatten-grads")
    scales, weights = [], []
    for step, planted in zip(gradients(4), (0, 0, float("inf"), 0), strict=True):
        optimizer.zero_grad()
        for p, gradient in zip(model, step, strict=True):
            p.grad = torch.tensor(gradient * optimizer.scaler.loss_scale + planted, dtype=torch.float16)
        optimizer._needs_sync = True
        try:
            optimizer.clip_grad_norm(0.0)
            optimizer.step()
        except OverflowError:
            optimizer.zero_grad()  # what fairseq's trainer does
        scales.append(optimizer.scaler.loss_scale)
        weights.append([p.detach().clone() for p in optimizer.fp32_params])
    assert scales[2] == scales[1] / 2 == scales[3]
    changed = [not all(map(torch.equal, one, other)) for one, other in zip(weights, weights[1:], strict=False)]
    assert changed == [True, False, True]
    assert optimizer.optimizer.param_groups[0]["step"] == 3


def test_state_survives_a_save_and_a_load():
    def run(steps, state=None, start=None):
        params = parameters(start or values(), torch.float32)
        optimizer = build(params, "--optimizer", "lamb", "--lr", "0.01")
        if state is not None:
            optimizer.load_state_dict(state)
        return trained(params, optimizer, steps), optimizer.state_dict()

    whole, _ = run(gradients(6))
    half, state = run(gradients(6)[:3])
    resumed, _ = run(gradients(6)[3:], state, half)
    assert all(np.array_equal(one, other) for one, other in zip(whole, resumed, strict=True))


def test_a_resumed_run_has_the_options_of_its_command_line():
    params = parameters(values())
    state = build(params, "--optimizer", "lamb", "--lr", "0.01").state_dict()
    options = ["--weight-decay", "0.1", "--lamb-betas", "0.8,0.9", "--lamb-eps", "1e-8"]
    resumed = build(params, "--optimizer", "lamb", "--lr", "0.5", *options)
    resumed.load_state_dict(state)
    group = resumed.param_groups[0]
    assert (group["weight_decay"], group["betas"], group["eps"]) == (0.1, (0.8, 0.9), 1e-8)
    assert resumed.get_lr() == 0.01  # until the schedule sets it
    resumed.load_state_dict(state, {"weight_decay": 0.2})  # --optimizer-overrides
    assert group is not resumed.param_groups[0] and resumed.param_groups[0]["weight_decay"] == 0.2
