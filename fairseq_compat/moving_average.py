"""`--store-ema`: the moving average of the weights, in which a tied weight counts once."""

from contextlib import contextmanager
from types import SimpleNamespace

from fairseq_compat.module_proxy import in_place_in


@contextmanager
def average_a_tied_weight_once(module):
    """After `fairseq.models.ema.ema` ran: an update of the average visits each tensor once, whatever names it has."""
    yield

    @in_place_in(module.EMA)
    def _step_internal(original, self, new_model, updates=None):
        averages = self.fp32_params if self.config.ema_fp32 else self.model.state_dict()
        once: dict = {}
        for name, weight in new_model.state_dict().items():
            average = averages.get(name, weight)
            key = (average.data_ptr(), average.shape) if hasattr(average, "data_ptr") else name
            once.setdefault(key, (name, weight))
        return original(self, SimpleNamespace(state_dict=lambda: dict(once.values())), updates)
