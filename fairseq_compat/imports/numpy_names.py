"""Names that numpy 1.24 and 2.0 removed, for the modules of fairseq that still use them."""

from contextlib import contextmanager
from types import SimpleNamespace

from fairseq_compat.module_proxy import StandIn


@contextmanager
def with_removed_names(module):
    """After the module ran: its `np` has `np.int`, `np.float` and `np.compat.long` again."""
    yield
    module.np = StandIn(module.np, int=int, float=float, compat=SimpleNamespace(long=int))
