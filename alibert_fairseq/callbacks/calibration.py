"""A few updates of a recipe on one process, to estimate what the whole run will take: for `launch --dry-run`.

Where ALIBERT_CALIBRATION names a file, a training is a calibration: on a GPU with the batch of the recipe, on CPU with
a part of it that a core can do in seconds. It writes no checkpoint and ends by itself. It measures one process and one
batch (`sequences`), and writes:

    {"device", "parameters", "state_bytes", "activation_bytes", "peak_bytes", "flop", "seconds",
     "epoch_tokens", "sequences", "tokens_per_sample", "batch_size", "max_tokens", "update_freq", "max_update",
     "warmup_updates"}

`state_bytes` counts weights, their copies for autocast, gradients and the optimizer's state. `activation_bytes` counts
what the forward pass keeps for the backward pass. `peak_bytes` is the most that a GPU's allocator held, 0 on a CPU. The
last five come from the recipe.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from fairseq import utils
from torch.utils.flop_counter import FlopCounterMode

from alibert_fairseq.layers import attention

VARIABLE = "ALIBERT_CALIBRATION"
FLOP_ON_CPU = 1e11  # of an update there: a core does 50 to 200 GFLOP/s; at least one sequence
# The first of the two that is reached ends it, after two updates that do not count.
TIMED_UPDATES, TIMED_SECONDS = 5, 15


class Calibration:
    """The callback: it does nothing unless ALIBERT_CALIBRATION is set."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.found: dict[str, Any] | None = None
        self.times: list[float] = []

    def begin(self) -> None:
        """Change the configuration to one batch an update, a small one on CPU, without an end."""
        if not os.environ.get(VARIABLE):
            return
        trainer, dataset, optimization = self.trainer, self.trainer.cfg.dataset, self.trainer.cfg.optimization
        length, parameters = trainer.task.max_positions(), sum(weight.numel() for weight in trainer.model.parameters())
        multiple, batch = dataset.required_batch_size_multiple, dataset.batch_size
        if batch:  # fairseq cuts the other sequences off
            batch = max(batch - batch % multiple, batch % multiple)
        whole = batch or dataset.max_tokens / length
        in_reach = max(1, min(int(whole), int(FLOP_ON_CPU / (6 * parameters * length))))
        self.found = {
            "parameters": parameters,
            "sequences": whole if trainer.cuda else in_reach,
            "device": torch.cuda.get_device_name() if trainer.cuda else "CPU",
            "batch_size": batch,
            "max_tokens": dataset.max_tokens,
            "update_freq": optimization.update_freq[0],
            "max_update": optimization.max_update,
            "warmup_updates": getattr(trainer.cfg.lr_scheduler, "warmup_updates", 0),
            "tokens_per_sample": length,
        }
        optimization.update_freq, optimization.max_update, optimization.max_epoch = [1], 0, 0
        optimization.stop_time_hours = 0  # launch/estimate.py gives one, for trainings without this plugin
        if not trainer.cuda:
            dataset.batch_size, dataset.max_tokens = in_reach, None
            dataset.required_batch_size_multiple = 1  # else fairseq makes 4 sequences of 6

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Around an update: the first makes the optimizer's state, the second is counted, the others are timed."""
        if self.found is None:
            yield
        elif "state_bytes" not in self.found:
            yield
            states = self.trainer.optimizer.optimizer.state.values()
            moments = [moment.nbytes for state in states for moment in state.values() if torch.is_tensor(moment)]
            weights = [weight.nbytes for weight in self.trainer.model.parameters()]
            self.found["state_bytes"] = 2 * sum(weights) + sum(moments)
        elif "flop" not in self.found:
            with counted(self.trainer.model) as counts:
                yield
            self.found |= {"flop": counts["flop"], "activation_bytes": counts["activation_bytes"]}
            self.found["state_bytes"] += counts["copy_bytes"]
        else:
            began = time.perf_counter()
            yield
            if self.trainer.cuda:
                torch.cuda.synchronize()
            self.times.append(time.perf_counter() - began)
            if len(self.times) >= TIMED_UPDATES or sum(self.times) > TIMED_SECONDS:
                self._end(self.found)

    def _end(self, found: dict[str, Any]) -> NoReturn:
        found["seconds"] = statistics.median(self.times)
        found["epoch_tokens"] = self._tokens()
        found["peak_bytes"] = torch.cuda.max_memory_allocated() if self.trainer.cuda else 0
        Path(os.environ[VARIABLE]).write_text(json.dumps(found))
        sys.exit(0)

    def _tokens(self) -> int:
        """In all data-bins, of which an epoch reads one; 0: unknown, of a task of fairseq."""
        task, split, tokens = self.trainer.task, self.trainer.cfg.dataset.train_subset, 0
        for epoch in range(1, 1 + len(utils.split_paths(getattr(self.trainer.cfg.task, "data", None) or ""))):
            if epoch > 1:
                task.load_dataset(split, epoch=epoch, combine=True)
            tokens += int(np.sum(getattr(task.dataset(split), "sizes", 0)))
        return tokens


@contextmanager
def counted(model: torch.nn.Module) -> Iterator[dict[str, int]]:
    """Count, in the block: floating-point operations, and the bytes that its forward pass keeps for the backward pass.

    Copies of weights (those of autocast) are counted apart from activations.
    """
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    shapes = {tuple(weight.shape) for weight in model.parameters()}
    shapes |= {(3 * shape[0], shape[1]) for shape in shapes if len(shape) == 2}  # queries, keys and values as one
    kept: dict[int, tuple[bool, int]] = {}
    counts: dict[str, int] = {}

    def pack(tensor):
        is_copy = tuple(tensor.shape) in shapes or tuple(tensor.shape[::-1]) in shapes
        kept[tensor.untyped_storage().data_ptr()] = (is_copy, tensor.untyped_storage().nbytes())
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, _attention_as_on_a_gpu(), FlopCounterMode(display=False) as counter:
        yield counts
    sizes = [entry for place, entry in kept.items() if place not in weights]
    copies, others = (sum(size for is_copy, size in sizes if is_copy is copied) for copied in (True, False))
    counts |= {"flop": counter.get_total_flops(), "copy_bytes": copies, "activation_bytes": others}


@contextmanager
def _attention_as_on_a_gpu() -> Iterator[None]:
    """A CPU's attention in pieces keeps matrices of tokens x tokens; PyTorch's keeps as little as a GPU's."""
    original, in_pieces = torch.nn.functional.scaled_dot_product_attention, attention.draws_bits

    def without_dropout(*args, dropout_p=0.0, **options):
        return original(*args, dropout_p=0.0, **options)

    torch.nn.functional.scaled_dot_product_attention = without_dropout
    attention.draws_bits = lambda x: False
    try:
        yield
    finally:
        torch.nn.functional.scaled_dot_product_attention, attention.draws_bits = original, in_pieces
