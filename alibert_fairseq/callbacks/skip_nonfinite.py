"""An update whose loss or gradient is not finite is skipped by all processes alike, and its batch is kept.

The check is made when gradient and loss are sums over all processes, so that all decide the same. Weights, moments and
the count of updates stay as they were; the next batch takes the place of this one. The line of an update in
metrics.jsonl tells how many batches were skipped before it, and so does a checkpoint that is saved among them. With
fp16, fairseq's loss scale handles a gradient that overflows.

    nonfinite_1201_rank3.pt    {"update": 1201, "seed": 1207, "rank": 3, "processes": 8, "gnorm": nan, "samples": [...]}

beside the checkpoints holds what process 3 read for update 1201: `torch.load(..., weights_only=True)` opens it. The
batch, the weights after update 1200 and `seed`, which dropout was drawn with, give the loss again.
"""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import torch
from fairseq.logging import metrics

from alibert_common.files import written_whole
from alibert_fairseq.options import STOP_AFTER_NONFINITE, option_of_task
from fairseq_compat.module_proxy import in_place_in

logger = logging.getLogger(__name__)

SKIPPED, OVERFLOWS = "skipped", "overflows"  # in extra_state of a checkpoint
KEPT = 3  # files of a process, the newest: a batch of 24 x 512 is some 300 kB, and one is enough to look at


class NotFinite(Exception):
    """The loss and the norm of the gradient, as sums over all processes."""

    def __init__(self, loss: float, norm: float):
        super().__init__(f"loss {loss:g}, norm of the gradient {norm:g}")
        self.loss, self.norm = loss, norm


class SkipNonfinite:
    """The callback: what it knows of the losses of an update, and how many batches it skipped since the last one."""

    def __init__(self, trainer):
        self.trainer, self.in_a_row, self.overflows = trainer, 0, 0  # --fp16 skips a batch where its scale is too large
        self.own: list = []  # the losses of this process
        self.all: object = None  # their sum on all processes, where there are several

    def begin(self, extra_state: dict | None) -> None:
        """Once the checkpoint is loaded: note the loss of each batch from now on."""
        state = extra_state or {}
        self.in_a_row, self.overflows = state.get(SKIPPED, 0), state.get(OVERFLOWS, 0)

        @in_place_in(self.trainer.task)
        def train_step(step, *args, **options):
            loss, sample_size, logged = step(*args, **options)
            self.own.append(logged.get("loss", 0))
            return loss, sample_size, logged

    @contextmanager
    def skipped(self, samples: list) -> Iterator[None]:
        """Around an update: where it is not finite, everything is as before, except for the count."""
        self.own, self.all = [], None
        trainer, updates = self.trainer, self.trainer.get_num_updates()
        # fairseq's meters that are at work: an exception passes `metrics.aggregate` without its end
        meters = [(live, live.copy()) for live in (metrics._active_aggregators, metrics._active_aggregators_cnt)]
        try:
            yield
        except NotFinite as error:
            for live, before in meters:
                live.clear()
                live.update(before)
            trainer.zero_grad()
            if getattr(trainer.optimizer, "scaler", None) is None and hasattr(trainer.optimizer, "_multiply_factor"):
                trainer.optimizer._multiply_factor = 1.0  # --bf16: the clipping of this gradient, else left
            metrics.log_stop_time("train_wall")
            self._tell_and_keep(samples, error)
        if trainer.get_num_updates() > updates:
            self.in_a_row = self.overflows = 0

    def note_sum(self, logging_outputs: list[dict]) -> None:
        """Once the processes have exchanged what they log."""
        self.all = sum(logged.get("loss", 0) for logged in logging_outputs)

    def checked(self, norm: torch.Tensor) -> torch.Tensor:
        """The norm, on the host. Raises NotFinite, on all processes alike. With --amp, the scaler skips by itself.

        On one GPU, this is the one moment in which an update waits for it: one that is not finite must not be made.
        """
        if self.trainer.cfg.common.amp:
            return norm
        loss = torch.as_tensor(sum(self.own) if self.all is None else self.all)
        found, loss = torch.stack([norm.double(), loss.to(norm.device).double()]).cpu()
        if not torch.isfinite(found + loss):
            raise NotFinite(float(loss), float(found))
        return found.to(norm.dtype)

    @contextmanager
    def ended_in_one_sentence(self) -> Iterator[None]:
        """A smallest loss scale (--fp16), or gradients that differ between processes, end the run."""
        try:
            yield
        except OverflowError:  # fairseq skips the batch
            self.overflows += 1
            raise
        except FloatingPointError as error:
            self._end(f"update {self.trainer.get_num_updates() + 1}: {' '.join(str(error).split())}")

    def extra_state(self) -> dict[str, int]:
        """What a checkpoint keeps of it."""
        state = {SKIPPED: self.in_a_row, OVERFLOWS: self.overflows}
        return {name: count for name, count in state.items() if count}

    def _tell_and_keep(self, samples: list, error: NotFinite) -> None:
        trainer = self.trainer
        update, first = trainer.get_num_updates() + 1, trainer.data_parallel_rank == 0
        self.in_a_row += 1
        kept = "kept nowhere (--no-save)"
        if not trainer.cfg.checkpoint.no_save:
            several = trainer.data_parallel_world_size > 1
            kept = f"in {place_of_batch(trainer, update, '*' if several else 0)}"
            own = float(sum(self.own))
            if not math.isfinite(own) or (first and math.isfinite(error.loss)):
                keep_batch(trainer, update, samples, own, error.norm)
        if first:
            logger.warning(f"update {update}: not finite ({error}); batch skipped, {self.in_a_row} in a row, {kept}")
        if self.in_a_row >= option_of_task(trainer.cfg, "stop_after_nonfinite", STOP_AFTER_NONFINITE):
            self._end(
                f"update {update}: {self.in_a_row} batches in a row whose loss or gradient is not finite ({error}), "
                f"the last one {kept}; resume from the last checkpoint, or start a new run, with a lower --lr, more "
                "--warmup-updates or a smaller --clip-norm."
            )

    def _end(self, sentence: str) -> NoReturn:
        """All processes know it; the first one says it. Before, the figures of the updates until now are logged."""
        self.trainer.log_pending()
        raise SystemExit(1 if self.trainer.data_parallel_rank else f"error: {sentence}")


def place_of_batch(trainer, update: int | str, rank: int | str) -> Path:
    """The file of an update's batch."""
    return Path(trainer.cfg.checkpoint.save_dir, f"nonfinite_{update}_rank{rank}.pt")


def keep_batch(trainer, update: int, samples: list, loss: float, gnorm: float) -> None:
    """Write the batch of this process, whole or not at all; a disk that is full does not end the run for it."""
    rank = trainer.data_parallel_rank
    place = place_of_batch(trainer, update, rank)
    held = {
        "update": update, "seed": trainer.cfg.common.seed + update - 1,  # Trainer._set_seed
        "rank": rank, "processes": trainer.data_parallel_world_size, "loss": loss, "gnorm": gnorm,
        "samples": [plain(sample) for sample in samples if sample],
    }  # fmt: skip
    try:
        with written_whole(place, "wb") as file:
            torch.save(held, file)
        files = place.parent.glob(place_of_batch(trainer, "*", rank).name)
        for old in sorted(files, key=lambda file: int(file.name.split("_")[1]))[:-KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError) as problem:  # torch covers what the system says with its own
        logger.warning(f"{place}: not written ({str(problem).partition(chr(10))[0]})")


def plain(value):
    """Tensors and plain values only, for `weights_only=True`."""
    if torch.is_tensor(value):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if hasattr(value, "item"):  # a number of numpy's
        return value.item()
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
