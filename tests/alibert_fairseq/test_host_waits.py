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
from alibert_fairseq.layers import attention, dropout
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


def as_on_a_gpu(monkeypatch):
    """The ways that a GPU takes: PyTorch's attention and dropout, and LAMB on whole tensors."""
    for module in (attention, dropout):
        monkeypatch.setattr(module, "draws_bits", lambda _: False)
    whole = AdamLamb._lamb
    monkeypatch.setattr(AdamLamb, "_lamb_in_pieces", lambda own, group, *one: whole(own, group, *([x] for x in one)))


def copies_are_questions(monkeypatch, questions):
    """Note what copies a tensor to the host."""
    for name in ("tolist", "cpu", "numpy"):
        copy = getattr(torch.Tensor, name)
        monkeypatch.setattr(torch.Tensor, name, lambda x, n=name, c=copy: questions.asked.append(n) or c(x))


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_update_asks_the_device_nothing(objective, on_gpu, monkeypatch):
    if on_gpu:
        as_on_a_gpu(monkeypatch)
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
        with monkeypatch.context() as patch, Questions() as questions:
            copies_are_questions(patch, questions)
            loss, size, logged = criterion(model.train(), batch)
            loss.backward()
            norm = clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            pending.add(PendingLog([logged], size, norm, {}))
            assert not pending.due()
        assert questions.asked == []
        optimizer.zero_grad()
    assert len(pending.take()) == 3


def test_a_question_is_seen(monkeypatch):
    values = torch.tensor([1.0, 2.0])
    with monkeypatch.context() as patch, Questions() as questions:
        copies_are_questions(patch, questions)
        float(values[0]), values[values > 1], values.unique(), values.nonzero(), values.tolist(), values.cpu()
    assert {"_local_scalar_dense", "_unique2", "nonzero", "tolist", "cpu"} <= set(questions.asked)
