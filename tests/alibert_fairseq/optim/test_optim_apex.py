"""Where apex's kernel runs LAMB, and what it is given. apex itself is not needed here."""

import logging
import sys
from types import SimpleNamespace

import pytest
import torch
from optim_helpers import build, gradients, parameters, trained, values

from alibert_fairseq.optim import lamb
from alibert_fairseq.optim.adam_lamb_step import AdamLamb


def test_apex_gets_the_groups_and_settings_it_understands(monkeypatch):
    class Fused(torch.optim.SGD):  # what apex.optimizers.FusedLAMB accepts
        def __init__(self, params, lr, betas, eps, bias_correction, max_grad_norm, use_nvlamb):
            self.seen = {"bias_correction": bias_correction, "max_grad_norm": max_grad_norm, "use_nvlamb": use_nvlamb}
            super().__init__(params, lr=lr)

    monkeypatch.setattr(lamb, "_fused_lamb", lambda: Fused)
    params = parameters(values())
    assert isinstance(build(params, "--optimizer", "lamb").optimizer, AdamLamb)  # they are on the CPU
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    fused = build(params, "--optimizer", "lamb", "--lamb-max-grad-norm", "0").optimizer
    assert fused.seen == {"bias_correction": True, "max_grad_norm": float("inf"), "use_nvlamb": False}
    assert [group["weight_decay"] for group in fused.param_groups] == [0.01, 0.0]
    assert not any("adapt" in group for group in fused.param_groups)
    without_decay = build(params, "--optimizer", "lamb", "--weight-decay", "0").optimizer
    assert not isinstance(without_decay, Fused)  # there apex is plain Adam


@pytest.mark.parametrize("extensions", [True, False])
def test_apex_without_its_cuda_extensions_is_no_apex(extensions, monkeypatch, caplog):
    """apex imports without them, and its optimizer raises RuntimeError where it is made."""

    class Fused(torch.optim.SGD):
        def __init__(self, params, lr, **settings):
            assert extensions
            super().__init__(params, lr=lr)

    applier = SimpleNamespace(available=extensions)
    monkeypatch.setitem(sys.modules, "apex", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "apex.optimizers", SimpleNamespace(FusedLAMB=Fused))
    monkeypatch.setitem(sys.modules, "apex.multi_tensor_apply", SimpleNamespace(multi_tensor_applier=applier))
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    with caplog.at_level(logging.INFO, logger=lamb.__name__):
        optimizer = build(parameters(values()), "--optimizer", "lamb").optimizer
    assert type(optimizer) is (Fused if extensions else AdamLamb)
    said = "apex's fused kernel" if extensions else "PyTorch's operations"
    assert f"LAMB runs on {said}" in caplog.messages


def test_the_state_of_apex_whose_groups_do_not_say_who_adapts_is_taken():
    params = parameters(values())
    optimizer = build(params, "--optimizer", "lamb")
    trained(params, optimizer, gradients(1))
    state = optimizer.state_dict()
    for group in state["param_groups"]:
        del group["adapt"]
    other = build(params, "--optimizer", "lamb")
    other.load_state_dict(state)
    assert [group["adapt"] for group in other.param_groups] == [True, False]
    assert other.param_groups[0]["step"] == 1
    other.step()
