"""One run at a time writes a --save-dir: the one that was started last.

A node that a cluster has lost sight of may go on training for a while after the job was started again elsewhere, and a
user may start a run twice. The first process of a run leaves its name in SAVE_DIR/.owner as soon as it has loaded what
it goes on from, looks there before every update, line of metrics.jsonl and checkpoint, and ends when it finds
another's.
"""

import contextlib
import functools
import json
import os
import secrets
import socket
import time
from pathlib import Path

NAME = ".owner"


class Owner:
    """The claim of this run on a folder."""

    def __init__(self, folder: Path):
        self.path = folder / NAME
        self.claim = {"run": secrets.token_hex(8), "host": socket.gethostname(), "process": os.getpid()}
        self.claim["since"] = time.strftime("%Y-%m-%d %H:%M:%S")
        aside = folder / f"{NAME}.partial"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps(self.claim))
            os.replace(aside, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise SystemExit(
                f"error: {self.path}: not written ({error.strerror}); make room, or give another --save-dir."
            ) from None

    def check(self) -> None:
        """Raises SystemExit with one sentence if another run has claimed the folder since."""
        try:
            found = json.loads(self.path.read_text())
        except (OSError, ValueError):  # deleted, or a file system that fails: no other run has said anything
            return
        if found.get("run") != self.claim["run"]:
            raise SystemExit(
                f"error: {self.path.parent}: another run (process {found.get('process')} on {found.get('host')}, since "
                f"{found.get('since')}) writes here now; this one ends. Give each run a --save-dir of its own."
            )


def owning_the_save_dir(trainer_class: type) -> None:
    """Have the first process of every training with fairseq's Trainer claim its --save-dir; not with --no-save."""
    load, step, save = trainer_class.load_checkpoint, trainer_class.train_step, trainer_class.save_checkpoint
    reduce = trainer_class._reduce_and_log_stats

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        extra_state = load(self, *args, **options)
        if self.data_parallel_rank == 0 and not self.cfg.checkpoint.no_save:
            self.owner = Owner(Path(self.cfg.checkpoint.save_dir))
        return extra_state

    @functools.wraps(step)
    def train_step(self, *args, **options):
        _check(self)
        return step(self, *args, **options)

    @functools.wraps(save)
    def save_checkpoint(self, *args, **options):
        _check(self)
        return save(self, *args, **options)

    @functools.wraps(reduce)
    def _reduce_and_log_stats(self, *args, **options):
        _check(self)
        return reduce(self, *args, **options)

    for method in (load_checkpoint, train_step, save_checkpoint, _reduce_and_log_stats):
        setattr(trainer_class, method.__name__, method)


def _check(trainer) -> None:
    if owner := getattr(trainer, "owner", None):
        owner.check()
