"""Train with the configuration of an earlier run on other data, in this process."""

from pathlib import Path

from omegaconf import OmegaConf

import alibert_fairseq
from alibert_fairseq.lineage.run import Run

CHECKPOINTS, DATA_BIN = "checkpoints", "data-bin"  # in the folder of such a training
LAST = "checkpoint_last.pt"


def train(run: Run, data: str, save_dir: Path) -> None:
    """Train; resumes what is in `save_dir`. data: data-bins, `a:b:c`."""
    from fairseq.distributed import utils as distributed_utils
    from fairseq_cli import train as fairseq_train

    cfg = OmegaConf.create(OmegaConf.to_container(run.cfg))
    cfg.task.data, cfg.checkpoint.save_dir = data, str(save_dir)
    cfg.checkpoint.restore_file = LAST
    cfg.common.user_dir = str(Path(alibert_fairseq.__file__).parent)
    distributed_utils.call_main(cfg, fairseq_train.main)
