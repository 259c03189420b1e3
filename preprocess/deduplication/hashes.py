"""The keys of a corpus's documents and lines on the disk: made part by part, found again by the number of a document.

A part is some 64 MB of the text of a shard, so that one file of any size takes the memory of a part: 24 bytes a line
and 0.9 kB a document, half of which is written twice for a moment. 0.9 kB a document lie on the disk meanwhile.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.deduplication.minhash import Settings, band_keys, signatures
from preprocess.deduplication.repeated_lines import LineKeys
from preprocess.documents.document import Document, read_documents
from preprocess.documents.shards import SHARD_BYTES, shard_name
from preprocess.documents.text_keys import key_array, text_key

PART_CHARACTERS = SHARD_BYTES  # what ingest writes is one part a shard
SIGNED_CHARACTERS = 4_000_000  # texts that wait for their signatures


@dataclass(frozen=True)
class Keys:
    """The keys of all documents, numbered from 0 in order of reading.

    `parts` are the names of the parts, `starts` the number of the first document of each; `shards` the number of each
    shard's first part. The last of both is the end.
    """

    directory: Path
    parts: tuple[str, ...]
    starts: tuple[int, ...]
    shards: tuple[int, ...]

    @classmethod
    def of(cls, directory: Path, shards: int) -> "Keys":
        """What `MakeKeys` wrote for every shard."""
        counts = [np.load(counts_of(directory, shard)) for shard in range(shards)]
        parts = [shard_name(shard, part) for shard, found in enumerate(counts) for part in range(len(found))]
        starts = np.cumsum([0, *np.concatenate(counts)])
        return cls(directory, tuple(parts), tuple(starts.tolist()), tuple(np.cumsum([0, *map(len, counts)]).tolist()))

    def file(self, part: int, kind: str) -> Path:
        """The keys of one kind of a part."""
        return self.directory / f"{self.parts[part]}.{kind}.npy"

    def documents(self, part: int) -> slice:
        """The numbers of a part's documents."""
        return slice(self.starts[part], self.starts[part + 1])

    def keys(self) -> np.ndarray:
        """(documents, 2)"""
        return np.concatenate([np.load(self.file(part, "documents")) for part in range(len(self.parts))])

    def band(self, band: int) -> np.ndarray:
        """(documents,) the keys of one band."""
        return np.concatenate([np.array(load(self.file(part, "bands"))[band]) for part in range(len(self.parts))])

    def signatures(self, documents: np.ndarray) -> np.ndarray:
        """(documents, permutations) of these documents."""
        parts = np.searchsorted(self.starts, documents, side="right") - 1
        found = []
        for part in np.unique(parts).tolist():  # one file open at a time, for there may be more than a process may open
            found.append(load(self.file(part, "signatures"))[documents[parts == part] - self.starts[part]])
        together = np.concatenate(found)
        rows = np.empty_like(together)
        rows[np.argsort(parts, kind="stable")] = together
        return rows


@dataclass(frozen=True)
class MakeKeys:
    """Write the keys of a shard: of its documents, of its lines with `lines_of` characters or more, and with `near`
    those for nearly the same documents."""

    directory: Path
    lines_of: int | None  # None: no keys of lines
    near: Settings | None

    def done(self, item: tuple[int, Path]) -> Path:
        """How many documents each part has; written last."""
        return counts_of(self.directory, item[0])

    def __call__(self, item: tuple[int, Path]) -> None:
        shard, path = item
        counts = []
        for part, documents in enumerate(_parts(read_documents([path]))):
            keys = PartKeys(self)
            for document in documents:
                keys.add(document)
            keys.save(self.directory / shard_name(shard, part))
            counts.append(keys.count)
        save(self.done(item), np.array(counts, np.int64))


def counts_of(keys: Path, shard: int) -> Path:
    """Where the keys of a shard say how many documents each of its parts has."""
    return keys / f"{shard_name(shard)}.parts.npy"


def _parts(documents: Iterable[Document]) -> Iterator[Iterator[Document]]:
    def numbered() -> Iterator[tuple[int, Document]]:
        characters = 0
        for document in documents:
            yield characters // PART_CHARACTERS, document
            characters += sum(map(len, document.lines))

    for _, part in groupby(numbered(), itemgetter(0)):
        yield map(itemgetter(1), part)


class PartKeys:
    """The keys of a part, gathered document by document."""

    def __init__(self, settings: MakeKeys):
        self.settings = settings
        self.count = 0
        self.documents = bytearray()
        self.lines = LineKeys(settings.lines_of)
        self.signed: list[np.ndarray] = []
        self.waiting: list[str] = []
        self.characters = 0

    def add(self, document: Document) -> None:
        """Of this document only keys are kept."""
        text = document.text
        self.documents += text_key(text)
        self.lines.add(self.count, document.lines)
        self.count += 1
        if near := self.settings.near:
            self.waiting.append(text)
            self.characters += len(text)
            if self.characters >= SIGNED_CHARACTERS:
                self._sign(near)

    def _sign(self, near: Settings) -> None:
        self.signed.append(signatures(self.waiting, near))
        self.waiting, self.characters = [], 0

    def save(self, part: Path) -> None:
        """Write files whose names begin as `part`."""
        near = self.settings.near
        if near:
            self._sign(near)
            signed = np.concatenate(self.signed)
            save(Path(f"{part}.signatures.npy"), signed)
            save(Path(f"{part}.bands.npy"), np.ascontiguousarray(band_keys(signed, near).T))
        self.lines.save(part)
        save(Path(f"{part}.documents.npy"), key_array(bytes(self.documents)))
