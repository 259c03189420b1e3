"""Standard output and error whose reader may leave: `command | head -1` does not stop the command."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class _Lenient:
    """A stream. What is written after its reader has left, or after another error, goes nowhere."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write text, and return its length."""
        self._call(self.stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._call(self.stream.flush)

    def _call(self, method: Callable, *arguments: str) -> None:
        try:
            method(*arguments)
        except OSError as error:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.stream.fileno())  # else the next flush would fail in the same way
            if not isinstance(error, BrokenPipeError):
                raise


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """In the block, a closed pipe behind stdout or stderr is no error. A stream that a shell closed is None."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and _Lenient(stream) for stream in before)
    try:
        yield
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        sys.stdout, sys.stderr = before
