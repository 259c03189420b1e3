"""`--compile`: one graph for every objective and body, and the losses and gradients of the eager model."""

import pytest
import torch
from objectives import OBJECTIVES

from alibert_fairseq.data.layout import laid_out


def update(model, criterion, batch):
    """(loss, gradient)."""
    torch.manual_seed(0)
    model.zero_grad()
    loss = criterion(model, batch)[0]
    loss.backward()
    return loss.detach(), torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_update_is_one_graph_and_the_same_numbers(objective):
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
