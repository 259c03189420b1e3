"""A loss that jumps far above what it was is told once.

The rule is Hampel's identifier: an update's loss lies more than six robust standard deviations above the median of the
100 before it, a robust standard deviation being 1.4826 times their median absolute deviation (Hampel 1974; the factor
makes it that of a normal law, of which six are passed once in 10**9 draws). Median and deviation stay as they are until
half of the 100 are outliers, so a spike does not hide the next one, and a loss that stays high is the new normal after
50 updates. The deviation counts as at least 1 % of the median, for losses that hardly vary. The spike is over when the
loss lies under half of the bound.

The first process does it, from the loss of all. A run that goes on starts its window anew.
"""

import functools
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
        median, bound = self._bound() if len(self.losses) >= FEWEST else (loss, 0.0)
        self.losses.append(loss)
        begins = not self.inside and loss > median + bound
        self.inside = loss > median + bound / 2 if self.inside else begins
        self.count += begins
        return median if begins else None

    def _bound(self) -> tuple[float, float]:
        median = statistics.median(self.losses)
        deviation = NORMAL * statistics.median(abs(loss - median) for loss in self.losses)
        return median, DEVIATIONS * max(deviation, 0.01 * abs(median))


def telling_of_spikes(trainer_class: type) -> None:
    """Have fairseq's Trainer tell of them in the log."""
    reduce = trainer_class._reduce_and_log_stats

    @functools.wraps(reduce)
    def _reduce_and_log_stats(self, logging_outputs, sample_size, grad_norm=None):
        found = reduce(self, logging_outputs, sample_size, grad_norm)
        loss = plain(found.get("loss")) if grad_norm is not None and self.data_parallel_rank == 0 else None
        if loss is not None:
            if not hasattr(self, "spikes"):
                self.spikes = Spikes()
            if (median := self.spikes.begins(loss)) is not None:
                logger.warning(
                    f"update {self.get_num_updates()}: the loss jumped to {loss:.3f} from a median of {median:.3f} "
                    f"(spike {self.spikes.count} of this start)"
                )
        return found

    trainer_class._reduce_and_log_stats = _reduce_and_log_stats
