"""The parts of a split, joined in their order to one data-bin, or dealt out to several, document by document.

Document d, of those with a token, of a corpus goes to data-bin d mod N of N, so that each has an N-th of every corpus.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from alibert_common.files import write_json
from preprocess.databin.batches import EncodedBlock
from preprocess.databin.document_records import records_path, written_lines
from preprocess.databin.encoded_shards import read_part, read_part_records
from preprocess.databin.fairseq_writer import Writer, id_type
from preprocess.tokenizer.special_tokens import Layout


@dataclass(frozen=True)
class Target:
    """A split: the numbers of its parts, and the data-bins to write it to."""

    split: str
    parts: tuple[int, ...]
    data_bins: tuple[Path, ...]


@dataclass
class SplitCounts:
    """What a split of a data-bin holds. `tokens` are pieces, the ends of lines not among them."""

    documents: int = 0
    lines: int = 0
    tokens: int = 0
    unknowns: int = 0


class SplitWriter:
    """One split of one data-bin on its way to the disk, documents apart by an empty line."""

    def __init__(self, writer: Writer, layout: Layout):
        self.writer, self.layout, self.held = writer, layout, SplitCounts()
        self.last: int | None = None  # the document of the last line

    def add(self, block: EncodedBlock) -> None:
        """Append a block and count it."""
        if not len(block.sizes):
            return
        first = block.documents[0] if self.last is None else self.last
        new = np.diff(block.documents, prepend=first) != 0  # (lines,) of another document than the line before
        starts = np.cumsum(block.sizes) - block.sizes
        ids = np.insert(block.ids, starts[new], self.layout.end)
        self.writer.add(ids, np.insert(block.sizes, np.flatnonzero(new), 1))
        self.held.documents += int(np.count_nonzero(new)) + (self.last is None)
        self.held.lines += len(block.sizes)
        self.held.tokens += len(block.ids) - len(block.sizes)
        self.held.unknowns += int(np.count_nonzero(block.ids == self.layout.unknown))
        self.last = block.documents[-1]


@dataclass(frozen=True)
class JoinParts:
    """Write the .bin and .idx of a target, in constant memory."""

    parts: Path
    layout: Layout

    def done(self, target: Target) -> Path:
        """What each of its data-bins holds; written last."""
        return self.parts / f"{target.split}-1.json"

    def __call__(self, target: Target) -> None:
        dtype = id_type(self.layout.listed)
        with ExitStack() as stack:
            prefixes = [place / target.split for place in target.data_bins]
            writers = [stack.enter_context(Writer(prefix, dtype)) for prefix in prefixes]
            records = [stack.enter_context(written_lines(records_path(prefix))) for prefix in prefixes]
            outputs = [SplitWriter(writer, self.layout) for writer in writers]
            for block, first, lines in self._numbered(target, dtype):
                for number, line in enumerate(lines, first):
                    records[number % len(records)].write(f"{line}\n")
                for number, output in enumerate(outputs):
                    output.add(block.only(block.documents % len(outputs) == number))
        write_json(self.done(target), [asdict(output.held) for output in outputs])

    def _numbered(self, target: Target, dtype: np.dtype) -> Iterator[tuple[EncodedBlock, int, list[str]]]:
        """All lines, their documents numbered through all parts; one without a line has no number.

        With each block: the number of the first document that begins in it, and the records of those that do.
        """
        number = -1
        for part in target.parts:
            last, records = -1, read_part_records(self.parts, part)
            for block in read_part(self.parts, part, dtype):
                new = np.diff(block.documents, prepend=last) != 0
                begun, read, first = set(block.documents[new].tolist()), last + 1, number + 1
                last = int(block.documents[-1])
                lines = [line for place, line in enumerate(islice(records, last + 1 - read), read) if place in begun]
                block.documents = number + np.cumsum(new)
                number = block.documents[-1]
                yield block, first, lines
