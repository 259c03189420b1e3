"""What updates log stays on a GPU until a log step, and then travels in one transfer.

To read one number of a GPU means to wait until it has done all its work. So the figures of an update are read with
those of the updates after it: every --log-interval updates, every 30 seconds, at the end of an epoch and before a
checkpoint. fairseq's log and metrics.jsonl have the same lines as if each update had been read at once. On a CPU it is.
"""

import time
from typing import Any, NamedTuple

import torch

LONGEST = 30  # seconds


class PendingLog(NamedTuple):
    """An update. Numbers are tensors on the device until `take`."""

    outputs: list[dict[str, Any]]  # what the criterion logged of each batch
    sample_size: Any
    norm: Any  # of the gradient
    facts: dict[str, Any]  # of the line in metrics.jsonl


def on_gpu(value: Any) -> bool:
    """Whether a value is still to be read."""
    return torch.is_tensor(value) and value.is_cuda


class PendingLogs:
    """The callback: the updates whose figures were not read yet."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.held: list[PendingLog] = []
        self.read_at = 0.0  # so that the first update is read at once, and fairseq's clocks begin with it

    def add(self, log: PendingLog) -> None:
        """One update more."""
        self.held.append(log)

    def due(self) -> bool:
        """Whether they are to be read now."""
        trainer = self.trainer
        if not getattr(trainer, "cuda", False):
            return True
        updates, optimization = trainer.get_num_updates(), trainer.cfg.optimization
        last = optimization.max_update and updates >= optimization.max_update
        at_step = updates % trainer.cfg.common.log_interval == 0 or time.monotonic() - self.read_at > LONGEST
        return bool(last or at_step or trainer.end_of_epoch())

    def take(self) -> list[PendingLog]:
        """All of them, as numbers, by one transfer."""
        held, self.held, self.read_at = self.held, [], time.monotonic()
        tensors: list[torch.Tensor] = []
        for log in held:
            values = [log.sample_size, log.norm, *(one for part in (log.facts, *log.outputs) for one in part.values())]
            tensors += [value for value in values if on_gpu(value)]  # the norm was read by `skip_nonfinite.py`
        if not tensors:
            return held
        numbers = iter(torch.stack([tensor.reshape(()).double() for tensor in tensors]).tolist())

        def here(value):
            return next(numbers) if on_gpu(value) else value

        read = []
        for log in held:
            size, norm = here(log.sample_size), torch.as_tensor(here(log.norm))  # in the order of `tensors`
            facts, *outputs = [{key: here(value) for key, value in part.items()} for part in (log.facts, *log.outputs)]
            read.append(PendingLog(outputs, size, norm, facts))
        return read
