"""A corpus in shards: a directory of files of documents, some 64 MB of text each, compressed, in order of their names.

Every stage before the tokenizer reads and writes such directories, shard by shard, on all cores or nodes. `zstdcat
DIRECTORY/*.zst` shows one.
"""

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import zstandard

from alibert_common.files import written_whole
from preprocess.documents.document import SHARD_SUFFIX, Document, write_document

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


class Shards:
    """Shards that follow one another under the number of what they are made from: 00003-00000, 00003-00001..."""

    def __init__(self, directory: Path, number: int):
        self.directory, self.number, self.count, self.bytes = directory, number, 0, 0
        self.open = ExitStack()

    def __enter__(self) -> "Shards":
        return self

    def write(self, document: Document) -> None:
        """Append a document, to a new shard when the last is full."""
        if not self.count or self.bytes >= SHARD_BYTES:
            self.open.close()
            name = shard_name(self.number, self.count) + SHARD_SUFFIX
            self.shard = self.open.enter_context(written_shard(self.directory / name))
            self.count, self.bytes = self.count + 1, 0
        self.shard.write(document)
        self.bytes += len(document.text)

    def __exit__(self, *error) -> bool | None:
        return self.open.__exit__(*error)
