"""One split of a data-bin: its writer, which puts an empty line between documents, and what it counts."""

from dataclasses import asdict, astuple, dataclass, field

import numpy as np

from preprocess.databin.batches import EncodedBlock, with_separators
from preprocess.databin.fairseq_writer import Writer
from preprocess.documents.long_lines import Cuts
from preprocess.tokenizer.special_tokens import Layout


@dataclass
class SplitCounts:
    """What a split of a data-bin holds. `tokens` are pieces, the ends of lines not among them."""

    documents: int = 0
    lines: int = 0
    tokens: int = 0
    unknowns: int = 0

    def __add__(self, other: "SplitCounts") -> "SplitCounts":
        return SplitCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return (
            f"{self.documents:,} documents, {self.lines:,} lines, {self.tokens:,} tokens, {self.unknowns:,} of them "
            "unknown"
        )


@dataclass
class Dropped:
    """What encoding left out of a text, and where it cut lines."""

    lines_without_token: int = 0  # left out: the end of a line alone would look like the end of a document
    cuts: Cuts = field(default_factory=Cuts)

    def __add__(self, other: "Dropped") -> "Dropped":
        pairs = zip(astuple(self.cuts), astuple(other.cuts), strict=True)
        cuts = Cuts(*(mine + theirs for mine, theirs in pairs))
        return Dropped(self.lines_without_token + other.lines_without_token, cuts)

    @classmethod
    def from_json(cls, record: dict) -> "Dropped":
        """The inverse of `asdict`."""
        return cls(record["lines_without_token"], Cuts(**record["cuts"]))

    def __str__(self) -> str:
        cuts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in asdict(self.cuts).items())
        return f" dropped  {self.lines_without_token:,} lines without a token\n     cut  {cuts}"


class SplitWriter:
    """One split of one data-bin on its way to the disk, documents apart by an empty line."""

    def __init__(self, writer: Writer, layout: Layout):
        self.writer, self.layout, self.held = writer, layout, SplitCounts()
        self.last: int | None = None  # the document of the last line

    def add(self, block: EncodedBlock) -> None:
        """Append a block and count it."""
        if not len(block.sizes):
            return
        ids, sizes = with_separators(block, self.last, self.layout.end)
        self.writer.add(ids, sizes)
        separators = len(sizes) - len(block.sizes)
        documents = separators + (self.last is None)
        tokens, unknowns = len(block.ids) - len(block.sizes), int(np.count_nonzero(block.ids == self.layout.unknown))
        self.held += SplitCounts(documents, len(block.sizes), tokens, unknowns)
        self.last = block.documents[-1]
