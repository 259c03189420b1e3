"""One warning when the loss jumps far above its recent values.

The rule is Hampel's identifier. A spike begins when the loss lies more than six robust standard deviations above the
median of the last 100 updates. A robust standard deviation is 1.4826 times the median absolute deviation (Hampel 1974).
The factor makes it equal to the standard deviation of a normal law, which exceeds six of them once in 10**9 draws.
Median and deviation change only when half of the 100 are outliers. So a spike does not hide the next one, and a loss
that stays high is the new normal after 50 updates. The deviation counts as at least 1 % of the median, for losses that
hardly vary. The spike ends when the loss lies under half of the bound.

The first process does it, with the loss of all processes. A resumed run starts a new window.
"""

import logging
import statistics
from collections import deque

from alibert_fairseq.callbacks.metrics_log import plain

logger = logging.getLogger(__name__)

WINDOW = 100  # updates; both medians of them take some 10 microseconds
FEWEST = 30  # before that the median says little
DEVIATIONS = 6
NORMAL = 1.4826


class Spikes:
    """The losses of the last updates."""

    def __init__(self) -> None:
        self.losses: deque[float] = deque(maxlen=WINDOW)
        self.count = 0
        self.inside = False

    def begins(self, loss: float) -> float | None:
        """The median that the loss has jumped from, or None where no spike begins."""
        median, bound = loss, 0.0
        if len(self.losses) >= FEWEST:
            median = statistics.median(self.losses)
            deviation = NORMAL * statistics.median(abs(earlier - median) for earlier in self.losses)
            bound = DEVIATIONS * max(deviation, 0.01 * abs(median))
        self.losses.append(loss)
        begins = not self.inside and loss > median + bound
        self.inside = loss > median + bound / 2 if self.inside else begins
        self.count += begins
        return median if begins else None


class LossSpikes:
    """The callback: a warning in the log of the first process."""

    def __init__(self, trainer):
        self.trainer, self.spikes = trainer, Spikes()

    def look_at(self, update: int, loss: object) -> None:
        """The loss of an update, on all processes."""
        number = plain(loss)
        if self.trainer.data_parallel_rank or number is None:
            return
        if (median := self.spikes.begins(number)) is not None:
            logger.warning(
                f"update {update}: the loss jumped to {number:.3f} from a median of "
                f"{median:.3f} (spike {self.spikes.count} of this start)"
            )
