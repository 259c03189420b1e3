"""LAMB and Adam against other people's, for 50 steps in double precision.

The tensors are matrices, one of them zero at first, and a vector; one gradient in three is clipped. The oracles:
optax (JAX) corrects the bias, torch-optimizer 0.3.0 (after cybertronai's LAMB) does not, torch has AdamW.
"""

import functools

import numpy as np
import pytest
import torch
from optim_helpers import build, distance, gradients, parameters, trained, values

from alibert_fairseq.optim.adam_lamb_step import AdamLamb, decay_groups

STEPS = gradients()
SETTINGS = {"lr": 0.01, "eps": 1e-6, "weight_decay": 0.01}


def clipped(steps: list, limit: float = 1.0) -> list:
    """Every step's gradients divided by max(1, |g| / limit)."""
    norms = [np.sqrt(sum(float((g**2).sum()) for g in step)) for step in steps]
    return [[g / max(1.0, norm / limit) for g in step] for step, norm in zip(steps, norms, strict=True)]


@functools.cache
def by_optax(clip: float | None, exempt_vectors: bool) -> list:
    """optax's LAMB; with `exempt_vectors` its parts under masks, for optax.lamb masks the decay only."""
    jax = pytest.importorskip("jax")
    optax = pytest.importorskip("optax")
    jax.config.update("jax_enable_x64", True)
    tree = [jax.numpy.asarray(value) for value in values()]
    matrices = [value.ndim > 1 or not exempt_vectors for value in tree]
    lamb = optax.chain(
        optax.scale_by_adam(b1=0.9, b2=0.999, eps=1e-6),
        optax.add_decayed_weights(0.01, mask=matrices),
        optax.masked(optax.scale_by_trust_ratio(), matrices),
        optax.scale(-0.01),
    )
    optimizer = lamb if exempt_vectors else optax.lamb(0.01, eps=1e-6, weight_decay=0.01)
    optimizer = optax.chain(optax.clip_by_global_norm(clip), optimizer) if clip else optimizer
    state, update = optimizer.init(tree), jax.jit(optimizer.update)
    for step in STEPS:
        updates, state = update([jax.numpy.asarray(g) for g in step], state, tree)
        tree = optax.apply_updates(tree, updates)
    return [np.asarray(value) for value in tree]


def by_torch_optimizer(steps: list, adam: bool, exempt_vectors: bool) -> list:
    """torch-optimizer's Lamb without its limit on |p|; its `adam` has ratio 1, which is BERT's Adam."""
    lamb = pytest.importorskip("torch_optimizer").Lamb
    params = parameters(values())
    settings = {"lr": 0.01, "eps": 1e-6, "clamp_value": 1e9}
    exempt = [p for p in params if p.ndim == 1 and exempt_vectors]
    others = [p for p in params if p.ndim > 1 or not exempt_vectors]
    optimizers = [lamb(others, adam=adam, weight_decay=0.01, **settings)]
    optimizers += [lamb(exempt, adam=True, weight_decay=0.0, **settings)] if exempt else []

    class Both:
        def step(self):
            for optimizer in optimizers:
                optimizer.step()

    return trained(params, Both(), steps)


def test_one_gradient_in_three_is_clipped_and_a_tensor_has_norm_zero():
    changed = [not np.array_equal(a[0], b[0]) for a, b in zip(STEPS, clipped(STEPS), strict=True)]
    assert changed == [step % 3 == 0 for step in range(50)]
    assert [float(np.linalg.norm(value)) for value in values()].count(0.0) == 1


@pytest.mark.parametrize("clip", [1.0, None])
@pytest.mark.parametrize("exempt_vectors", [False, True])
def test_with_bias_correction_lamb_is_that_of_optax(clip, exempt_vectors):
    params = parameters(values())
    groups = decay_groups(params, 0.01, adapt=True) if exempt_vectors else params
    ours = trained(params, AdamLamb(groups, max_grad_norm=clip, **SETTINGS), STEPS)
    assert distance(ours, by_optax(clip, exempt_vectors)) < 1e-12


@pytest.mark.parametrize("clip", [1.0, None])
@pytest.mark.parametrize("exempt_vectors", [False, True])
@pytest.mark.parametrize("adam", [False, True])
def test_without_bias_correction_lamb_and_adam_are_those_of_torch_optimizer(clip, exempt_vectors, adam):
    params = parameters(values())
    groups = decay_groups(params, 0.01, adapt=not adam) if exempt_vectors else params
    optimizer = AdamLamb(groups, bias_correction=False, adapt=not adam, max_grad_norm=clip, **SETTINGS)
    theirs = by_torch_optimizer(clipped(STEPS) if clip else STEPS, adam, exempt_vectors)
    assert distance(trained(params, optimizer, STEPS), theirs) < 1e-12


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_with_bias_correction_adam_is_torch_adamw(decay):
    """Its decay, p (1 - lr wd) before the step, is the same number: the step u does not depend on p."""
    settings = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": decay}
    ours, theirs = parameters(values()), parameters(values())
    ends = [
        trained(ours, AdamLamb(ours, adapt=False, **settings), STEPS),
        trained(theirs, torch.optim.AdamW(theirs, **settings), STEPS),
    ]
    assert distance(*ends) < 1e-12


# What docs/objectives/optimizers.md tells a user to write.
COMMANDS = {
    "apex": ["--optimizer", "lamb"],
    "You et al.": ["--optimizer", "lamb", "--lamb-max-grad-norm", "0"],
    "ALBERT": ["--optimizer", "lamb", "--lamb-no-bias-correction", "--clip-norm", "1.0"],
    "BERT, ELECTRA": ["--optimizer", "alibert_adam", "--clip-norm", "1.0"],
}


@pytest.mark.parametrize("source", COMMANDS)
def test_the_command_line_gives_the_form_of_each_source(source):
    """In single precision, the only one fairseq's clip takes."""
    words, params = COMMANDS[source], parameters(values(), torch.float32)
    limit = float(words[words.index("--clip-norm") + 1]) if "--clip-norm" in words else 0.0
    ours = trained(params, build(params, *words, "--lr", "0.01"), STEPS, clip_norm=limit)
    if source in ("apex", "You et al."):
        theirs = by_optax(1.0 if source == "apex" else None, exempt_vectors=True)
    else:
        theirs = by_torch_optimizer(clipped(STEPS), adam=source != "ALBERT", exempt_vectors=True)
    assert distance(ours, theirs) < 5e-6


def test_the_page_has_these_command_lines(repository):
    page = (repository / "docs" / "objectives" / "optimizers.md").read_text(encoding="utf-8")
    assert [source for source, words in COMMANDS.items() if f"`{' '.join(words)}`" not in page] == []
