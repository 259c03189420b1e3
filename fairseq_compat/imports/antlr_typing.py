"""antlr4 4.8 (hydra's parser) takes TextIO from `typing.io`, which Python 3.13 removed."""

import sys
import typing
from contextlib import contextmanager
from types import ModuleType

NAME = "typing.io"


@contextmanager
def typing_io_while_imported(module):
    """Let `from typing.io import TextIO` succeed while the module's code runs."""
    outermost = NAME not in sys.modules
    if outermost:
        sys.modules[NAME] = ModuleType(NAME)
        sys.modules[NAME].TextIO = typing.TextIO
    try:
        yield
    finally:
        if outermost:
            del sys.modules[NAME]
