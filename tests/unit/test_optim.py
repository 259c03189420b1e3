"""LAMB and Adam against vectors worked out in double precision, and their invariants."""

import argparse

import pytest
import torch
from fairseq.dataclass.utils import gen_parser_from_dataclass

from alibert_fairseq.optim import lamb
from alibert_fairseq.optim.adam import parse_betas
from alibert_fairseq.optim.lamb import AliBertLamb, LambConfig
from alibert_fairseq.optim.moments import AdamLamb, decay_groups

# p0 = [3, 4]; gradients [.6, .8], [3, -4], [-.1, .2]; lr .01, decay .01, eps 1e-6, betas .9, .999. Computed from the
# formulas in plain Python; A, B, B2 and C were also given by torch-optimizer 0.3.0, timm 1.0.31 and optax.
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


@pytest.mark.parametrize("form", VECTORS)
def test_three_steps_equal_the_vectors(form):
    settings, expected = VECTORS[form]
    p = torch.nn.Parameter(torch.tensor([3.0, 4.0], dtype=torch.float64))
    optimizer = AdamLamb([p], lr=0.01, eps=1e-6, weight_decay=0.01, **settings)
    for gradient, position in zip(GRADIENTS, expected, strict=True):
        p.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        assert p.tolist() == pytest.approx(position, abs=1e-9)


def test_with_bias_correction_and_no_ratio_it_is_torch_adamw():
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(5, 3, dtype=torch.float64))
    theirs = torch.nn.Parameter(ours.detach().clone())
    settings = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.01}
    optimizers = AdamLamb([ours], adapt=False, **settings), torch.optim.AdamW([theirs], **settings)
    for _ in range(20):
        ours.grad = theirs.grad = torch.randn(5, 3, dtype=torch.float64)
        for optimizer in optimizers:
            optimizer.step()
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_without_decay_lamb_ignores_the_scale_of_gradients_and_steps_by_lr_times_norm():
    torch.manual_seed(0)
    start = torch.randn(4, 4, dtype=torch.float64)
    gradients = [torch.randn(4, 4, dtype=torch.float64) for _ in range(3)]
    ends = []
    for scale in (1.0, 1000.0):
        p = torch.nn.Parameter(start.clone())
        optimizer = AdamLamb([p], lr=0.01, eps=1e-12, weight_decay=0.0)
        for gradient in gradients:
            before = p.detach().clone()
            p.grad = gradient * scale
            optimizer.step()
            assert (p - before).norm().item() == pytest.approx(0.01 * before.norm().item(), rel=1e-9)
        ends.append(p.detach())
    assert torch.allclose(*ends, rtol=1e-9)


def test_a_tensor_of_zeros_moves_with_ratio_one():
    p = torch.nn.Parameter(torch.zeros(2, 2))
    p.grad = torch.ones(2, 2)
    AdamLamb([p], lr=0.1, weight_decay=0.0).step()
    assert torch.allclose(p, torch.full((2, 2), -0.1), atol=1e-6)


def test_vectors_neither_decay_nor_adapt():
    matrix, bias = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))
    decaying, exempt = decay_groups([matrix, bias], weight_decay=0.1, adapt=True)
    assert decaying["params"] == [matrix] and decaying["weight_decay"] == 0.1 and decaying["adapt"]
    assert exempt["params"][0] is bias and exempt["weight_decay"] == 0 and not exempt["adapt"]


def test_state_survives_a_save_and_a_load():
    def run(steps, state=None, start=None):
        p = torch.nn.Parameter(torch.ones(3, 3) if start is None else start.clone())
        optimizer = AdamLamb(decay_groups([p], 0.01, True), lr=0.01)
        if state is not None:
            optimizer.load_state_dict(state)
        for step in steps:
            p.grad = torch.full((3, 3), float(step)) + torch.arange(9.0).view(3, 3)
            optimizer.step()
        return p.detach(), optimizer.state_dict()

    whole, _ = run(range(6))
    half, state = run(range(3))
    resumed, _ = run(range(3, 6), state, half)
    assert torch.equal(whole, resumed)


def test_fifty_steps_equal_optax_with_the_global_clip():
    jax = pytest.importorskip("jax")
    optax = pytest.importorskip("optax")
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(1)
    shapes = [(4, 3), (5, 5), (2, 2, 2), (3, 3)]
    values = [rng.standard_normal(shape) for shape in shapes[:-1]] + [np.zeros(shapes[-1])]  # the last has norm zero
    params = [torch.nn.Parameter(torch.tensor(value)) for value in values]
    ours = AdamLamb(params, lr=0.01, eps=1e-6, weight_decay=0.01, max_grad_norm=1.0)
    theirs = optax.chain(optax.clip_by_global_norm(1.0), optax.lamb(0.01, eps=1e-6, weight_decay=0.01))
    tree = [jax.numpy.asarray(value) for value in values]
    state = theirs.init(tree)
    for step in range(50):
        gradients = [rng.standard_normal(shape) * (0.01 if step % 3 else 10.0) for shape in shapes]
        for p, gradient in zip(params, gradients, strict=True):
            p.grad = torch.tensor(gradient)
        ours.step()
        updates, state = theirs.update([jax.numpy.asarray(g) for g in gradients], state, tree)
        tree = optax.apply_updates(tree, updates)
    for p, expected in zip(params, tree, strict=True):
        assert np.abs(p.detach().numpy() - np.asarray(expected)).max() < 1e-6


def test_a_limit_of_zero_clips_nothing():
    gradient = torch.full((2, 2), 100.0)
    ends = []
    for limit in (0.0, 1e9):
        p = torch.nn.Parameter(torch.ones(2, 2))
        optimizer = build_optimizer([p], lamb_max_grad_norm=limit)
        p.grad = gradient
        optimizer.step()
        ends.append(p.detach())
    assert torch.equal(*ends) and not torch.equal(ends[0], torch.ones(2, 2))


def test_the_state_of_apex_whose_groups_do_not_say_who_adapts_is_taken():
    p = torch.nn.Parameter(torch.ones(2, 2))
    optimizer = AdamLamb(decay_groups([p], 0.01, adapt=True), lr=0.01)
    p.grad = torch.ones(2, 2)
    optimizer.step()
    state = optimizer.state_dict()
    for group in state["param_groups"]:
        del group["adapt"]
    other = AdamLamb(decay_groups([p], 0.01, adapt=True), lr=0.01)
    other.load_state_dict(state)
    assert [group["adapt"] for group in other.param_groups] == [True, False]
    assert other.param_groups[0]["step"] == 1
    other.step()


def build_optimizer(params, **options):
    """`--optimizer lamb` as fairseq builds it."""
    cfg = LambConfig(**options)
    cfg.lr, cfg.clip_norm = [0.01], 0.0
    return AliBertLamb(cfg, params)._optimizer


def test_the_command_line_switches_bias_correction_off():
    parser = argparse.ArgumentParser()
    gen_parser_from_dataclass(parser, LambConfig())
    for words, corrects in ([], True), (["--lamb-no-bias-correction"], False):
        options = parser.parse_args(words)
        optimizer = build_optimizer([torch.nn.Parameter(torch.ones(2, 2))], **vars(options))
        assert optimizer.bias_correction is corrects


def test_apex_gets_the_groups_and_settings_it_understands(monkeypatch):
    class Fused(torch.optim.SGD):  # what apex.optimizers.FusedLAMB accepts
        def __init__(self, params, lr, betas, eps, bias_correction, max_grad_norm, use_nvlamb):
            self.seen = {"bias_correction": bias_correction, "max_grad_norm": max_grad_norm, "use_nvlamb": use_nvlamb}
            super().__init__(params, lr=lr)

    class OnGpu(torch.nn.Parameter):
        is_cuda = True

    monkeypatch.setattr(lamb, "_fused_lamb", lambda: Fused)
    params = [OnGpu(torch.ones(2, 2)), OnGpu(torch.ones(2))]
    fused = build_optimizer(params, lamb_max_grad_norm=0.0)
    assert fused.seen == {"bias_correction": True, "max_grad_norm": float("inf"), "use_nvlamb": False}
    assert [group["weight_decay"] for group in fused.param_groups] == [0.01, 0.0]
    assert not any("adapt" in group for group in fused.param_groups)
    assert not isinstance(build_optimizer(params, weight_decay=0.0), Fused)  # there apex is plain Adam


def test_betas_are_read_in_both_spellings():
    assert parse_betas("0.9,0.98") == parse_betas("(0.9, 0.98)") == (0.9, 0.98)
