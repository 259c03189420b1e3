"""The content of a report, independent of its format."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

NONE = "-"  # a cell without a value
NUMBER = re.compile(r"[-+\d.,%±()\[\]\s]*( GiB)?")
LONG = 40  # characters of a cell from which its column needs room


class Strong(str):
    """A cell in bold: the best value of its row."""

    strong = True


class Pieces(NamedTuple):
    """A cell that shows a text as subwords: the text of each, and whether the tokenizer does not know it."""

    pieces: list[tuple[str, bool]]


class Code(NamedTuple):
    """Lines that are shown as they are, such as commands."""

    lines: list[str]


Cell: TypeAlias = str | Pieces


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first cell names the row. `legend` holds the meaning of columns, by their headers."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    legend: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"  # of the caption

    @property
    def kinds(self) -> list[str]:
        """The kind of each column: number, words, long (a sentence) or pieces."""
        return [_kind([row[number] for row in self.rows]) if number else "words" for number in range(len(self.head))]

    @property
    def meanings(self) -> list[tuple[str, str]]:
        """The lines of the legend."""
        return [(header, meaning) for header, meaning in self.legend.items() if meaning]


def _kind(cells: Sequence[Cell]) -> str:
    texts = [cell for cell in cells if isinstance(cell, str)]
    if len(texts) < len(cells):
        return "pieces"
    if any(map(str.isdigit, "".join(texts))) and all(NUMBER.fullmatch(text) for text in texts):
        return "number"
    return "long" if any(len(text) > LONG for text in texts) else "words"


class Picture(NamedTuple):
    """A PNG and its description. `file` is its name, if it is written next to the report."""

    png: bytes
    alt: str
    caption: str = ""
    file: str = ""

    @property
    def base64(self) -> str:
        """The PNG as ASCII."""
        return base64.b64encode(self.png).decode("ascii")


@dataclass
class Section:
    """A heading and the blocks below it; a string is a paragraph.

    A whole report also has a language, and a table of contents or none. Without one it is printed without wide margins.
    """

    title: str
    blocks: Sequence["Block"] = ()
    language: str = "en"
    contents: bool = True


Block: TypeAlias = str | Code | Table | Picture | Section
