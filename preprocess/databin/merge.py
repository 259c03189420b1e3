"""The parts of a split, joined in their order to one data-bin, or dealt out to several, document by document.

Document d of a corpus goes to data-bin d mod N of N, so that each has an N-th of every corpus.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from alibert_common.files import written_whole
from preprocess.databin.batches import EncodedBlock
from preprocess.databin.encoded_shards import part_path, read_part
from preprocess.databin.fairseq_writer import Writer
from preprocess.databin.split_writer import SplitCounts, SplitWriter
from preprocess.tokenizer.special_tokens import Layout


@dataclass(frozen=True)
class Target:
    """One sample of one split: the numbers of its parts, and the data-bins to write it to."""

    split: str
    sample: int
    parts: tuple[int, ...]
    data_bins: tuple[Path, ...]


@dataclass(frozen=True)
class JoinParts:
    """Write the .bin and .idx of a target, in constant memory."""

    parts: Path
    layout: Layout
    dtype: np.dtype

    def done(self, target: Target) -> Path:
        """What the data-bins hold; written last."""
        return self.parts / f"{target.split}-{target.sample}.json"

    def held(self, target: Target) -> list[SplitCounts]:
        """What each of its data-bins holds."""
        return [SplitCounts(**held) for held in json.loads(self.done(target).read_text(encoding="utf-8"))]

    def __call__(self, target: Target) -> None:
        with ExitStack() as stack:
            writers = [stack.enter_context(Writer(place / target.split, self.dtype)) for place in target.data_bins]
            outputs = [SplitWriter(writer, self.layout) for writer in writers]
            for block in self._numbered(target):
                for number, output in enumerate(outputs):
                    output.add(block.only(block.documents % len(outputs) == number))
        with written_whole(self.done(target)) as handle:
            json.dump([asdict(output.held) for output in outputs], handle)

    def _numbered(self, target: Target) -> Iterator[EncodedBlock]:
        """All lines, their documents numbered through all parts; one without a line has no number."""
        number = -1
        for part in target.parts:
            last = -1
            for block in read_part(part_path(self.parts, part, target.sample), self.dtype):
                new = np.diff(block.documents, prepend=last) != 0
                last = block.documents[-1]
                block.documents = number + np.cumsum(new)
                number = block.documents[-1]
                yield block
