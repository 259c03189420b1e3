"""Names that Python and numpy removed, for the modules that still use them."""

import pkgutil
import sys
import typing
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

from fairseq_compat.module_proxy import StandIn

TYPING_IO = "typing.io"


@contextmanager
def typing_io_while_imported(module):
    """Let `from typing.io import TextIO` succeed while the module's code runs: antlr4 4.8, hydra's parser, has it."""
    outermost = TYPING_IO not in sys.modules
    if outermost:
        sys.modules[TYPING_IO] = ModuleType(TYPING_IO)
        sys.modules[TYPING_IO].TextIO = typing.TextIO
    try:
        yield
    finally:
        if outermost:
            del sys.modules[TYPING_IO]


@contextmanager
def finders_with_find_module(module):
    """After hydra 1.0.7's plugin scan ran: give it a pkgutil whose finders have `find_module` again."""
    yield

    def walk_packages(*args, **kwargs):
        for finder, name, is_package in pkgutil.walk_packages(*args, **kwargs):
            old = SimpleNamespace(find_module=lambda name, finder=finder: finder.find_spec(name).loader)
            yield old, name, is_package

    module.pkgutil = StandIn(pkgutil, walk_packages=walk_packages)


@contextmanager
def numpy_names(module):
    """After the module ran: its `np` has `np.int`, `np.float` and `np.compat.long` again."""
    yield
    module.np = StandIn(module.np, int=int, float=float, compat=SimpleNamespace(long=int))
