"""A run goes on at its place in the epoch on any number of processes, or is refused: no sample twice, none left out."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.data.iterators import EpochBatchIterator, GroupedIterator

from fairseq_compat.checkpoints.position import PLAN, PROCESSES, refuse_another_effective_batch
from fairseq_compat.checkpoints.resuming import end_epoch_of
from fairseq_compat.errors import Refusal

SAMPLES = 103
UPDATES = 7  # of an epoch: 35 batches of 3, five or six an update


class Numbers(torch.utils.data.Dataset):
    """Samples that are their own numbers."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return index


def iterator(rank: int, processes: int, batch_size=3, seed=1, samples=SAMPLES) -> EpochBatchIterator:
    batches = [list(range(i, min(i + batch_size, samples))) for i in range(0, samples, batch_size)]
    return EpochBatchIterator(Numbers(), list, batches, seed=seed, num_shards=processes, shard_id=rank)


def train(processes: int, frequency: int, state: dict | None, updates: int) -> tuple[list[set[int]], dict]:
    """(the samples of each update, the state that is saved then), going on from a state."""
    seen: list[set[int]] = [set() for _ in range(updates)]
    for rank in range(processes):
        epoch = iterator(rank, processes)
        if state:
            epoch.load_state_dict(state)
        groups = GroupedIterator(epoch.next_epoch_itr(), frequency)
        for update in range(updates):
            found = [sample for batch in next(groups) for sample in batch]
            assert len(found) == len(set(found)) and not seen[update] & set(found)
            seen[update] |= set(found)
        saved = epoch.state_dict()
    return seen, saved


@pytest.mark.parametrize("shapes", [[(1, 6), (2, 3), (1, 6)], [(2, 3), (3, 2), (6, 1)], [(3, 2), (1, 6), (2, 3)]])
def test_every_sample_of_the_epoch_is_seen_once_and_in_the_same_update(shapes):
    whole, _ = train(1, 6, None, 6)
    assert set.union(*whole) == set(range(SAMPLES))
    seen, state = [], None
    for (processes, frequency), updates in zip(shapes, (2, 3, 1), strict=True):
        found, state = train(processes, frequency, state, updates)
        seen += found
    assert seen == whole and sum(map(len, seen)) == SAMPLES
    assert (state["epoch"], state["iterations_in_epoch"]) == (2, 0)


def saved(processes=2, updates=1) -> dict:
    return train(processes, 2, None, updates)[1]


@pytest.mark.parametrize("other", [{"batch_size": 4}, {"seed": 2}, {"samples": SAMPLES - 1}])
def test_an_epoch_of_other_batches_is_refused(other):
    with pytest.raises(Refusal, match="an epoch of other batches.*--mix-weights.*--reset-dataloader"):
        iterator(0, 2, **other).load_state_dict(saved())


def test_an_epoch_that_has_not_begun_may_have_other_batches():
    iterator(0, 4, batch_size=5).load_state_dict(saved() | {"epoch": 2, "iterations_in_epoch": 0})


def test_processes_that_cannot_share_out_what_is_left_are_refused():
    with pytest.raises(
        Refusal, match="after 4 batches of its epoch, which 3 processes cannot have had alike; train on 2"
    ):
        iterator(0, 3).load_state_dict(saved())


def test_a_state_of_stock_fairseq_is_taken_as_it_is():
    state = {name: value for name, value in saved().items() if name not in (PROCESSES, PLAN)}
    epoch = iterator(0, 4, batch_size=5)
    epoch.load_state_dict(state)
    assert epoch.iterations_in_epoch == 2


def configuration(processes: int, frequencies: list[int], reset: bool = False):
    return SimpleNamespace(
        distributed_training=SimpleNamespace(distributed_world_size=processes),
        optimization=SimpleNamespace(update_freq=frequencies),
        checkpoint=SimpleNamespace(reset_dataloader=reset),
    )


@pytest.mark.parametrize(
    "then, now, remedy",
    [
        (
            (4, [2]),
            (2, [2]),
            "8 batches an update, and here are 2 with 2; give --update-freq 4, or begin the epoch anew",
        ),
        ((4, [2]), (3, [2]), "; train on 4, or begin the epoch anew"),
        ((4, [2]), (2, [4]), None),
        ((4, [2]), (4, [1]), None),  # the same processes: another batch is what the user wants
        ((4, [1, 2]), (2, [1, 4]), None),  # the second epoch
        ((4, [1, 2]), (2, [2, 2]), "give --update-freq 4"),
    ],
)
def test_other_processes_have_the_same_effective_batch(then, now, remedy):
    state = {"cfg": configuration(*then), "extra_state": {"train_iterator": {"epoch": 2}}}
    if remedy is None:
        refuse_another_effective_batch(state, configuration(*now))
        return
    with pytest.raises(ValueError, match=remedy):
        refuse_another_effective_batch(state, configuration(*now))
    refuse_another_effective_batch(state, configuration(*now, reset=True))


END = {"version": 2, "epoch": 4, "iterations_in_epoch": 0}


@pytest.mark.parametrize(
    ("place", "loss", "told"),
    [
        (END, 2.5, [(3, 2.5)]),
        (END, None, []),  # without validation
        (END | {"iterations_in_epoch": 2}, 2.5, []),
        ({"epoch": 4}, 2.5, []),  # of a stream, which has no place
        (END | {"version": 1}, 2.5, []),
    ],
)
def test_the_scheduler_is_told_the_loss_of_an_epoch_that_ended(place, loss, told):
    """fairseq does this after it has saved, so that a run which resumes there has missed it."""
    calls = []
    trainer = SimpleNamespace(lr_step=lambda epoch, loss: calls.append((epoch, loss)))
    end_epoch_of({"train_iterator": place, "val_loss": loss}, trainer)
    assert calls == told
