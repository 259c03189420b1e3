"""What a report is made of, before it is HTML or Markdown: sections of sentences, tables and pictures."""

from dataclasses import dataclass, field

NONE = "-"  # a cell for which there is no figure


class Strong(str):
    """A cell that stands out: the best of its row."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of each the row's name. words: the cells are words, to be read from their left."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    words: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG, and what it shows in words."""

    png: bytes
    alt: str


@dataclass
class Section:
    """A heading and what is below it."""

    title: str
    blocks: list["Text | Table | Picture | Section"] = field(default_factory=list)
