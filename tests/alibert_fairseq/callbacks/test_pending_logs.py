"""Figures of updates that are read together are those that would have been read one by one."""

import json
from types import SimpleNamespace

import pytest
import torch
from light_trainer import LightTrainer, with_callbacks

from alibert_fairseq.callbacks import pending_logs
from alibert_fairseq.callbacks.pending_logs import PendingLog, PendingLogs


@pytest.fixture
def pending():
    trainer = SimpleNamespace(cuda=True, updates=1, ends=False)
    trainer.get_num_updates, trainer.end_of_epoch = lambda: trainer.updates, lambda: trainer.ends
    trainer.cfg = SimpleNamespace(common=SimpleNamespace(log_interval=10), optimization=SimpleNamespace(max_update=25))
    return PendingLogs(trainer)


def log(update: int) -> PendingLog:
    outputs = [{"loss": torch.tensor(update / 3), "ntokens": 7}, {"loss": torch.tensor(update / 7), "ntokens": 5}]
    size = torch.tensor(update) if update > 1 else update  # a tensor where processes have added theirs
    seconds = torch.tensor(update / 9) if update > 1 else update / 9
    return PendingLog(outputs, size, torch.tensor(2.0 * update), {"update": update, "seconds": seconds})


def test_on_a_gpu_they_are_read_at_log_steps_at_ends_and_after_half_a_minute(pending, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(pending_logs.time, "monotonic", lambda: now)
    assert pending.due()  # the first update: fairseq's clocks begin with it
    pending.take()
    due = {}
    for update in range(2, 26):
        pending.trainer.updates = update
        due[update] = pending.due()
    assert [update for update, at in due.items() if at] == [10, 20, 25]
    pending.trainer.updates = 11
    assert not pending.due()
    pending.trainer.ends = True
    assert pending.due()
    pending.trainer.ends, now = False, 1031.0
    assert pending.due()
    pending.trainer.cuda, now = False, 1000.0
    assert pending.due()


class OnDevice(torch.Tensor):
    """A tensor of the CPU that says it lies on a GPU."""

    is_cuda = True


def test_numbers_come_back_in_their_places(pending):
    def moved(value):
        return OnDevice(value) if torch.is_tensor(value) else value

    expected = [log(update) for update in (1, 2, 3)]
    for one in expected:
        outputs = [{name: moved(value) for name, value in o.items()} for o in one.outputs]
        facts = {name: moved(value) for name, value in one.facts.items()}
        pending.add(PendingLog(outputs, moved(one.sample_size), one.norm, facts))
    found = pending.take()
    assert pending.take() == []
    for one, mine in zip(expected, found, strict=True):
        assert (mine.sample_size, mine.facts, float(mine.norm)) == (one.sample_size, one.facts, float(one.norm))
        assert not any(
            isinstance(v, OnDevice) for v in (mine.sample_size, *mine.facts.values(), *mine.outputs[0].values())
        )
        assert mine.outputs == [{"loss": float(o["loss"]), "ntokens": o["ntokens"]} for o in one.outputs]


def ended(end):
    with pytest.raises(SystemExit):
        end()


@pytest.mark.parametrize(
    "end",
    [
        lambda trainer: trainer.consolidate_optimizer(),  # a checkpoint
        lambda trainer: ended(lambda: trainer.nonfinite._end("update 8: not finite")),
        lambda trainer: ended(lambda: trainer.memory._end([], RuntimeError("out of memory"))),
    ],
)
def test_what_is_read_late_has_the_lines_of_its_updates_before_a_checkpoint_and_an_end(end, tmp_path, monkeypatch):
    trainer, file = with_callbacks(LightTrainer, tmp_path), tmp_path / "metrics.jsonl"
    trainer.load_checkpoint("last")
    monkeypatch.setattr(trainer.pending, "due", lambda: False)
    for trainer.updates in (5, 6, 7):
        found = trainer._reduce_and_log_stats([{"ntokens": 10 * trainer.updates}], 1, grad_norm=trainer.updates / 2)
        assert found == {} and not file.read_text()
    end(trainer)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["update"], one["tokens"], one["gnorm"]) for one in lines] == [(5, 50, 2.5), (6, 60, 3.0), (7, 70, 3.5)]
