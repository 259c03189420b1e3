"""metrics.jsonl beside the checkpoints: a line an update, without a gap or a repeat however often a run was stopped.

    {"update": 250, "epoch": 3, "seconds": 61, "tokens": 2048, "processes": 1, "skipped": 0, "lr": 0.0009, ...}

`seconds` are of training, those before a stop included; `tokens` what the update read, on all processes; `skipped` the
batches before it that were not finite (`guards/nonfinite.py`); `lr` is the rate of the next update, as in fairseq's own
log; `gnorm` the norm of the gradient; the rest is what the criterion logs, of this update alone. A number that is not
finite is null. The first process writes it, and has it on the disk before every checkpoint. Lines of
updates that are done again, because a run goes on from before them, go to metrics.lost.jsonl, and are hidden in
TensorBoard (--tensorboard-logdir).
"""

import functools
import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fairseq.logging import progress_bar

from alibert_common.files import written_whole

LOG, LOST = "metrics.jsonl", "metrics.lost.jsonl"


class MetricsLog:
    """The file of a run that goes on after so many updates; other lines are taken out of it first."""

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
        """Have all lines on the disk."""
        with self._in_one_sentence():
            os.fsync(self.handle.fileno())

    @contextmanager
    def _in_one_sentence(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SystemExit(
                f"error: {self.path}: not written ({error.strerror}); make room and start the same command again, "
                "which goes on from the last whole checkpoint."
            ) from None


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
        return json.loads(line)["update"] if line.endswith(b"\n") else math.inf
    except ValueError:
        return math.inf


def plain(value: object) -> float | int | None:
    """A number, or a tensor of one, as JSON has it."""
    number = value.item() if hasattr(value, "item") else value
    return number if number is not None and math.isfinite(number) else None


def tokens_of(logging_outputs: Iterable[dict]) -> int:
    """Those of an update on all processes."""
    return int(sum(output.get("ntokens", 0) for output in logging_outputs))


def logging_metrics(trainer_class: type) -> None:
    """Have fairseq's Trainer write the file, for every run with this plugin; with --no-save it does not."""
    load, save = trainer_class.load_checkpoint, trainer_class.save_checkpoint
    begin, reduce = trainer_class.begin_epoch, trainer_class._reduce_and_log_stats

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        extra_state = load(self, *args, **options)
        if self.data_parallel_rank == 0 and not self.cfg.checkpoint.no_save:
            self.metrics_log = MetricsLog(Path(self.cfg.checkpoint.save_dir), self.get_num_updates())
            hide_in_tensorboard(self.get_num_updates())
        return extra_state

    @functools.wraps(save)
    def save_checkpoint(self, *args, **options):
        if log := _log_of(self):
            log.sync()
        return save(self, *args, **options)

    @functools.wraps(begin)
    def begin_epoch(self, epoch):
        self.epoch_of_log = epoch
        return begin(self, epoch)

    @functools.wraps(reduce)
    def _reduce_and_log_stats(self, logging_outputs, sample_size, grad_norm=None):
        tokens = tokens_of(logging_outputs or ())
        found = reduce(self, logging_outputs, sample_size, grad_norm)
        log = _log_of(self)
        if log and grad_norm is not None:  # of validation there is none
            log.write(
                {
                    "update": self.get_num_updates(),
                    "epoch": self.epoch_of_log,
                    "seconds": round(float(self.cumulative_training_time()), 1),
                    "tokens": tokens,
                    "processes": self.data_parallel_world_size,
                    "skipped": self.skipping.in_a_row if hasattr(self, "skipping") else 0,
                    "lr": self.get_lr(),
                    "gnorm": plain(grad_norm),
                }
                | {name: plain(value) for name, value in found.items()}
            )
        return found

    for method in (load_checkpoint, save_checkpoint, begin_epoch, _reduce_and_log_stats):
        setattr(trainer_class, method.__name__, method)


def hide_in_tensorboard(updates: int) -> None:
    """Have TensorBoard, where it is, hide what an earlier start of the run has logged of later updates."""
    if progress_bar.SummaryWriter is not None:
        progress_bar.SummaryWriter = functools.partial(progress_bar.SummaryWriter, purge_step=updates + 1)


def _log_of(trainer) -> MetricsLog | None:
    return getattr(trainer, "metrics_log", None)
