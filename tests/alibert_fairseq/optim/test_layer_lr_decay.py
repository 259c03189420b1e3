"""`--layer-lr-decay`: every layer at its share of the learning rate, whatever sets the rate and through a resume."""

import re
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn as nn
from model_helpers import SHAPE, dictionary
from optim_helpers import arguments, build, trained

from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.embedding_sharing import SHARING
from alibert_fairseq.optim import lamb
from alibert_fairseq.optim.adam_lamb_step import AdamLamb, decay_groups
from alibert_fairseq.optim.marks import mark_depth
from alibert_fairseq.optim.schedules import BertSchedule

LAYERS = 3
# Google's rule without its off-by-one, for a decay of 0.5: embeddings, three layers, head.
SHARES = {"embeddings": 0.5**4, "layers.0": 0.5**3, "layers.1": 0.5**2, "layers.2": 0.5, "head": 1.0}


class Model(nn.Module):
    """Embeddings, layers and a head. marked: whether the first two say how deep they lie."""

    def __init__(self, marked: bool = True, tied: bool = False):
        super().__init__()
        torch.manual_seed(0)
        self.head = nn.Linear(4, 5)  # first among the parameters: the order must not matter
        self.embeddings = nn.Embedding(5, 4)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(LAYERS))
        if tied:
            self.head.weight = self.embeddings.weight
        if marked:
            for depth, module in enumerate((*reversed(self.layers), self.embeddings), 1):
                mark_depth(module, depth)

    def gradients(self, steps: int) -> list:
        rng = np.random.default_rng(3)
        return [[rng.standard_normal(p.shape) for p in self.parameters()] for _ in range(steps)]


def moves(model: Model, optimizer) -> dict[str, torch.Tensor]:
    """How far one step moves every parameter."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    trained(list(model.parameters()), optimizer, model.gradients(1))
    return {name: p.detach() - before[name] for name, p in model.named_parameters()}


@pytest.mark.parametrize("words", [["--optimizer", "alibert_adam"], ["--optimizer", "lamb"]])
def test_a_step_is_shorter_by_the_share_of_the_layer(words):
    whole, shared = Model(), Model()
    full = moves(whole, build(list(whole.parameters()), *words, "--lr", "0.1"))
    part = moves(shared, build(list(shared.parameters()), *words, "--lr", "0.1", "--layer-lr-decay", "0.5"))
    for name, share in SHARES.items():
        for kind in ("weight", "bias"):
            if f"{name}.{kind}" in full:
                assert torch.allclose(part[f"{name}.{kind}"], share * full[f"{name}.{kind}"], rtol=1e-4, atol=1e-7)


def test_without_a_head_the_top_layer_has_the_full_rate_which_a_resume_keeps():
    """fairseq reads the rate of the first group and sets it again."""
    params = [p for name, p in Model().named_parameters() if "head" not in name]
    optimizer = build(params, "--optimizer", "lamb", "--lr", "1", "--layer-lr-decay", "0.5")
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.get_lr() == 1.0 and optimizer.param_groups[-1]["lr"] == 0.5**LAYERS


# Of a discriminator of four layers and a generator of two. Embeddings that both share have the discriminator's name.
DEPTHS = {
    r"discriminator\.sentence_encoder\.(embed|layernorm_embedding)": 5,
    r"discriminator\.sentence_encoder\.layers\.0\.": 4,
    r"discriminator\.sentence_encoder\.layers\.1\.": 3,
    r"discriminator\.sentence_encoder\.layers\.2\.": 2,
    r"discriminator\.sentence_encoder\.layers\.3\.": 1,
    r"generator\.sentence_encoder\.(embed|layernorm_embedding)": 3,
    r"generator\.sentence_encoder\.layers\.0\.": 2,
    r"generator\.sentence_encoder\.layers\.1\.": 1,
    r"discriminator\.head\.|generator\.lm_head\.": 0,
}


@pytest.mark.parametrize("sharing", SHARING)
def test_each_of_two_encoders_counts_from_its_own_head(sharing):
    sizes = SHAPE | {"encoder_layers": 4, "embedding_dim": 16}
    cfg = ElectraConfig(**sizes, generator_layers=2, generator_width_fraction=0.5, embedding_sharing=sharing)
    task = SimpleNamespace(
        segment_types=1, sentence_objective=None, replaces_tokens=True, source_dictionary=dictionary(),
        max_positions=lambda: 32,
    )  # fmt: skip
    model = ElectraModel.build_model(cfg, task)
    optimizer = build(list(model.parameters()), "--optimizer", "lamb", "--lr", "1", "--layer-lr-decay", "0.5")
    found = rates(model, optimizer)
    assert found == {name: 0.5 ** next(DEPTHS[p] for p in DEPTHS if re.match(p, name)) for name in found}
    assert found.keys() == dict(model.named_parameters()).keys() and set(found.values()) == {0.5**n for n in range(6)}


def test_a_tied_word_table_goes_with_the_embeddings():
    model = Model(tied=True)
    optimizer = build(list(model.parameters()), "--optimizer", "lamb", "--lr", "1", "--layer-lr-decay", "0.5")
    assert rates(model, optimizer) == {"head.weight": 0.5**4, "head.bias": 1.0, **layer_rates()}


def rates(model: Model, optimizer) -> dict[str, float]:
    """The learning rate of every parameter."""
    names = {id(p): name for name, p in model.named_parameters()}
    return {names[id(p)]: group["lr"] for group in optimizer.param_groups for p in group["params"]}


def layer_rates() -> dict[str, float]:
    return {f"layers.{i}.{kind}": SHARES[f"layers.{i}"] for i in range(LAYERS) for kind in ("weight", "bias")}


def test_the_rate_that_is_set_is_the_rate_that_is_read_and_the_head_has():
    model = Model()
    words = ["--optimizer", "lamb", "--lr", "0.3", "--layer-lr-decay", "0.9"]
    optimizer = build(list(model.parameters()), *words)
    assert optimizer.get_lr() == 0.3
    schedule = BertSchedule(
        Namespace(lr=[0.3], warmup_updates=10, total_num_update=100, power=1.0, end_learning_rate=0.0), optimizer
    )
    assert schedule.step_update(7) == optimizer.get_lr() == 0.3 * 7 / 10
    assert rates(model, optimizer)["head.bias"] == 0.3 * 7 / 10
    assert rates(model, optimizer)["embeddings.weight"] == pytest.approx(0.3 * 7 / 10 * 0.9**4, rel=1e-12)


def test_without_layer_decay_depths_change_no_bit():
    """Two groups in the order of the model, as they always were."""
    marked, plain = Model(), Model(marked=False)
    steps = marked.gradients(5)
    groups = decay_groups(plain.parameters(), 0.01, adapt=True)
    optimizer = build(list(marked.parameters()), "--optimizer", "lamb", "--lr", "0.01")
    assert [len(group["params"]) for group in optimizer.param_groups] == [len(group["params"]) for group in groups]
    ours = trained(list(marked.parameters()), optimizer, steps)
    before = trained(list(plain.parameters()), AdamLamb(groups, lr=0.01, max_grad_norm=1.0), steps)
    assert all(np.array_equal(one, other) for one, other in zip(ours, before, strict=True))


@pytest.mark.parametrize("half", ["--bf16", "--fp16"])
def test_half_precision_keeps_the_depths(half):
    model = Model().to(torch.bfloat16 if half == "--bf16" else torch.float16)
    words = ["--optimizer", "alibert_adam", "--lr", "1", "--layer-lr-decay", "0.5", half, "--fp16-no-flatten-grads"]
    optimizer = build(list(model.parameters()), *words)
    found = {group["lr"] for group in optimizer.fp32_optimizer.param_groups}
    assert found == set(SHARES.values())
    optimizer.set_lr(2.0)
    assert optimizer.get_lr() == 2.0 and optimizer.fp32_optimizer.param_groups[-1]["lr"] == 2 * 0.5**4


def test_a_resumed_run_goes_on_bit_by_bit_and_a_new_decay_counts():
    def run(steps, decay="0.5", state=None, model=None):
        model = model or Model()
        optimizer = build(list(model.parameters()), "--optimizer", "lamb", "--lr", "0.1", "--layer-lr-decay", decay)
        if state:
            optimizer.load_state_dict(state)
        trained(list(model.parameters()), optimizer, steps)
        return model, optimizer

    steps = Model().gradients(6)
    whole, _ = run(steps)
    half, optimizer = run(steps[:3])
    resumed, _ = run(steps[3:], state=optimizer.state_dict(), model=half)
    assert all(map(torch.equal, whole.parameters(), resumed.parameters()))
    other, changed = run([], decay="0.9", state=optimizer.state_dict())
    assert changed.get_lr() == 0.1 and rates(other, changed)["embeddings.weight"] == pytest.approx(0.1 * 0.9**4)


def test_the_state_of_a_run_with_other_groups_is_refused():
    states = [build(list(Model().parameters()), "--optimizer", "lamb").state_dict()]
    model = Model()
    optimizer = build(list(model.parameters()), "--optimizer", "lamb", "--layer-lr-decay", "0.5")
    with pytest.raises(ValueError, match="--layer-lr-decay.*--reset-optimizer"):
        optimizer.load_state_dict(states[0])


@pytest.mark.parametrize("decay", ["0", "-0.5", "1.1", "nan"])
def test_a_decay_outside_0_to_1_is_refused(decay):
    with pytest.raises(SystemExit, match=r"^error: --layer-lr-decay .* \(0, 1\]"):
        build(list(Model().parameters()), "--optimizer", "lamb", "--layer-lr-decay", decay)


def test_a_model_without_depths_is_refused():
    with pytest.raises(SystemExit, match="^error: --layer-lr-decay 0.5: this model does not say how deep"):
        build(list(Model(marked=False).parameters()), "--optimizer", "lamb", "--layer-lr-decay", "0.5")


def test_apex_gets_a_rate_for_every_group(monkeypatch):
    class Fused(torch.optim.SGD):
        def __init__(self, params, lr, betas, eps, bias_correction, max_grad_norm, use_nvlamb):
            super().__init__(params, lr=lr)
            assert self.param_groups[0]["params"]  # apex asks its first group for the device

    monkeypatch.setattr(lamb, "_fused_lamb", lambda: Fused)
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    model = Model(tied=True)  # the head has no matrix of its own
    optimizer = build(list(model.parameters()), "--optimizer", "lamb", "--lr", "2", "--layer-lr-decay", "0.5")
    assert isinstance(optimizer.optimizer, Fused)
    assert rates(model, optimizer)["layers.2.weight"] == 1.0 and optimizer.get_lr() == 2.0


def test_the_default_is_no_decay():
    assert (
        arguments("--optimizer", "lamb").layer_lr_decay == 1 == arguments("--optimizer", "alibert_adam").layer_lr_decay
    )
