"""How tasks, models, criterions and optimizers name their options, and the defaults of the guards' options.

Every pretraining task has the guards' options; a training with another task has their defaults.
"""

from dataclasses import field
from typing import Any, Optional

STOP_AFTER_NONFINITE = 10  # batches are shuffled: were one in ten bad, ten in a row came once in 10**10 updates
SILENCE_TIMEOUT = 480  # seconds: a checkpoint of `large`, 4 GB, at 8 MB/s; at 600 nccl ends all without a word

OptionalInt = Optional[int]  # noqa: UP045 (fairseq does not know the other spelling)
OptionalFloat = Optional[float]  # noqa: UP045


def option(default: object, text: str) -> Any:
    """A field of a fairseq dataclass: the default and the help of a command-line option."""
    return field(default=default, metadata={"help": text})


def option_of_task(cfg, name: str, default: int) -> int:
    """An option of the task in a training's configuration."""
    value = getattr(cfg.task, name, None)
    return default if value is None else value


def refuse_outside(name: str, value, possible: bool, where: str) -> None:
    """End the run in one sentence where an option has a value that it cannot have."""
    if not possible:
        raise SystemExit(f"error: {name} {value} is not {where}; leave it out for the default.")
