"""What a launched training tells the launcher, which knows its recipe only: where it writes, and how far it is to go.

The first process writes it into the file that ALIBERT_TRAINING_NOTE names, whenever it starts:
`{"save_dir", "run", "from_update", "max_update", "processes", "host", "started"}`; `run` is its name in
SAVE_DIR/.owner, `max_update` 0 where there is no limit.
"""

import functools
import json
import logging
import os
import socket
import time
from pathlib import Path

from alibert_fairseq.launch.progress import owner

logger = logging.getLogger(__name__)

VARIABLE = "ALIBERT_TRAINING_NOTE"


def telling_the_launcher(trainer_class: type) -> None:
    """Have fairseq's Trainer write the note once it knows from where it goes on."""
    load = trainer_class.load_checkpoint

    @functools.wraps(load)
    def load_checkpoint(self, *args, **options):
        extra_state = load(self, *args, **options)
        if self.data_parallel_rank == 0 and os.environ.get(VARIABLE):
            try:
                write_note(Path(os.environ[VARIABLE]), self)
            except OSError as error:  # the training is worth more than what the launcher knows of it
                logger.warning(f"{os.environ[VARIABLE]}: not written ({error.strerror}); `launch status` knows nothing")
        return extra_state

    trainer_class.load_checkpoint = load_checkpoint


def write_note(path: Path, trainer) -> None:
    """The note of this trainer, whole or not at all."""
    save_dir = Path(trainer.cfg.checkpoint.save_dir).absolute()
    note = {
        "save_dir": str(save_dir),
        "run": owner(save_dir),
        "from_update": trainer.get_num_updates(),
        "max_update": trainer.cfg.optimization.max_update,
        "processes": trainer.data_parallel_world_size,
        "host": socket.gethostname(),
        "started": time.time(),
    }
    aside = path.with_suffix(".partial")
    aside.write_text(json.dumps(note))
    os.replace(aside, path)


def read_note(folder: os.PathLike, job_id: str) -> dict:
    """What the training of a job has told, nothing if it has not begun or does not use this plugin."""
    path = Path(folder, f"{job_id}_training.json")
    return json.loads(path.read_text()) if path.exists() else {}
