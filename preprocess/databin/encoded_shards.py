"""The text of each file encoded to a *part*, from which `merge.py` makes the splits of the data-bins.

A part is `.ids`, the ids of its lines end to end, and `.lines`, for each line its size in ids and the number of its
document in the file (two int32). `.documents.zst` has the record of each document of the file. `.json` beside it,
written last, says what was read and left out.
"""

import multiprocessing
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from tqdm import tqdm

from alibert_common.executors.base import Engine
from alibert_common.files import write_json, written_whole
from alibert_common.input_log import InputLog
from preprocess.databin.batches import EncodedBlock, blocks_of
from preprocess.databin.document_records import DocumentRecord, read_lines, written_lines
from preprocess.databin.encoder_pool import Encoding, encode_blocks
from preprocess.documents.document import Document, document_files, read_documents, size_of
from preprocess.documents.long_lines import Cuts
from preprocess.documents.shards import shard_name
from preprocess.mixing.mix_file import TRAIN

LINES_AT_ONCE, IDS_AT_ONCE = 1 << 16, 1 << 20  # of a part in memory: a few MB


@dataclass(frozen=True)
class TextFile:
    """A file of documents of a split; `number` counts all files."""

    number: int
    split: str
    path: Path
    workers: int  # that encode its blocks: 1 but for a file that is a large share of all text


@dataclass
class Dropped:
    """What encoding left out of a text, and where it cut lines."""

    lines_without_token: int = 0  # left out: the end of a line alone would look like the end of a document
    cuts: Cuts = field(default_factory=Cuts)


@dataclass
class PartReport:
    """What became of a file. `documents` and `lines` are those with a token."""

    documents: int = 0
    lines: int = 0
    dropped: Dropped = field(default_factory=Dropped)
    inputs: list[dict] = field(default_factory=list)

    def count(self, block: EncodedBlock, last: int | None) -> int | None:
        """Count a block behind a line of document `last`; returns the document of its own last line."""
        self.lines += len(block.sizes)
        self.dropped.lines_without_token += block.empty_lines
        if not len(block.documents):
            return last
        self.documents += int(np.count_nonzero(np.diff(block.documents)) + (block.documents[0] != last))
        return block.documents[-1]


def is_trained_on(split: str) -> bool:
    """Whether a split is training text: "train", "train1"..."""
    return split.startswith(TRAIN)


def text_files(splits: dict[str, list[Path]], engine: Engine) -> list[TextFile]:
    """Every file of every split. Raises InputError for a path that is not there.

    A file gets its share of all processes for its blocks, so that few files, or a large one among many, use all cores.
    """
    files = [(split, path) for split, paths in splits.items() for path in document_files(paths)]
    processes, total = engine.workers * max(1, engine.jobs), max(1, size_of(path for _, path in files))
    shares = [round(processes * size_of([path]) / total) for _, path in files]
    return [
        TextFile(number, *file, workers=min(engine.workers, max(1, share)))
        for number, (file, share) in enumerate(zip(files, shares, strict=True))
    ]


def part_path(parts: Path, number: int, ending: str) -> Path:
    """The place of a file of a part; 1 stands in the name because earlier revisions could write several."""
    return parts / f"{shard_name(number, 1)}.{ending}"


@dataclass(frozen=True)
class EncodeFile:
    """Write the part of a file."""

    encoding: Encoding
    parts: Path

    def done(self, file: TextFile) -> Path:
        """What was read and left out; written last."""
        return self.parts / f"{shard_name(file.number)}.json"

    def __call__(self, file: TextFile) -> None:
        log, report, last = InputLog(), PartReport(), None
        cuts = report.dropped.cuts
        with (
            written_lines(part_path(self.parts, file.number, "documents.zst")) as records,
            closing(_recorded(read_documents([file.path], log), records)) as documents,
            closing(encode_blocks(blocks_of(documents, cuts), self.encoding, file.workers)) as encoded,
            written_whole(part_path(self.parts, file.number, "ids"), "wb") as ids,
            written_whole(part_path(self.parts, file.number, "lines"), "wb") as lines,
            _bar(file) as bar,
        ):
            for block in encoded:
                ids.write(block.ids.tobytes())
                lines.write(np.stack([block.sizes, block.documents], 1).tobytes())
                last = report.count(block, last)
                bar.update(log.bytes_read - bar.n)
        report.inputs = log.manifest()
        write_json(self.done(file), asdict(report))


def _recorded(documents: Iterable[Document], records: IO[str]) -> Generator[Document, None, None]:
    """The documents, each of which is written to the records."""
    for document in documents:
        records.write(DocumentRecord.of(document).line + "\n")
        yield document


def read_part_records(parts: Path, number: int) -> Iterator[str]:
    """The line of each document of a part, also of those without a token."""
    return read_lines(part_path(parts, number, "documents.zst"))


def read_part(parts: Path, number: int, dtype: np.dtype) -> Iterator[EncodedBlock]:
    """The lines of a part, some IDS_AT_ONCE at a time."""
    with open(part_path(parts, number, "ids"), "rb") as ids, open(part_path(parts, number, "lines"), "rb") as lines:
        while len(rows := np.fromfile(lines, np.int32, 2 * LINES_AT_ONCE).reshape(-1, 2)):
            full = np.flatnonzero(np.diff(np.cumsum(rows[:, 0], dtype=np.int64) // IDS_AT_ONCE)) + 1
            for some in np.split(rows, full):
                sizes = np.ascontiguousarray(some[:, 0])
                yield EncodedBlock(np.fromfile(ids, dtype, sizes.sum(dtype=np.int64)), sizes, some[:, 1])


def _bar(file: TextFile) -> tqdm:
    """The bytes of a file, below the bar of all files: in this process, or of a file that takes several."""
    seen = multiprocessing.parent_process() is None or file.workers > 1
    return tqdm(
        total=size_of([file.path]), desc=file.split, unit="B", unit_scale=True, position=1, leave=False,
        disable=None if seen else True,  # None: shown on a terminal only
    )  # fmt: skip
