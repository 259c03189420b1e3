"""What a process read for an update that was skipped, in a file beside the checkpoints.

    nonfinite_1201_rank3.pt    {"update": 1201, "seed": 1207, "rank": 3, "processes": 8, "gnorm": nan, "samples": [...]}

holds what process 3 read for update 1201: `torch.load(..., weights_only=True)` opens it. The batch, the weights after
update 1200 and `seed`, which dropout was drawn with, give the loss again.
"""

import logging
from pathlib import Path

import torch

from alibert_common.files import written_whole

logger = logging.getLogger(__name__)

KEPT = 3  # files of a process, the newest: a batch of 24 x 512 is some 300 kB, and one is enough to look at


def place_of_batch(trainer, update: int | str, rank: int | str) -> Path:
    """Of the file."""
    return Path(trainer.cfg.checkpoint.save_dir, f"nonfinite_{update}_rank{rank}.pt")


def keep_batch(trainer, update: int, samples: list, loss: float, gnorm: float) -> None:
    """Write the batch of this process, whole or not at all; a disk that is full does not end the run for it."""
    rank = trainer.data_parallel_rank
    place = place_of_batch(trainer, update, rank)
    held = {
        "update": update,
        "seed": trainer.cfg.common.seed + update - 1,  # Trainer._set_seed
        "rank": rank,
        "processes": trainer.data_parallel_world_size,
        "loss": loss,
        "gnorm": gnorm,
        "samples": [plain(sample) for sample in samples if sample],
    }
    try:
        with written_whole(place, "wb") as file:
            torch.save(held, file)
        for old in sorted(place.parent.glob(place_of_batch(trainer, "*", rank).name), key=_update_in)[:-KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError) as problem:  # torch covers what the system says with its own
        logger.warning(f"{place}: not written ({str(problem).partition(chr(10))[0]})")


def _update_in(path: Path) -> int:
    return int(path.name.split("_")[1])


def plain(value):
    """Tensors and plain values only, for `weights_only=True`."""
    if torch.is_tensor(value):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "item"):  # a number of numpy's
        return value.item()
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
