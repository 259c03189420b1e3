"""The learning curve: its epochs, and which of them is kept."""

from collections.abc import Callable
from typing import NamedTuple


class Epoch(NamedTuple):
    """One line of the learning curve; loss is the mean of the epoch's updates, in nats; dev is the chief figure."""

    epoch: int
    loss: float
    dev: float
    seconds: float


Watch = Callable[[Epoch], None]  # called after each epoch; what it raises ends the training


def kept_epoch(curve: list[Epoch], keep: str) -> Epoch:
    """The epoch with the best figure on dev (of equals the last, which has learned more than dev can tell), or the last
    one."""
    return max(curve, key=lambda epoch: (epoch.dev, epoch.epoch)) if keep == "best" else curve[-1]
