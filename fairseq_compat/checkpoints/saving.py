"""Checkpoints that are written whole or not at all, each with its digest, and the one before the last is kept."""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from fairseq_compat.checkpoints.digest import MARK, SealingFile
from fairseq_compat.errors import Refusal, remedy_of
from fairseq_compat.module_proxy import StandIn, in_place_in

TRIES = 3
PAUSE = 1.0  # seconds before a file is tried again: what a file server needs to find its feet is not known
LASTING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR}
LAST, PREVIOUS = "checkpoint_last", "checkpoint_previous"  # how names begin


@contextmanager
def whole_or_refused(module):
    """After `fairseq.checkpoint_utils` ran: its checkpoints, copies too, appear by rename; an error ends in a Refusal.

    Stock fairseq tries a failed save twice more on the same handle, behind what was written already, copies
    checkpoint_last.pt in place, and leaves to the system when anything reaches the disk. Here every try has a new file,
    which is on the disk before it has its name, with a digest at its end; the copies are other names of that file, and
    what checkpoint_last.pt was is checkpoint_previous.pt. A folder that cannot be written is refused at the start.
    """
    yield
    library, manager = module.torch, module.PathManager

    @in_place_in(module)
    def torch_persistent_save(original, obj, filename, async_write=False):
        with in_one_sentence(filename):
            if async_write or not manager.supports_rename(filename):
                return original(obj, filename, async_write)
            _write(library, obj | {MARK: "SHA-256"} if isinstance(obj, dict) else obj, Path(filename))

    def copy(source, target, overwrite=False):
        with in_one_sentence(target):
            aside = _aside(target)
            _another_name(source, aside)
            _take_place(aside, Path(target))
        return target

    @in_place_in(module)
    def verify_checkpoint_directory(_original, save_dir):
        try:
            os.makedirs(save_dir, exist_ok=True)
            with tempfile.TemporaryFile(dir=save_dir):
                pass
        except OSError as error:
            raise Refusal(f"{save_dir}: cannot be written ({error.strerror}); give another --save-dir.") from None

    module._torch_persistent_save = lambda obj, handle: library.save(obj, handle)  # once, to files elsewhere
    module.PathManager = StandIn(manager, copy=copy)


def _write(torch, obj: object, target: Path) -> None:
    for tries_left in reversed(range(TRIES)):
        aside = _aside(target)
        try:
            with open(aside, "xb") as file:
                sealing = SealingFile(file)
                torch.save(obj, sealing)
                sealing.seal()
            _take_place(aside, target)
            return
        except (OSError, RuntimeError) as error:
            cause = _system_error(error)
            if not tries_left or cause is None or cause.errno in LASTING:
                raise
            time.sleep(PAUSE)


def _aside(target: os.PathLike | str) -> Path:
    """Where a file lies until it takes its name; what a killed process left there is removed."""
    aside = Path(f"{target}.tmp")
    aside.unlink(missing_ok=True)
    return aside


def _take_place(aside: Path, target: Path) -> None:
    """Rename, once the checkpoint before the last has a name of its own. The names are on the disk afterwards."""
    if target.name.startswith(LAST) and target.exists():
        put_under_name(target, target.with_name(target.name.replace(LAST, PREVIOUS, 1)))
    os.replace(aside, target)
    aside.unlink(missing_ok=True)  # two names of one file: renaming one to the other does nothing
    _flush_names(target.parent)


def put_under_name(source: Path, name: Path) -> None:
    """Give the file another name too, in place of what had it."""
    aside = _aside(name)
    try:
        _another_name(source, aside)
        os.replace(aside, name)
    finally:
        aside.unlink(missing_ok=True)


def _another_name(source: os.PathLike | str, target: Path) -> None:
    """A hard link, or a copy on the disk where there are none."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in LASTING - {errno.EPERM}:
            raise
        try:
            with open(source, "rb") as read, open(target, "xb") as written:
                shutil.copyfileobj(read, written, 1 << 24)
                written.flush()
                os.fsync(written.fileno())
                times = os.fstat(read.fileno())
            os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))  # it is as old as what it is a copy of
        except OSError:
            target.unlink(missing_ok=True)
            raise


def _flush_names(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:  # file systems that know no such thing
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _system_error(error: BaseException) -> OSError | None:
    """What the system said, which torch's writer covers with a complaint about its file position."""
    known: BaseException | None = error
    while known is not None and not isinstance(known, OSError):
        known = known.__context__
    return known


@contextmanager
def in_one_sentence(path: str):
    """Make a Refusal of what the system says of writing a file; what lies beside it is removed."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        with contextlib.suppress(OSError):
            os.unlink(f"{path}.tmp")
        cause = _system_error(error)
        if cause is None:  # a GPU that fails, a mistake of the program
            raise
        raise Refusal(
            f"{path}: not written ({cause.strerror or cause}); {remedy_of(cause)} and start the same command again, "
            "which resumes from the last whole checkpoint."
        ) from None
