"""Errors that a user can correct: one sentence on stderr and an exit code, without a traceback."""

import errno
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from alibert_common.streams import readers_may_leave

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# The errors of the operating system that a user can correct. Any other OSError is a bug and keeps its traceback.
REMEDIES = {
    errno.ENOSPC: "free some space and run the command again",
    errno.EDQUOT: "free some of your quota and run the command again",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f`) and run the command again",
    errno.EACCES: "check the permissions of this path",
    errno.EPERM: "check the permissions of this path",
    errno.EROFS: "choose an output on a file system that can be written",
    errno.ENOENT: "check that this path exists",
    errno.ENOTDIR: "check that every parent of this path is a directory",
    errno.EEXIST: "check that every parent of the output is a directory",
    errno.EISDIR: "give the path of a file, not of a directory",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class InputError(ValueError):
    """The user's input cannot be used. The message is one sentence: the file, the place in it, and the remedy."""


def reason(error: BaseException) -> str:
    """What a library says first, or the kind of its error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def first_sentence(error: BaseException) -> str:
    """The first sentence of `reason`, without its full stop, to quote inside another sentence."""
    return reason(error).split(". ")[0].rstrip(".")


@readers_may_leave()
def exit_with_sentence(main: Callable[[], None]) -> None:
    """Run a command's `main`. Bad input prints its sentence on stderr and exits with status 2.

    SIGTERM, and SIGHUP from a closed terminal, end a command and its processes, as Ctrl-C does. It continues when the
    reader of its output leaves.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP, and a caller may have its own handler
            signal.signal(number, _stop)
    try:
        main()
        print(end="", flush=True)  # what is still buffered may not fit on the disk
    except InputError as error:
        sys.exit(_say(error))
    except KeyboardInterrupt as stopped:
        print("stopped; give the same command again", file=sys.stderr)
        sys.exit(128 + (stopped.args or (signal.SIGINT,))[0])  # see _stop
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        sys.exit(_say(describe_os_error(error)))


def describe_os_error(error: OSError) -> str:
    """Describe an error of the operating system in a sentence with a remedy: full disk, no permission, missing path."""
    remedy = REMEDIES.get(error.errno or 0, "see the operating system's documentation")
    return f"{error.filename or 'output'}: {error.strerror}; {remedy}; no output was left half-written."


def readable(path: object) -> str:
    """Return a path as text that UTF-8 can encode: other bytes are written like \\xe9."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt(number)


def _say(message: object) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2
