"""`--optimizer muon` against an implementation by singular values and torch's, its groups, its rates, its refusals."""

import numpy as np
import pytest
import torch
from model_helpers import SHAPE, dictionary
from optim_helpers import build, distance, gradients, parameters, trained, values

from alibert_fairseq.models.modern import ModernConfig, ModernModel
from alibert_fairseq.models.pretraining import mark_depths
from alibert_fairseq.optim.adam_lamb_step import AdamLamb
from alibert_fairseq.optim.marks import is_hidden_matrix
from alibert_fairseq.optim.muon_step import MuonAdam, orthogonalised

HIDDEN = (0, 1, 3)  # of the tensors of optim_helpers: two dimensions; the last one is zero at first
SETTINGS = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.95}


def by_singular_values(start: list, steps: list) -> list:
    """Muon in numpy: the five steps of Newton and Schulz are a polynomial of the singular values."""
    weights, averages = [value.copy() for value in start], [np.zeros(value.shape) for value in start]
    for step in steps:
        for number, gradient in enumerate(step):
            averages[number] = 0.95 * averages[number] + 0.05 * gradient
            direction = 0.05 * gradient + 0.95 * averages[number]
            left, scale, right = np.linalg.svd(direction / np.linalg.norm(direction), full_matrices=False)
            for _ in range(5):
                scale = 3.4445 * scale - 4.7750 * scale**3 + 2.0315 * scale**5
            rows, columns = direction.shape
            rate = 0.02 * max(1.0, rows / columns) ** 0.5
            weights[number] = weights[number] * (1 - 0.02 * 0.1) - rate * (left * scale) @ right
    return weights


def of_matrices(arrays: list) -> list:
    return [arrays[number] for number in HIDDEN]


def test_fifty_steps_equal_an_implementation_by_singular_values():
    start, steps = of_matrices(values()), [of_matrices(step) for step in gradients()]
    params = parameters(start)
    ours = trained(params, MuonAdam([{"params": params, **SETTINGS}], lr=0.02), steps)
    assert distance(ours, by_singular_values(start, steps)) < 1e-11


def test_fifty_steps_equal_torch_optim_muon(monkeypatch):
    """torch's rounds to bfloat16, which is taken out: in double precision nothing else differs."""
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("torch before 2.9 has no Muon")
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor.clone())
    start, steps = of_matrices(values()), [of_matrices(step) for step in gradients()]
    params, theirs = parameters(start), parameters(start)
    ours = trained(params, MuonAdam([{"params": params, **SETTINGS}], lr=0.02), steps)
    assert distance(ours, trained(theirs, torch.optim.Muon(theirs, **SETTINGS), steps)) < 1e-11


def test_other_tensors_have_adam():
    params, plain = parameters(values()), parameters(values())
    settings = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-8, "weight_decay": 0.01}
    ours = trained(params, MuonAdam(params, **settings), gradients())
    assert distance(ours, trained(plain, AdamLamb(plain, adapt=False, **settings), gradients())) == 0


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 4, 16), (2, 16, 4)])
def test_a_matrix_is_orthogonalised_by_itself_and_its_singular_values_become_one(shape):
    matrices = torch.from_numpy(np.random.default_rng(0).standard_normal(shape))
    together = orthogonalised(matrices)
    for matrix, found in zip(matrices, together, strict=True):
        assert torch.equal(orthogonalised(matrix[None])[0], found)  # a share of the matrices gives the same bits
        scale = torch.linalg.svdvals(found)
        assert 0.6 < scale.median() and scale.max() < 1.3  # the smallest of a square one may need more steps
    assert torch.equal(orthogonalised(torch.zeros(1, 3, 3)), torch.zeros(1, 3, 3))


def test_muon_bf16_computes_the_steps_in_bfloat16_on_a_cpu():
    assert torch.cuda.is_available() or orthogonalised(torch.ones(1, 4, 4)).dtype == torch.float32
    start, steps = of_matrices(values()), [of_matrices(step) for step in gradients()]

    def after(**options) -> list:
        params = parameters(start)
        return trained(params, MuonAdam([{"params": params, **SETTINGS}], lr=0.02, **options), steps)

    exact, rounded = after(), after(bfloat16=True)
    assert 1e-4 < distance(rounded, exact) < 0.05  # bfloat16 has three digits


def modern_model() -> ModernModel:
    sizes = {name: value for name, value in SHAPE.items() if name != "embedding_dim"}
    model = ModernModel(ModernConfig(**sizes), dictionary())
    mark_depths(model.encoder.sentence_encoder)
    return model


def groups_of(model, optimizer) -> dict[str, dict]:
    names = {id(p): name for name, p in model.named_parameters()}
    return {names[id(p)]: group for group in optimizer.param_groups for p in group["params"]}


def test_groups_follow_the_role_of_a_tensor_and_a_schedule_moves_both_rates():
    model = modern_model()
    words = ["--optimizer", "muon", "--lr", "0.003", "--muon-lr", "0.02", "--muon-weight-decay", "0.3"]
    optimizer = build(list(model.parameters()), *words, "--weight-decay", "0.05")
    optimizer.set_lr(0.0015)
    found = groups_of(model, optimizer)
    assert found.keys() == dict(model.named_parameters()).keys()
    for name, group in found.items():
        hidden = ".layers." in name and "norm" not in name
        assert ("momentum" in group) is hidden is is_hidden_matrix(dict(model.named_parameters())[name])
        assert group["lr"] == pytest.approx(0.01 if hidden else 0.0015)
        assert group["weight_decay"] == (0.3 if hidden else 0.05 if "embed_tokens" in name or "dense" in name else 0)
    assert optimizer.get_lr() == 0.0015


def test_layer_decay_multiplies_the_rate_of_matrices_too():
    model = modern_model()
    words = ["--optimizer", "muon", "--lr", "0.003", "--muon-lr", "0.02", "--layer-lr-decay", "0.5"]
    found = groups_of(model, build(list(model.parameters()), *words))
    top = SHAPE["encoder_layers"] - 1
    assert found[f"encoder.sentence_encoder.layers.{top}.fc1.weight"]["lr"] == pytest.approx(0.01)
    assert found[f"encoder.sentence_encoder.layers.{top - 1}.fc1.weight"]["lr"] == pytest.approx(0.005)


def test_a_resumed_optimizer_makes_the_same_step():
    words, ends = ["--optimizer", "muon", "--lr", "0.003"], []
    for resumed in (False, True):
        torch.manual_seed(0)
        model = modern_model()
        params = list(model.parameters())
        drawn = [torch.randn(4, *p.shape, generator=torch.Generator().manual_seed(1)) for p in params]
        optimizer = build(params, *words)
        for step in range(4):
            if resumed and step == 2:
                state = optimizer.state_dict()
                optimizer = build(params, *words)
                optimizer.load_state_dict(state)
            for p, gradient in zip(params, drawn, strict=True):
                p.grad = gradient[step].clone()
            optimizer.step()
        ends.append([p.detach().clone() for p in params])
    assert all(torch.equal(one, other) for one, other in zip(*ends, strict=True))


def test_bfloat16_models_train_float32_copies_with_the_same_groups():
    model = modern_model().to(torch.bfloat16)
    optimizer = build(list(model.parameters()), "--optimizer", "muon", "--lr", "0.003", "--bf16")
    groups = optimizer.fp32_optimizer.param_groups
    matrices = [p for group in groups if "momentum" in group for p in group["params"]]
    assert len(matrices) == 6 * SHAPE["encoder_layers"] and {p.dtype for p in matrices} == {torch.float32}


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--muon-lr", "0"], "--muon-lr 0.0 is not a number above 0"),
        (["--muon-momentum", "1"], "--muon-momentum 1.0 is not in"),
        (["--muon-weight-decay", "-1"], "--muon-weight-decay -1.0 is not a number of 0 or more"),
        (["--muon-weight-decay", "nan"], "--muon-weight-decay nan is not a number of 0 or more"),
        (["--muon-lr", "inf"], "--muon-lr inf is not a number above 0"),
        (["--muon-eps", "0"], "--muon-eps 0.0 is not a number above 0"),
        (["--muon-betas", "0.9"], "--muon-betas 0.9 is not two numbers"),
        (["--lr", "0"], "--lr 0.0 is not a number above 0"),
    ],
)
def test_a_value_that_cannot_be_is_refused(words, sentence):
    with pytest.raises(SystemExit, match=sentence):
        build(list(modern_model().parameters()), "--optimizer", "muon", "--lr", "0.003", *words)


def test_a_model_without_marks_is_refused():
    with pytest.raises(SystemExit, match="does not say which of its matrices are hidden"):
        build(parameters(values()), "--optimizer", "muon", "--lr", "0.003")
