"""`--compile`: one graph for every objective and body, and the losses and gradients of the eager model."""

from types import SimpleNamespace

import pytest
import torch
from light_trainer import LightTrainer, with_callbacks
from long_cases import long_except
from model_helpers import SHAPE
from objectives import OBJECTIVES
from torch._dynamo.testing import CompileCounterWithBackend

from alibert_fairseq.data.layout import for_compiled, laid_out


def update(model, criterion, batch):
    """(loss, gradient)."""
    torch.manual_seed(0)
    model.zero_grad()
    loss = criterion(model, batch)[0]
    loss.backward()
    return loss.detach(), torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("objective", long_except(OBJECTIVES, "electra, modern"))
def test_an_update_is_one_graph_and_the_same_numbers(objective, monkeypatch):
    if objective == "electra, DeBERTa":  # its discriminator has an ordinary layer
        monkeypatch.setitem(SHAPE, "encoder_layers", 1)
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, criterion, batch = OBJECTIVES[objective]()
    batch = laid_out(batch, 1)
    found = torch._dynamo.explain(lambda: criterion(model.train(), batch))()
    assert (found.graph_count, found.graph_break_count) == (1, 0)
    plain = update(model.double().eval(), criterion, batch)
    model.compile(backend="aot_eager", fullgraph=True)
    compiled = update(model, criterion, batch)
    for mine, theirs in zip(compiled, plain, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("objective", long_except(["masked, packed", "electra", "electra, modern", "electra, DeBERTa"]))
def test_batches_of_other_numbers_of_sequences_and_masks_are_not_compiled_anew(objective):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, criterion, _ = OBJECTIVES[objective]()
    counter = CompileCounterWithBackend("aot_eager")
    model.compile(backend=counter, fullgraph=True)
    for sequences in (2, 3, 4, 6, 8, 9):
        batch = for_compiled(laid_out(packed(sequences), 1))
        if objective == "masked, packed":
            for name in ("original", "uniforms"):
                del batch["net_input"][name]
        criterion(model.train(), batch)[0].backward()
    assert counter.frame_count <= 3


def packed(sequences):
    """Rows that hold so many sequences at most."""
    ids, masked = torch.randint(5, 40, (3, 40)), torch.rand(3, 40) < 0.15
    masked[:, 3] = True
    inputs = {"src_tokens": ids, "original": ids, "uniforms": torch.rand(3, 40, dtype=torch.float64)}
    inputs["sequences"] = torch.randint(sequences, (3, 40)).sort(1)[0]
    return {"net_input": inputs, "target": ids.where(masked, 1), "ntokens": 120, "nsentences": 3, "id": torch.arange(3)}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_trainer_hands_a_compiled_model_no_lengths(compiled):
    light = type("Prepares", (LightTrainer,), {"_prepare_sample": lambda _, sample, is_dummy: sample})
    trainer = with_callbacks(light, no_save=True)
    trainer.cfg.model.compile, trainer.model = compiled, SimpleNamespace(training=True)
    trainer.task.prepared = lambda batch, update: laid_out(batch, 1)
    layout = trainer._prepare_sample(packed(3))["net_input"]["layout"]
    assert (layout["tokens"]["lengths"] == []) == (layout["of_masked"]["lengths"] == []) == compiled
