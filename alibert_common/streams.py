"""Standard output and error whose reader may leave: `command | head -1` ends no work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class _Lenient:
    """A stream. What is written after its reader has left goes nowhere."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """As a text stream."""
        try:
            return self.stream.write(text)
        except BrokenPipeError:
            self._to_nowhere()
            return len(text)

    def flush(self) -> None:
        """As a text stream."""
        try:
            self.stream.flush()
        except BrokenPipeError:
            self._to_nowhere()

    def _to_nowhere(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)


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
