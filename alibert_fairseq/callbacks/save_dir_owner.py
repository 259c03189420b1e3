"""One run at a time writes a --save-dir: the one that was started last.

A lost node of a cluster may train for a while after the job was started again elsewhere, and a user may start a run
twice. The first process of a run writes its name to SAVE_DIR/.owner when it has loaded its checkpoint. It looks there
every few seconds and before a checkpoint, and ends when it finds another name. What the older run writes to
metrics.jsonl until then is lost, because the newer run has replaced that file.
"""

import contextlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alibert_common.files import written_whole
from alibert_common.json_value import parse_json
from alibert_fairseq.callbacks.metrics_log import LOG
from fairseq_compat.errors import remedy_of

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
                os.fchmod(file.fileno(), 0o600)  # host and process are not for everybody
                json.dump(self.claim, file)
        except OSError as error:
            raise SystemExit(
                f"error: {self.path}: not written ({error.strerror}); {remedy_of(error)}, or give another --save-dir."
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
        """The claim in the folder; {} where the file was deleted, or its file system fails."""
        try:
            return parse_json(self.path.read_text())
        except PermissionError:
            return {"run": "of another user"}
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
    if "process" not in claim:
        return "of another user"
    return f"process {claim.get('process')} on {claim.get('host')}, since {claim.get('since')}"


class SaveDirOwner:
    """The callback: the first process of a run claims its --save-dir; not with --no-save."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.owner: Owner | None = None

    def claim(self) -> None:
        """Once the checkpoint is loaded."""
        if self.trainer.data_parallel_rank == 0 and not self.trainer.cfg.checkpoint.no_save:
            self.owner = Owner(Path(self.trainer.cfg.checkpoint.save_dir))

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Around an update."""
        self.check(seldom=True)
        try:
            yield
        except SystemExit:  # metrics.jsonl was not written, perhaps because the other run has replaced it
            self.check()
            raise

    def check(self, seldom: bool = False) -> None:
        """Before a checkpoint."""
        if self.owner is not None:
            self.owner.check(seldom)
