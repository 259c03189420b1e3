"""`--budget-minutes`: schedules follow the clock instead of the number of updates, and the run ends on time.

Another program on the machine then costs updates, but neither the decay of the learning rate nor the end. The clock is
fairseq's: it counts from the start of the trainer, is the mean of all processes, and resumes with the checkpoint.
"""

import math
import os

from alibert_fairseq.callbacks.calibration import VARIABLE as CALIBRATION
from alibert_fairseq.options import option_of_task

SHORTEST = 0.1  # minutes: some updates of a tiny model, of which the learning rate needs several to decay


class Budget:
    """The callback: without the option, the position of a run is its number of updates."""

    def __init__(self, trainer, cfg):
        self.trainer, self.minutes = trainer, option_of_task(cfg, "budget_minutes", 0)
        self.end = cfg.optimization.max_update
        if self.minutes:
            self._check(getattr(cfg.lr_scheduler, "total_num_update", None), cfg.optimization)

    def _check(self, end_of_schedule: float | None, optimization) -> None:
        if not SHORTEST <= self.minutes < math.inf:
            why = "is too short for one decay of the learning rate" if self.minutes < SHORTEST else "is no time"
            raise SystemExit(
                f"error: --budget-minutes {self.minutes:g} {why}; give {SHORTEST:g} or more, or leave it out for no "
                "limit."
            )
        earlier = {"--max-epoch": optimization.max_epoch > 0}
        if not os.environ.get(CALIBRATION):  # which ends before
            earlier["--stop-time-hours"] = 0 < optimization.stop_time_hours < self.minutes / 60
        if named := [name for name, ends in earlier.items() if ends]:
            raise SystemExit(
                f"error: {named[0]} may end the run before the learning rate has decayed; leave it out, because "
                "--budget-minutes ends the run."
            )
        if not self.end:
            raise SystemExit("error: --budget-minutes: the schedules need --max-update, the updates it stands for.")
        if end_of_schedule not in (None, self.end):
            raise SystemExit(
                f"error: --budget-minutes: --total-num-update {end_of_schedule:g} and --max-update {self.end} both "
                "stand for the end of the run; give them one value."
            )

    def begin(self) -> None:
        """Let the clock end the run, and not --max-update, which the schedules have read by now."""
        if not self.minutes:
            return
        optimization = self.trainer.cfg.optimization
        optimization.stop_time_hours = self.minutes / 60
        optimization.max_update = 0

    def position(self) -> float:
        """How far the run is, in updates of --max-update; the same on all processes."""
        if not self.minutes:
            return self.trainer.get_num_updates()
        return self.end * min(1.0, self._seconds() / (60 * self.minutes))

    def _seconds(self) -> float:
        """Processes learn the mean of their clocks in the first update; before that, the time of the checkpoint."""
        trainer = self.trainer
        if trainer.data_parallel_world_size > 1 and trainer._cumulative_training_time is None:
            return trainer._previous_training_time
        return trainer.cumulative_training_time()
