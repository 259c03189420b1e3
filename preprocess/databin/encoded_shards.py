"""The text of each file encoded to a *part*, from which `joining.py` makes the splits of the data-bins.

A part is `.ids`, the ids of its lines end to end, and `.lines`, for each line its size in ids and the number of its
document in the file (two int32); with drawn segmentations there is one a sample. `.json` beside it, written last, says
what was read and left out.
"""

import json
import multiprocessing
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from tqdm import tqdm

from alibert_common.executors.base import Engine
from alibert_common.files import written_whole
from alibert_common.input_log import InputLog
from preprocess.databin.batches import EncodedBlock, blocks_of
from preprocess.databin.encoder_pool import EncoderPool, Encoding
from preprocess.databin.split_writer import Dropped
from preprocess.documents.document import document_files, read_documents, size_of
from preprocess.documents.shards import shard_name
from preprocess.mixing.mix_file import TRAIN

BYTES_PER_LINE = 8  # in .lines: size and document
LINES_AT_ONCE, IDS_AT_ONCE = 1 << 16, 1 << 20  # of a part in memory: a few MB


@dataclass(frozen=True)
class TextFile:
    """A file of documents of a split. `number` counts all files; `drawn` says whether it is sampled."""

    number: int
    split: str
    path: Path
    drawn: bool
    workers: int  # that encode its blocks: 1 but for a file that is a large share of all text


@dataclass
class PartReport:
    """What became of a file. `documents` and `lines` are those with a token."""

    documents: int = 0
    lines: int = 0
    dropped: Dropped = field(default_factory=Dropped)
    inputs: list[dict] = field(default_factory=list)

    def add(self, other: "PartReport") -> None:
        """Add up with another part of the split."""
        self.documents, self.lines = self.documents + other.documents, self.lines + other.lines
        self.dropped += other.dropped
        self.inputs += other.inputs

    @classmethod
    def read(cls, path: Path) -> "PartReport":
        """What the process that encoded the file wrote down."""
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(**record | {"dropped": Dropped.from_json(record["dropped"])})


def is_trained_on(split: str) -> bool:
    """Whether a split is training text: "train", "train1"..."""
    return split.startswith(TRAIN)


def text_files(splits: dict[str, list[Path]], sampled: bool, engine: Engine) -> list[TextFile]:
    """Every file of every split. Raises InputError for a path that is not there.

    A file gets its share of all processes for its blocks, so that few files, or a large one among many, use all cores.
    """
    found = [(split, path) for split, paths in splits.items() for path in document_files(paths)]
    processes, total = engine.workers * max(1, engine.jobs), max(1, size_of(path for _, path in found))
    files = []
    for number, (split, path) in enumerate(found):
        workers = min(engine.workers, max(1, round(processes * size_of([path]) / total)))
        files.append(TextFile(number, split, path, sampled and is_trained_on(split), workers))
    return files


def part_path(parts: Path, number: int, sample: int = 1) -> Path:
    """The place of a part, without its ending."""
    return parts / shard_name(number, sample)


@dataclass(frozen=True)
class EncodeFile:
    """Write the parts of a file."""

    encoding: Encoding
    parts: Path

    def done(self, file: TextFile) -> Path:
        """What was read and left out; written last."""
        return self.parts / f"{shard_name(file.number)}.json"

    def __call__(self, file: TextFile) -> None:
        log, report = InputLog(), PartReport()
        blocks = blocks_of(read_documents([file.path], log), report.dropped.cuts)
        samples = self.encoding.sampling.samples if self.encoding.sampling and file.drawn else 1
        with EncoderPool(self.encoding, file.workers) as pool, ExitStack() as stack, _bar(file) as bar:
            files = [
                stack.enter_context(_written_part(part_path(self.parts, file.number, sample)))
                for sample in range(1, samples + 1)
            ]
            last = None
            for encoded in pool.encode(blocks, file.drawn, file.number):
                for (ids, lines), block in zip(files, encoded, strict=True):
                    ids.write(block.ids.tobytes())
                    lines.write(np.stack([block.sizes, block.documents], 1).tobytes())
                last = _count(report, encoded[0], last)
                bar.update(log.bytes_read - bar.n)
        report.inputs = log.manifest()
        with written_whole(self.done(file)) as handle:
            json.dump(asdict(report), handle, ensure_ascii=False)


def _count(report: PartReport, block: EncodedBlock, last: int | None) -> int | None:
    report.lines += len(block.sizes)
    report.dropped.lines_without_token += block.empty_lines
    if not len(block.documents):
        return last
    changes = np.count_nonzero(np.diff(block.documents)) + (block.documents[0] != last)
    report.documents += int(changes)
    return block.documents[-1]


@contextmanager
def _written_part(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    with written_whole(Path(f"{path}.ids"), "wb") as ids, written_whole(Path(f"{path}.lines"), "wb") as lines:
        yield ids, lines


def read_part(path: Path, dtype: np.dtype) -> Iterator[EncodedBlock]:
    """The lines of a part, some IDS_AT_ONCE at a time."""
    with open(f"{path}.ids", "rb") as ids, open(f"{path}.lines", "rb") as lines:
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
