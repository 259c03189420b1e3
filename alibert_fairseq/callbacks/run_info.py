"""What a launched training tells the launcher: where it writes, and how far it is to go.

The first process writes it into the file that ALIBERT_TRAINING_NOTE names, at each start:
`{"save_dir", "run", "max_update", "stop_time_hours"}`. `run` is its name in SAVE_DIR/.owner; `max_update` and
`stop_time_hours` are 0 where there is no limit.
"""

import logging
import os
from pathlib import Path

from alibert_common.files import write_json

logger = logging.getLogger(__name__)

VARIABLE = "ALIBERT_TRAINING_NOTE"


class RunInfo:
    """The callback."""

    def __init__(self, trainer):
        self.trainer = trainer

    def write(self) -> None:
        """Once the run has claimed its --save-dir, and --budget-minutes has set its limits."""
        trainer, owner, path = self.trainer, self.trainer.owner.owner, os.environ.get(VARIABLE)
        if trainer.data_parallel_rank or not path:
            return
        note = {
            "save_dir": str(Path(trainer.cfg.checkpoint.save_dir).absolute()),
            "run": owner.claim["run"] if owner else None,
            "max_update": trainer.cfg.optimization.max_update,
            "stop_time_hours": trainer.cfg.optimization.stop_time_hours,
        }
        try:
            write_json(Path(path), note, shared=True)
        except OSError as error:  # the training is worth more than what the launcher knows of it
            logger.warning(f"{path}: not written ({error.strerror}); `launch status` will show no progress")
