"""A few updates of a recipe on one process, to tell what the whole run will take: for `launch --dry-run`.

Where ALIBERT_CALIBRATION names a file, a training is such a calibration: on a GPU with the batch of the recipe, on CPU
with so much of it as a core needs seconds for. It writes no checkpoint and ends by itself. What is measured, of one
process and of one batch (`sequences`):

    {"device", "parameters", "state_bytes", "activation_bytes", "peak_bytes", "flop", "seconds",
     "sequences", "tokens_per_sample", "batch_size", "max_tokens", "update_freq", "max_update"}

`state_bytes` are weights, their copies for autocast, gradients and the optimizer's state; `activation_bytes` what the
forward pass keeps for the backward pass; `peak_bytes` the most that a GPU's allocator held, 0 on CPU; the last five are
the recipe's.
"""

import functools
import json
import os
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

VARIABLE = "ALIBERT_CALIBRATION"
FLOP_ON_CPU = 3e11  # of an update there: a core does 50 to 200 GFLOP/s; at least one sequence
# The first of the two that is reached ends it, after two updates that do not count.
TIMED_UPDATES, TIMED_SECONDS = 8, 15


def calibrating_when_asked(trainer_class: type) -> None:
    """Have fairseq's Trainer calibrate, where ALIBERT_CALIBRATION is set."""
    if not os.environ.get(VARIABLE):
        return
    load, step = trainer_class.load_checkpoint, trainer_class.train_step

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        extra_state = load(self, *args, **options)
        self.calibration = Calibration(self)
        return extra_state

    @functools.wraps(step)
    def train_step(self, samples, *args, **options):
        self.calibration.measure(functools.partial(step, self, samples, *args, **options))

    trainer_class.load_checkpoint, trainer_class.train_step = load_checkpoint, train_step


class Calibration:
    """What is measured of a trainer. Its configuration is changed to one batch an update, a small one on CPU."""

    def __init__(self, trainer):
        dataset, optimization = trainer.cfg.dataset, trainer.cfg.optimization
        self.trainer, self.times = trainer, []
        length, parameters = trainer.task.max_positions(), sum(each.numel() for each in trainer.model.parameters())
        whole = dataset.batch_size or dataset.max_tokens / length
        in_reach = max(1, min(int(whole), int(FLOP_ON_CPU / (6 * parameters * length))))
        self.found = {
            "parameters": parameters,
            "sequences": whole if trainer.cuda else in_reach,
            "device": torch.cuda.get_device_name() if trainer.cuda else "CPU",
            "batch_size": dataset.batch_size,
            "max_tokens": dataset.max_tokens,
            "update_freq": optimization.update_freq[0],
            "max_update": optimization.max_update,
            "tokens_per_sample": length,
        }
        optimization.update_freq, optimization.max_update, optimization.max_epoch = [1], 0, 0  # it ends by itself
        if not trainer.cuda:
            dataset.batch_size, dataset.max_tokens = self.found["sequences"], None

    def measure(self, update) -> None:
        """Do an update: the first makes the optimizer's state, the second is counted, the others are timed."""
        if "state_bytes" not in self.found:
            update()
            self.found["state_bytes"] = self._state_bytes()
        elif "flop" not in self.found:
            flop, copies, activations = _count(update, self.trainer.model)
            self.found |= {"flop": flop, "activation_bytes": activations}
            self.found["state_bytes"] += copies
        else:
            began = time.perf_counter()
            update()
            if self.trainer.cuda:
                torch.cuda.synchronize()
            self.times.append(time.perf_counter() - began)
        if len(self.times) >= TIMED_UPDATES or sum(self.times) > TIMED_SECONDS:
            self._end()

    def _state_bytes(self) -> int:
        moments = [moment for state in self.trainer.optimizer.optimizer.state.values() for moment in state.values()]
        weights = list(self.trainer.model.parameters())
        return 2 * sum(map(_bytes, weights)) + sum(_bytes(moment) for moment in moments if torch.is_tensor(moment))

    def _end(self) -> None:
        self.found["seconds"] = statistics.median(self.times)
        self.found["peak_bytes"] = torch.cuda.max_memory_allocated() if self.trainer.cuda else 0
        Path(os.environ[VARIABLE]).write_text(json.dumps(self.found))
        sys.exit(0)


def _count(update, model: torch.nn.Module) -> tuple[int, int, int]:
    """Of an update: floating-point operations; bytes that its forward pass keeps of the weights' copies; of others."""
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    shapes = {tuple(weight.shape) for weight in model.parameters()}
    kept: dict[int, tuple[bool, int]] = {}

    def pack(tensor):
        is_copy = tuple(tensor.shape) in shapes or tuple(tensor.shape[::-1]) in shapes
        kept[tensor.untyped_storage().data_ptr()] = (is_copy, tensor.untyped_storage().nbytes())
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, _attention_as_on_a_gpu(), FlopCounterMode(display=False) as counter:
        update()
    sizes = [found for place, found in kept.items() if place not in weights]
    copies, others = (sum(size for is_copy, size in sizes if is_copy is which) for which in (True, False))
    return counter.get_total_flops(), copies, others


@contextmanager
def _attention_as_on_a_gpu():
    """With dropout the CPU's attention keeps matrices of tokens x tokens; without it, as little as a GPU's always."""
    original = torch.nn.functional.scaled_dot_product_attention

    def without_dropout(*args, dropout_p=0.0, **options):
        return original(*args, dropout_p=0.0, **options)

    torch.nn.functional.scaled_dot_product_attention = without_dropout
    try:
        yield
    finally:
        torch.nn.functional.scaled_dot_product_attention = original


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
