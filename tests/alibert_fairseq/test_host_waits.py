"""Between two log steps no operation asks the device for a value: in none of the tasks, bodies and optimizers.

On a GPU each such question waits until all work is done. On a CPU the questions are the same, and can be counted.
"""

from types import SimpleNamespace

import pytest
import torch
from fairseq.utils import clip_grad_norm_
from objectives import OBJECTIVES
from torch.utils._python_dispatch import TorchDispatchMode

from alibert_fairseq.callbacks.pending_logs import PendingLog, PendingLogs
from alibert_fairseq.data.layout import laid_out
from alibert_fairseq.models.pretraining import mark_depths
from alibert_fairseq.optim.adam_lamb_step import AdamLamb, decay_groups
from alibert_fairseq.optim.marks import is_hidden_matrix
from alibert_fairseq.optim.muon_step import MuonAdam

QUESTIONS = ("local_scalar_dense", "nonzero", "unique", "masked_select", "bincount")


class Questions(TorchDispatchMode):
    """Notes every operation whose result depends on what lies on the device."""

    def __init__(self):
        super().__init__()
        self.asked: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        by_mask = name in ("index", "index_put_", "index_put") and any(
            one is not None and one.dtype == torch.bool for one in args[1]
        )
        if by_mask or any(question in name for question in QUESTIONS):
            self.asked.append(name)
        return function(*args, **(kwargs or {}))


def optimizers(model):
    """One of each kind."""
    groups = decay_groups(model.parameters(), 0.01, adapt=True)
    hidden = [parameter for parameter in model.parameters() if is_hidden_matrix(parameter)]
    others = [parameter for parameter in model.parameters() if not is_hidden_matrix(parameter)]
    return [
        AdamLamb(decay_groups(model.parameters(), 0.01, adapt=False), lr=1e-3, adapt=False),
        AdamLamb(groups, lr=1e-3, max_grad_norm=1.0),
        MuonAdam([*decay_groups(others, 0.01, False), {"params": hidden, "momentum": 0.9}], lr=1e-3),
    ]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_update_asks_the_device_nothing(objective):
    torch.manual_seed(0)
    model, criterion, batch = OBJECTIVES[objective]()
    for module in model.modules():
        if hasattr(module, "layers") and hasattr(module, "size"):
            mark_depths(module)
    trainer = SimpleNamespace(cuda=True, get_num_updates=lambda: 7, end_of_epoch=lambda: False)
    trainer.cfg = SimpleNamespace(common=SimpleNamespace(log_interval=10), optimization=SimpleNamespace(max_update=0))
    pending = PendingLogs(trainer)
    pending.take()
    batch = laid_out(batch, 1)  # on the host
    for optimizer in optimizers(model):
        with Questions() as questions:
            loss, size, logged = criterion(model.train(), batch)
            loss.backward()
            norm = clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            pending.add(PendingLog([logged], size, norm, {}))
            assert not pending.due()
        assert questions.asked == []
        optimizer.zero_grad()
    assert len(pending.take()) == 3


def test_a_question_is_seen():
    values = torch.tensor([1.0, 2.0])
    with Questions() as questions:
        float(values[0]), values[values > 1], values.unique(), values.nonzero()
    assert {"_local_scalar_dense", "_unique2", "nonzero"} <= set(questions.asked)
