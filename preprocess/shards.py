"""A corpus in shards: a directory of files of documents, some 64 MB of text each, compressed, in order of their names.

Every stage before the tokenizer reads and writes such directories, shard by shard, on all cores or nodes. `zstdcat
DIRECTORY/*.zst` shows one.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from preprocess.documents import Document, write_document
from preprocess.files import written_whole

SHARD_BYTES = 64_000_000  # of text: some seconds of one core in every stage, 1,600 shards of 100 GB
LEVEL = 3  # zstandard's own default: a third of the size, faster than the disk


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
