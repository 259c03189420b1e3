"""A corpus in shards: a directory of documents in files of some 64 MB of text, compressed, in order of their names.

Every stage before the tokenizer reads and writes such directories, shard by shard, on all cores or nodes. `zstdcat
DIRECTORY/*.zst` shows one. What other programs wrote, single files of documents, is read in the same places.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from preprocess.documents import Document, write_document
from preprocess.files import InputError, written_whole

SHARD_BYTES = 64_000_000  # of text: some seconds of one core in every stage, 1,600 shards of 100 GB
SUFFIX = ".jsonl.zst"
LEVEL = 3  # zstandard's own default: a third of the size, faster than the disk


def shards_of(paths: Iterable[Path]) -> list[Path]:
    """The files of documents: of a directory of shards these, in order; of a file itself.

    Raises InputError for a path that is not there and for a directory without shards.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such file; check the path of the corpus.")
        inside = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: no documents in this directory; make them with `python -m preprocess.ingest`.")
        found += inside
    return found


def shard_name(*numbers: int) -> str:
    """The name, without its ending, of a shard that is to stand in the order of these numbers."""
    return "-".join(f"{number:05d}" for number in numbers)


class ShardFile:
    """A shard that is being written."""

    def __init__(self, handle: IO[str]):
        self.handle = handle
        self.documents = 0

    def write(self, document: Document) -> None:
        """Append a document."""
        self.documents += 1
        write_document(self.handle, document)


@contextmanager
def written_shard(path: Path) -> Iterator[ShardFile]:
    """A file of documents, whole or not there; without a document in it, not there."""
    with written_whole(path, "wb") as stored:
        with zstandard.ZstdCompressor(LEVEL).stream_writer(stored, closefd=False) as packed:
            with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as handle:
                shard = ShardFile(handle)
                yield shard
    if not shard.documents:
        path.unlink()
