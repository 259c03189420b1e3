"""Train with the configuration of an earlier run on other data, in this process."""

from pathlib import Path

from omegaconf import DictConfig

import alibert_fairseq
from alibert_fairseq.lineage.run import Run

CHECKPOINTS, DATA_BIN = "checkpoints", "data-bin"  # in the folder of such a training
LAST = "checkpoint_last.pt"


def train(run: Run, data: str, save_dir: Path, updates: int | None = None) -> None:
    """Train; resumes what is in `save_dir`. data: data-bins, `a:b:c`; updates: the end (default: that of the run)."""
    from fairseq.distributed import utils as distributed_utils
    from fairseq_cli import train as fairseq_train

    cfg = without_clock(run)
    if updates:
        cfg.optimization.update({"max_update": updates, "max_epoch": 0, "stop_time_hours": 0.0, "stop_min_lr": -1.0})
        cfg.checkpoint.patience = -1
    cfg.task.data, cfg.checkpoint.save_dir = data, str(save_dir)
    cfg.checkpoint.restore_file = LAST
    cfg.common.update({"tensorboard_logdir": None, "wandb_project": None, "log_file": None})  # those of the run stay
    cfg.common.user_dir = str(Path(alibert_fairseq.__file__).parent)
    distributed_utils.call_main(cfg, fairseq_train.main)


def without_clock(run: Run) -> DictConfig:
    """The configuration of the run. In the place of --budget-minutes stand the updates that it allows at this speed."""
    cfg = run.cfg.copy()
    if minutes := cfg.task.budget_minutes:
        made, planned = len(run.kept), cfg.task.max_update
        updates = max(made, round(made * 60 * minutes / max(run.seconds, 1)))
        for part in (cfg.task, cfg.model, cfg.lr_scheduler):
            part.update({name: updates for name in ("max_update", "total_num_update") if part.get(name)})
        if warmup := cfg.lr_scheduler.get("warmup_updates"):
            cfg.lr_scheduler.warmup_updates = round(warmup * updates / planned)
        cfg.optimization.max_update = updates
        cfg.task.budget_minutes, cfg.optimization.stop_time_hours = 0.0, 0.0
    return cfg
