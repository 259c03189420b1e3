"""One run at a time writes a --save-dir: the one that was started last.

A node that a cluster has lost sight of may go on training for a while after the job was started again elsewhere, and a
user may start a run twice. The first process of a run leaves its name in SAVE_DIR/.owner as soon as it has loaded what
it goes on from, looks there every few seconds and before a checkpoint, and ends when it finds another's. What the
older one writes to metrics.jsonl until then is lost with it, for the newer one has put another file in its place.
"""

import contextlib
import functools
import json
import logging
import os
import secrets
import socket
import time
from pathlib import Path

from alibert_common.files import written_whole
from alibert_fairseq.callbacks.metrics_log import LOG

logger = logging.getLogger(__name__)

NAME = ".owner"
LOOK = 5  # seconds; all processes would wait for a file server that is slow to answer, were it asked in every update
AT_WORK = 60  # seconds: a run that has written to metrics.jsonl within them may be at work still


class Owner:
    """The claim of this run on a folder."""

    def __init__(self, folder: Path):
        self.path = folder / NAME
        self.claim = {"run": secrets.token_hex(8), "host": socket.gethostname(), "process": os.getpid()}
        self.claim["since"] = time.strftime("%Y-%m-%d %H:%M:%S")
        self.looked = time.monotonic()
        self._tell_of_one_at_work()
        try:
            with written_whole(self.path) as file:
                json.dump(self.claim, file)
        except OSError as error:
            raise SystemExit(
                f"error: {self.path}: not written ({error.strerror}); make room, or give another --save-dir."
            ) from None

    def check(self, seldom: bool = False) -> None:
        """Raises SystemExit with one sentence if another run has claimed the folder since; `seldom`: every LOOK seconds
        only."""
        if seldom and time.monotonic() - self.looked < LOOK:
            return
        self.looked, found = time.monotonic(), self._found()
        if found and found.get("run") != self.claim["run"]:
            raise SystemExit(
                f"error: {self.path.parent}: another run ({_named(found)}) writes here now; this one ends. Give each "
                "run a --save-dir of its own."
            )

    def _found(self) -> dict:
        """Who has claimed the folder; {} where the file was deleted, or its file system fails."""
        try:
            return json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}

    def _tell_of_one_at_work(self) -> None:
        """A run that was killed, and one that this takes the place of in the middle of its work, look alike."""
        with contextlib.suppress(OSError):
            ago = time.time() - (self.path.parent / LOG).stat().st_mtime
            if (found := self._found()) and ago < AT_WORK:
                logger.warning(
                    f"{self.path.parent}: another run ({_named(found)}) has written here {max(ago, 0):.0f} s ago; if "
                    "it is still at work it ends now, for this one takes its place"
                )


def _named(claim: dict) -> str:
    return f"process {claim.get('process')} on {claim.get('host')}, since {claim.get('since')}"


def owning_the_save_dir(trainer_class: type) -> None:
    """Have the first process of every training with fairseq's Trainer claim its --save-dir; not with --no-save."""
    load, step, save = trainer_class.load_checkpoint, trainer_class.train_step, trainer_class.save_checkpoint

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        extra_state = load(self, *args, **options)
        if self.data_parallel_rank == 0 and not self.cfg.checkpoint.no_save:
            self.owner = Owner(Path(self.cfg.checkpoint.save_dir))
        return extra_state

    @functools.wraps(step)
    def train_step(self, *args, **options):
        _check(self, seldom=True)
        try:
            return step(self, *args, **options)
        except SystemExit:  # metrics.jsonl was not written, which may be because the other run has put its own there
            _check(self)
            raise

    @functools.wraps(save)
    def save_checkpoint(self, *args, **options):
        _check(self)
        return save(self, *args, **options)

    for method in (load_checkpoint, train_step, save_checkpoint):
        setattr(trainer_class, method.__name__, method)


def _check(trainer, seldom: bool = False) -> None:
    if owner := getattr(trainer, "owner", None):
        owner.check(seldom)
