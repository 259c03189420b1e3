"""Where in an epoch a run resumes: at the right batch on any number of processes, or not at all.

fairseq saves how many batches each process has had, and nothing of how many processes there were, or how batches were
made. Its batches are made for all processes together, in one order, and dealt out: update u of W processes with
--update-freq F has the batches u W F to (u + 1) W F - 1 of that order, whoever reads them. So a run resumes with other
processes where W F stays as it was.
"""

import hashlib
from contextlib import contextmanager

import numpy as np

from fairseq_compat.errors import Refusal
from fairseq_compat.module_proxy import in_place_in

PROCESSES, PLAN = "num_shards", "plan"  # beside fairseq's own keys


@contextmanager
def save_place_of_all_processes(module):
    """After `fairseq.data.iterators` ran: EpochBatchIterator saves its place for all processes, and finds it again."""
    yield

    @in_place_in(module.EpochBatchIterator)
    def state_dict(original, self):
        return original(self) | {PROCESSES: self.num_shards, PLAN: plan_of(self)}

    @in_place_in(module.EpochBatchIterator)
    def load_state_dict(original, self, state):
        return original(self, at_place_of(state, self))


def plan_of(iterator) -> str:
    """A digest of what the order of the batches depends on, in the epoch that the iterator is in: the samples of each
    batch, and the seed."""
    batches = iterator.frozen_batches
    known = getattr(iterator, "_plan", None)
    if known is None or known[0] is not batches:
        digest = hashlib.sha256(f"{iterator.seed}/{len(batches)}/".encode())
        for batch in batches:
            digest.update(np.asarray(batch, dtype=np.int64).tobytes() + b"/")
        known = iterator._plan = (batches, digest.hexdigest())
    return known[1]


def at_place_of(state: dict, iterator) -> dict:
    """The iterator's state with the count of batches of these processes.

    Raises Refusal in the middle of an epoch that has other batches here, and where the processes cannot share out what
    is left. A state of stock fairseq, or at the start of an epoch, stays as it is.
    """
    done = state.get("iterations_in_epoch", 0)
    if not done or PROCESSES not in state:
        return state
    if state[PLAN] != plan_of(iterator):
        raise Refusal(
            "the checkpoint was saved in an epoch of other batches: its data, --batch-size, --max-tokens, --seed, or "
            "an option of the task, as --tokens-per-sample or --mix-weights, was another; give what it was trained "
            "with, or begin the epoch anew with --reset-dataloader."
        )
    seen, processes = done * state[PROCESSES], iterator.num_shards
    if seen % processes:
        raise Refusal(
            f"the checkpoint was saved after {seen} batches of its epoch, which {processes} processes cannot have had "
            f"alike; train on {state[PROCESSES]}, or begin the epoch anew with --reset-dataloader."
        )
    return state | {"iterations_in_epoch": seen // processes}


def refuse_another_effective_batch(state: dict, cfg) -> None:
    """Raise ValueError where the processes are others than a checkpoint's, and an update would have other batches."""
    then = state.get("cfg")
    if then is None or cfg.checkpoint.reset_dataloader:
        return
    epoch = state["extra_state"]["train_iterator"]["epoch"]
    (processes, frequency), (processes_now, frequency_now) = (_shape(options, epoch) for options in (then, cfg))
    batches = processes * frequency
    if processes == processes_now or batches == processes_now * frequency_now:
        return
    fitting = (
        f"give --update-freq {batches // processes_now}" if batches % processes_now == 0 else f"train on {processes}"
    )
    raise ValueError(
        f"it was trained by {processes} processes with --update-freq {frequency}, {batches} batches an update, and "
        f"here are {processes_now} with {frequency_now}; {fitting}, or begin the epoch anew with --reset-dataloader."
    )


def batches_per_step(cfg, epoch: int) -> int:
    """The batches that all processes read for an update of the epoch."""
    processes, frequency = _shape(cfg, epoch)
    return processes * frequency


def _shape(cfg, epoch: int) -> tuple[int, int]:
    """(processes, batches of each in an update of the epoch)."""
    frequencies = cfg.optimization.update_freq
    return cfg.distributed_training.distributed_world_size, int(frequencies[min(epoch, len(frequencies)) - 1])
