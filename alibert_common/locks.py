"""Locks between commands, on one machine and, where the file system has locks, between machines."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from alibert_common.errors import InputError
from alibert_common.rights import make_folder

WITHOUT_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def locked(file: Path, busy: str, wait: bool = False, shared: bool = False) -> Iterator[None]:
    """Hold the lock `file`, which exists while it is held. The lock ends with the process, also with a killed one.

    If another command holds it, `wait` prints `busy` and waits; else InputError(busy) is raised. Some file systems have
    no locks: there two commands can run at once. `shared` applies to a folder that is made for the file.
    """
    make_folder(file.parent, shared)
    lock = FileLock(file, fallback_to_soft=False)  # the soft lock of a killed process would stay
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise InputError(busy) from None
        print(busy, flush=True)
        lock.acquire()
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # while it is held: who waits for it notices, and makes it anew
        lock.release()
