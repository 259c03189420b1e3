"""`--budget-minutes`: schedules follow the clock instead of the number of updates, and the run ends on time.

Another program on the machine then costs updates, but neither the decay of the learning rate nor the end. The clock is
fairseq's: it counts from the start of the trainer, is the mean of all processes, and resumes with the checkpoint.
"""

from alibert_fairseq.options import option_of_task


class Budget:
    """The callback: without the option, the position of a run is its number of updates."""

    def __init__(self, trainer, cfg):
        self.trainer, self.seconds = trainer, 60 * option_of_task(cfg, "budget_minutes", 0)
        self.end = cfg.optimization.max_update

    def begin(self) -> None:
        """Let the clock end the run, and not --max-update, which the schedules have read by now."""
        if not self.seconds:
            return
        if not self.end:
            raise SystemExit("error: --budget-minutes: the schedules need --max-update, the updates it stands for.")
        self.trainer.cfg.optimization.stop_time_hours = self.seconds / 3600
        self.trainer.cfg.optimization.max_update = 0

    def position(self) -> float:
        """How far the run is, in updates of --max-update."""
        if not self.seconds:
            return self.trainer.get_num_updates()
        return self.end * min(1.0, self.trainer.cumulative_training_time() / self.seconds)
