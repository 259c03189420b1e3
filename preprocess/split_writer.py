"""One split of a data-bin: its writer, which puts an empty line between documents, and what it counts."""

from dataclasses import asdict, dataclass, field

import numpy as np

from preprocess.blocks import EncodedBlock, with_separators
from preprocess.indexed_dataset import Writer
from preprocess.layout import Layout
from preprocess.long_lines import Cuts


@dataclass
class Counts:
    """What one split holds. `tokens` are pieces, the ends of lines not among them."""

    documents: int = 0
    lines: int = 0
    tokens: int = 0
    unknowns: int = 0
    lines_without_token: int = 0  # left out: the end of a line alone would look like the end of a document
    cuts: Cuts = field(default_factory=Cuts)

    def __str__(self) -> str:
        cuts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in asdict(self.cuts).items())
        return (
            f"{self.documents:,} documents, {self.lines:,} lines, {self.tokens:,} tokens, {self.unknowns:,} of them "
            f"unknown\n dropped  {self.lines_without_token:,} lines without a token\n     cut  {cuts}"
        )


class SplitWriter:
    """One split of one data-bin on its way to the disk, documents apart by an empty line."""

    def __init__(self, writer: Writer, layout: Layout, cuts: Cuts):
        self.writer, self.layout, self.counts = writer, layout, Counts(cuts=cuts)
        self.last: int | None = None  # the document of the last line

    def add(self, block: EncodedBlock) -> None:
        """Append a block and count it."""
        ids, sizes = with_separators(block, self.last, self.layout.end)
        self.writer.add(ids, sizes)
        self.last = block.documents[-1] if len(block.documents) else self.last
        self.counts.documents += int(np.count_nonzero(sizes == 1))
        self.counts.lines += len(block.sizes)
        self.counts.tokens += len(block.ids) - len(block.sizes)
        self.counts.unknowns += int(np.count_nonzero(ids == self.layout.unknown))
        self.counts.lines_without_token += block.empty_lines
