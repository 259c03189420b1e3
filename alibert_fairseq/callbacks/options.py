"""The options of the guards, which every pretraining task has; a training with another task has the defaults."""

STOP_AFTER_NONFINITE = 10  # batches are shuffled: were one in ten bad, ten in a row came once in 10**10 updates
SILENCE_TIMEOUT = 480  # seconds: a checkpoint of `large`, 4 GB, at 8 MB/s; at 600 nccl ends all without a word


def option(cfg, name: str, default: int) -> int:
    """An option of the task in a training's configuration."""
    value = getattr(cfg.task, name, None)
    return default if value is None else value
