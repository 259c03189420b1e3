"""A corpus in shards: a directory of files of documents, some 64 MB of text each, compressed, in order of their names.

Every stage before the tokenizer reads and writes such directories, shard by shard, on all cores or nodes. `zstdcat
DIRECTORY/*.zst` shows one.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, TypeVar

import zstandard

from alibert_common.files import written_whole
from preprocess.documents.document import SHARD_SUFFIX, Document, write_document

SHARD_BYTES = 64_000_000  # of text: some seconds of one core in every stage, 1,600 shards of 100 GB
LEVEL = 3  # zstandard's own default: a third of the size, faster than the disk
Item = TypeVar("Item")


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


def write_shards(directory: Path, number: int, documents: Iterable[Document]) -> None:
    """Write shards that follow one another under the number of what they are made from: 00003-00000, 00003-00001..."""
    for count, part in enumerate(in_parts(documents, SHARD_BYTES)):
        with written_shard(directory / (shard_name(number, count) + SHARD_SUFFIX)) as shard:
            for document in part:
                shard.write(document)


def in_parts(documents: Iterable[Document], characters: int, least: int = 0) -> Iterator[Iterator[Document]]:
    """Stream the documents in parts of some `characters` of text; a document counts as `least` or more."""

    def numbered() -> Iterator[tuple[int, Document]]:
        number = held = 0
        for document in documents:
            if held >= characters:
                number, held = number + 1, 0
            yield number, document
            held += max(len(document.text), least)

    for _, part in groupby(numbered(), itemgetter(0)):
        yield map(itemgetter(1), part)


def divided(items: Iterable[Item], size: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Neighbouring items in parts whose sizes add up to `most` or less; an item that is larger is a part alone."""
    part: list[Item] = []
    held = 0
    for item in items:
        if part and held + size(item) > most:
            yield part
            part, held = [], 0
        part.append(item)
        held += size(item)
    if part:
        yield part
