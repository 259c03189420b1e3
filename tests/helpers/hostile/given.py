"""What every maker of a hostile file is given and gives back."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SECRET = "CE-TEXTE-EST-SECRET-7f3a"  # of the canary: no document may hold it
FORBIDDEN = (SECRET, "root:x:0:0")


class Given(NamedTuple):
    """The draw of a file, its number in its kind, the text that tells its document, and where its payload aims."""

    draw: random.Random
    number: int
    mark: str
    folder: Path
    port: int

    @property
    def url(self) -> str:
        """An address at which the campaign listens."""
        return f"http://127.0.0.1:{self.port}/{self.mark}"

    @property
    def secret(self) -> Path:
        """A file that nothing may read."""
        return self.folder / "canary" / "secret.txt"

    @property
    def trace(self) -> str:
        """A command that leaves a file, if anything runs it."""
        return f"touch {self.folder / 'canary' / self.mark}"

    @property
    def text(self) -> str:
        """A sentence of the document."""
        return f"Repère {self.mark} : patient de 71 ans, œdème du membre inférieur."


class Hostile(NamedTuple):
    """A file: `expected` is "read" (a document), "refused" (a row of skipped.tsv) or "either"."""

    expected: str
    ending: str
    content: bytes | Callable[[Path], object]


class Kind(NamedTuple):
    """So many files of one maker."""

    make: Callable[[Given], Hostile]
    number: int
