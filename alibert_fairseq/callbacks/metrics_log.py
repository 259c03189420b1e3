"""metrics.jsonl beside the checkpoints: one line per update, without a gap or a repeat, however often a run stops.

    {"update": 250, "epoch": 3, "seconds": 61, "tokens": 2048, "processes": 1, "skipped": 0, "lr": 0.0009, ...}

`seconds` is the time of training, that before a stop included. `tokens` is what the update read on all processes.
`skipped` is the number of steps before it that were not finite (`skip_nonfinite.py`). `lr` is the rate of the next
update, as in fairseq's own log. `gnorm` is the norm of the gradient. The rest is what the criterion logs for this
update. A number that is not finite is null. The first process writes the file, and flushes it to the disk before every
checkpoint. A run that resumes from an earlier update moves the lines after it to metrics.lost.jsonl, and hides them in
TensorBoard (--tensorboard-logdir).
"""

import functools
import json
import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairseq.logging import progress_bar

from alibert_common.files import written_whole
from alibert_common.json_value import parse_json
from fairseq_compat.errors import remedy_of

logger = logging.getLogger(__name__)

LOG, LOST = "metrics.jsonl", "metrics.lost.jsonl"


class MetricsFile:
    """metrics.jsonl of a run that resumes after so many updates; later lines are taken out of it first."""

    def __init__(self, folder: Path, updates: int):
        self.path = folder / LOG
        with self._in_one_sentence():
            folder.mkdir(parents=True, exist_ok=True)
            take_out(self.path, folder / LOST, updates)
            self.handle = open(self.path, "a", encoding="utf-8")

    def write(self, line: dict) -> None:
        """Append a line, whole: a reader, and a kill, meet it or not. Ends the run in one sentence on a full disk."""
        with self._in_one_sentence():
            self.handle.write(json.dumps(line) + "\n")
            self.handle.flush()

    def sync(self) -> None:
        """Have all lines on the disk. A file that was removed during the run begins anew, with a warning."""
        with self._in_one_sentence():
            if not self.path.exists():
                logger.warning(f"{self.path}: was removed during the run; it has the updates from now on")
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.handle = open(self.path, "a", encoding="utf-8")
            os.fsync(self.handle.fileno())

    @contextmanager
    def _in_one_sentence(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SystemExit(
                f"error: {self.path}: not written ({error.strerror}); {remedy_of(error)} and start the same command "
                "again, which resumes from the last whole checkpoint."
            ) from None


class MetricsLog:
    """The callback: the first process writes the file; with --no-save none does."""

    def __init__(self, trainer):
        self.trainer, self.epoch = trainer, 1
        self.file: MetricsFile | None = None

    def open(self) -> None:
        """Once the checkpoint is loaded."""
        trainer = self.trainer
        if trainer.data_parallel_rank == 0 and not trainer.cfg.checkpoint.no_save:
            self.file = MetricsFile(Path(trainer.cfg.checkpoint.save_dir), trainer.get_num_updates())
            hide_in_tensorboard(trainer.get_num_updates())

    def facts(self, skipped: int) -> dict:
        """What the line of an update says of its run. With several processes, the seconds are a tensor."""
        trainer = self.trainer
        return {
            "update": trainer.get_num_updates(), "epoch": self.epoch,
            "seconds": trainer.cumulative_training_time(), "tokens": 0,
            "processes": trainer.data_parallel_world_size, "skipped": skipped, "lr": trainer.get_lr(), "gnorm": 0.0,
        }  # fmt: skip

    def write_update(self, facts: dict, tokens: int, grad_norm: object, logged: dict) -> None:
        """The line of an update."""
        if self.file is not None:
            line = facts | {"seconds": round(float(facts["seconds"]), 1), "tokens": tokens, "gnorm": plain(grad_norm)}
            self.file.write(line | {name: plain(value) for name, value in logged.items()})

    def sync(self) -> None:
        """Before a checkpoint."""
        if self.file is not None:
            self.file.sync()


def take_out(path: Path, lost: Path, updates: int) -> None:
    """Move the lines after so many updates, and one that was cut short, to the end of `lost`.

    The file is another one afterwards: a run that is still at work, and that this one replaces, writes to the old one.
    """
    if not path.exists():
        return
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if _update_of(line) <= updates]
    if again := [line for line in lines if updates < _update_of(line) < math.inf]:
        with open(lost, "ab") as handle:
            handle.writelines(again)
    with written_whole(path, "wb", shared=True) as handle:
        handle.writelines(kept)


def _update_of(line: bytes) -> float:
    """Infinity for a line that was cut short."""
    try:
        return parse_json(line.decode())["update"] if line.endswith(b"\n") else math.inf
    except ValueError:
        return math.inf


def plain(value: Any) -> float | int | None:
    """A number, or a tensor of one, as JSON has it."""
    number = value.item() if hasattr(value, "item") else value
    return number if number is not None and math.isfinite(number) else None


def hide_in_tensorboard(updates: int) -> None:
    """Have TensorBoard, where it is, hide what an earlier start of the run has logged of later updates."""
    if progress_bar.SummaryWriter is not None:
        progress_bar.SummaryWriter = functools.partial(progress_bar.SummaryWriter, purge_step=updates + 1)
