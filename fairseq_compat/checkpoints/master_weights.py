"""Resuming a run in half precision with the weights it had.

fairseq trains `--bf16` and `--fp16` on full-precision master weights but saves only their half-precision copy, so that
every resume rounds them. They are saved beside the optimizer's state, under a key that stock fairseq ignores.
"""

from contextlib import contextmanager

from fairseq_compat.module_proxy import in_place_in

KEY = "fp32_params"


@contextmanager
def save_master_weights(module):
    """After `fairseq.optim.fp16_optimizer` ran: FP16Optimizer saves and loads its master weights."""
    yield

    @in_place_in(module._FP16OptimizerMixin)
    def state_dict(original, self):
        return original(self) | {KEY: [parameter.data for parameter in _master_weights(self)]}

    @in_place_in(module._FP16OptimizerMixin)
    def load_state_dict(original, self, state_dict, optimizer_overrides=None):
        original(self, state_dict, optimizer_overrides)
        # A checkpoint of stock fairseq has none: the rounded ones that the model brought are all there is.
        for parameter, saved in zip(_master_weights(self), state_dict.get(KEY, []), strict=False):
            parameter.data.copy_(saved)


def _master_weights(optimizer) -> list:
    """A list of parameters, or, flattened, one parameter a device."""
    weights = optimizer.fp32_params
    return list(weights.values() if isinstance(weights, dict) else weights)
