"""Which samples each update of a run has read, computed again from the data and the configuration.

fairseq orders the batches of an epoch by its seed and number, whatever the number of processes. A step of W processes
with --update-freq F has the next W F batches. A step is an update, unless its batch was not finite.
"""

from collections.abc import Iterator
from itertools import chain, count
from typing import NamedTuple

from fairseq import utils

from alibert_common.errors import InputError
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.lineage.run import Run, Update
from alibert_fairseq.tasks.pretraining import PretrainingTask
from fairseq_compat.checkpoints.position import batches_per_step


class Step(NamedTuple):
    """What all processes read between two updates."""

    epoch: int
    samples: list[int]  # numbers in `dataset`
    dataset: MaskedDataset  # of the epoch


class ReadUpdate(NamedTuple):
    """An update with all that was read for it, batches that were not finite included."""

    number: int
    steps: list[Step]


def order_of(run: Run, task: PretrainingTask) -> Iterator[ReadUpdate]:
    """The updates of a run with their samples, in order.

    Raises InputError where the tokens of an update are not as many as the run has noted: the data-bin is another one,
    or an option of the data was another one for a while.
    """
    steps = steps_of(run, task)
    for update in run.updates:
        read = [next(steps) for _ in range(1 + update.skipped)]
        last = read[-1]
        tokens = int(last.dataset.sizes[last.samples].sum())
        if (last.epoch, tokens) != (update.epoch, update.tokens):
            raise InputError(
                f"{run.cfg.task.data}: update {update.number} would read {tokens:,} tokens in epoch {last.epoch}, and "
                f"{run.folder} has noted {update.tokens:,} in epoch {update.epoch}; give the data-bin of this run."
            )
        yield ReadUpdate(update.number, read)


def steps_of(run: Run, task: PretrainingTask) -> Iterator[Step]:
    """The steps of all epochs, without end."""
    cfg = run.cfg
    for option, given in (("--grouped-shuffling", cfg.dataset.grouped_shuffling), ("--amp", cfg.common.amp)):
        if given:
            raise InputError(f"{run.folder}: was trained with {option}, whose order of batches is not computed again.")
    for epoch in count(1):
        batches, dataset = batches_of(cfg, task, epoch)
        size = batches_per_step(cfg, epoch)
        if cfg.optimization.skip_remainder_batch:
            processes = cfg.distributed_training.distributed_world_size
            of_each = -(-len(batches) // processes) - 1  # fairseq leaves out the last one, full or not
            batches = batches[: of_each * processes // size * size]
        for first in range(0, len(batches), size):
            yield Step(epoch, list(chain.from_iterable(batches[first : first + size])), dataset)


def batches_of(cfg, task: PretrainingTask, epoch: int) -> tuple[list, MaskedDataset]:
    """(the batches of an epoch in the order of their use, the data), as fairseq's trainer loads them."""
    split = cfg.dataset.train_subset
    task.load_dataset(split, epoch=epoch, combine=True)
    dataset = task.datasets[split]
    model_positions = cfg.model.get("max_positions")
    iterator = task.get_batch_iterator(
        dataset=dataset, max_tokens=cfg.dataset.max_tokens, max_sentences=cfg.dataset.batch_size,
        max_positions=utils.resolve_max_positions(task.max_positions(), model_positions, cfg.dataset.max_tokens),
        ignore_invalid_inputs=True, required_batch_size_multiple=cfg.dataset.required_batch_size_multiple,
        seed=cfg.common.seed + epoch * cfg.dataset.update_ordered_indices_seed, epoch=epoch,
        update_epoch_batch_itr=cfg.dataset.update_epoch_batch_itr,
    )  # fmt: skip
    shuffled = epoch > cfg.dataset.curriculum
    return [[int(index) for index in batch] for batch in iterator.ordered_batches(epoch, False, shuffled)], dataset


def first_updates(run: Run, task: PretrainingTask, wanted: set[int]) -> Iterator[tuple[Update, set[int]]]:
    """Updates that are the first to read some of the wanted documents, with these documents.

    The task reads documents as `DocumentNumbers`. Ends when all are found, and at the last update.
    """
    left = set(wanted)
    for update, read in zip(run.updates, order_of(run, task), strict=True):
        found = {-1 - int(n) for step in read.steps for n in negative(step)} & left
        if found:
            left -= found
            yield update, found
        if not left:
            return


def negative(step: Step) -> Iterator[int]:
    """The distinct numbers below zero in the samples of a step."""
    for sample in step.samples:
        values = step.dataset.sequences[sample].numpy()
        yield from set(values[values < 0].tolist())
