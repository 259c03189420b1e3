"""Resuming a run in half precision with the weights it had.

fairseq trains `--bf16` and `--fp16` on full-precision master weights but saves only their half-precision copy, so that
every resume rounds them. They are saved beside the optimizer's state, under a key that stock fairseq ignores.
"""

import functools
from contextlib import contextmanager

KEY = "fp32_params"


@contextmanager
def save_master_weights(module):
    """After `fairseq.optim.fp16_optimizer` ran: FP16Optimizer saves and loads its master weights."""
    yield
    optimizer = module._FP16OptimizerMixin
    optimizer.state_dict = _with_master_weights(optimizer.state_dict)
    optimizer.load_state_dict = _restoring_master_weights(optimizer.load_state_dict)


def _with_master_weights(original):
    @functools.wraps(original)
    def state_dict(self):
        return original(self) | {KEY: [parameter.data for parameter in _master_weights(self)]}

    return state_dict


def _restoring_master_weights(original):
    @functools.wraps(original)
    def load_state_dict(self, state_dict, optimizer_overrides=None):
        original(self, state_dict, optimizer_overrides)
        # A checkpoint of stock fairseq has none: the rounded ones that the model brought are all there is.
        for parameter, saved in zip(_master_weights(self), state_dict.get(KEY, []), strict=False):
            parameter.data.copy_(saved)

    return load_state_dict


def _master_weights(optimizer) -> list:
    """A list of parameters, or, flattened, one parameter a device."""
    found = optimizer.fp32_params
    return list(found.values()) if isinstance(found, dict) else list(found)
