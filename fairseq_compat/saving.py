"""Checkpoints that cannot be written: whole or not at all, and one sentence."""

import contextlib
import os
import shutil
from contextlib import contextmanager

from fairseq_compat.refusal import Refusal
from fairseq_compat.stand_in import StandIn


@contextmanager
def whole_or_refused(module):
    """After `fairseq.checkpoint_utils` ran: its checkpoints, copies too, appear by rename; an error ends in a Refusal.

    Stock fairseq tries a failed save twice more on the same handle, behind what was written already, and copies
    checkpoint_last.pt in place.
    """
    yield
    original = module.torch_persistent_save

    def save_once(obj, handle):
        return module.torch.save(obj, handle)

    def torch_persistent_save(obj, filename, async_write=False):
        with _in_one_sentence(filename, f"{filename}.tmp"):
            return original(obj, filename, async_write)

    def copy(source, target, overwrite=False):
        aside = f"{target}.tmp"
        with _in_one_sentence(target, aside):
            shutil.copyfile(source, aside)
            os.replace(aside, target)
            return target

    module._torch_persistent_save = save_once
    module.torch_persistent_save = torch_persistent_save
    module.PathManager = StandIn(module.PathManager, copy=copy)


def _reason(error: BaseException) -> str:
    """The system's own words, which torch's writer covers with a complaint about its file position."""
    known: BaseException | None = error
    while known is not None and not isinstance(known, OSError):
        known = known.__context__
    return getattr(known, "strerror", None) or str(error).partition("\n")[0]


@contextmanager
def _in_one_sentence(path: str, aside: str):
    try:
        yield
    except (OSError, RuntimeError) as error:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise Refusal(
            f"{path}: not written ({_reason(error)}); make room and start the same command again, which goes on from "
            "the last whole checkpoint."
        ) from None
