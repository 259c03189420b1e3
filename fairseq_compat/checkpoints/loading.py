"""Loading fairseq's checkpoints without running what a stranger may have put into one."""

import argparse
import functools
import pickle
import re
from contextlib import contextmanager
from typing import Any

from fairseq_compat.checkpoints.digest import MARK, damage
from fairseq_compat.errors import Refusal
from fairseq_compat.module_proxy import StandIn

ERRORS = (RuntimeError, EOFError, LookupError, ValueError, TypeError, AttributeError, AssertionError, ArithmeticError)
# What fairseq's trainer saves beside tensors and plain Python values: options of models without a dataclass.
ALLOWED: list[Any] = [argparse.Namespace]


@contextmanager
def load_only_what_fairseq_saves(module):
    """After `fairseq.checkpoint_utils` ran: its `torch.load` accepts tensors, plain values and `ALLOWED`."""
    yield
    module.torch = StandIn(module.torch, load=load)


@contextmanager
def trust_other_ranks(module):
    """After `fairseq.distributed.utils` ran: it opens any object that another rank of this very job sent.

    Not a file: rank 0 has read the checkpoint with `load`, so nothing foreign can have reached it.
    """
    yield
    module.torch = StandIn(module.torch, load=functools.partial(module.torch.load, weights_only=False))


def load(file, map_location=None):
    """`torch.load` of an open file, whatever the torch.

    Raises Refusal for anything but a checkpoint fairseq saved, and for one that is not as it was written.
    """
    try:
        damaged = damage(file)
    except OSError as error:  # a disk that does not read
        damaged = error.strerror or str(error)
    if damaged:
        raise Refusal(_not_whole(file.name, damaged))
    file.seek(0)
    state = _unpickled(file, file.name, map_location=map_location)
    if isinstance(state, dict):
        state.pop(MARK, None)  # whoever saves it with torch, as fairseq's average_checkpoints.py, has no digest
    return state


def load_mapped(path):
    """The checkpoint of that path, whose tensors are read from the disk when they are used. Its digest is not checked.

    Raises Refusal for anything but a checkpoint fairseq saved.
    """
    return _unpickled(str(path), str(path), map_location="cpu", mmap=True)


def _unpickled(source, name: str, **options):
    import torch

    before = list(torch.serialization.get_safe_globals())
    torch.serialization.add_safe_globals(ALLOWED)
    try:
        return torch.load(source, **options, weights_only=True)
    # The errors torch was seen to raise for a file that is cut short, or something else altogether.
    except (pickle.UnpicklingError, *ERRORS) as error:
        if foreign := re.search(r"GLOBAL ([\w.]+)", str(error)):
            raise Refusal(
                f"{name}: not opened, because it holds {foreign[1]}, which fairseq never saves and which could run "
                "code; give a checkpoint that fairseq-train wrote."
            ) from None
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise Refusal(_not_whole(name, f"{type(error).__name__}: {reason}")) from None
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(before)


def _not_whole(path: str, why: str) -> str:
    return f"{path}: not a whole checkpoint of fairseq ({why}); give another one."
