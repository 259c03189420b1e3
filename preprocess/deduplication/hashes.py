"""The keys of a corpus's documents and lines on the disk: made part by part, found again by the number of a document.

A part is some 64 MB of the text of a shard, so that one file of any size takes the memory of a part: 24 bytes a line
and 0.9 kB a document, half of which is written twice for a moment. 0.9 kB a document lie on the disk meanwhile.
"""

import math
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.deduplication.minhash import Settings, band_keys, signatures
from preprocess.deduplication.repeated_lines import save_lines
from preprocess.documents.document import Document, read_documents
from preprocess.documents.shards import SHARD_BYTES, in_parts, shard_name
from preprocess.documents.text_keys import KEY_BYTES, key_array, text_key

PART_CHARACTERS = SHARD_BYTES  # what ingest writes is one part a shard


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
        """The keys that `MakeKeys` wrote for every shard."""
        counts = [np.load(directory / f"{shard_name(shard)}.parts.npy") for shard in range(shards)]
        parts = [shard_name(shard, part) for shard, count in enumerate(counts) for part in range(len(count))]
        starts = np.cumsum([0, *np.concatenate(counts)])
        return cls(directory, tuple(parts), tuple(starts.tolist()), tuple(np.cumsum([0, *map(len, counts)]).tolist()))

    def file(self, part: int, kind: str) -> Path:
        """The keys of one kind of a part."""
        return self.directory / f"{self.parts[part]}.{kind}.npy"

    def keys(self) -> np.ndarray:
        """(documents, 2) the keys of their texts."""
        return np.concatenate([np.load(self.file(part, "documents")) for part in range(len(self.parts))])

    def band(self, band: int) -> np.ndarray:
        """(documents,) the keys of one band."""
        return np.concatenate([np.array(load(self.file(part, "bands"))[band]) for part in range(len(self.parts))])

    def signatures(self, documents: np.ndarray) -> np.ndarray:
        """(documents, permutations) of these documents."""
        parts = np.searchsorted(self.starts, documents, side="right") - 1
        together = np.concatenate([  # one file open at a time, for there may be more than a process may open
            load(self.file(part, "signatures"))[documents[parts == part] - self.starts[part]]
            for part in np.unique(parts).tolist()
        ])  # fmt: skip
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
        """The numbers of documents of the parts; written last."""
        return self.directory / f"{shard_name(item[0])}.parts.npy"

    def __call__(self, item: tuple[int, Path]) -> None:
        shard, path = item
        parts = enumerate(in_parts(read_documents([path]), PART_CHARACTERS))
        counts = [self._save_part(self.directory / shard_name(shard, part), documents) for part, documents in parts]
        save(self.done(item), np.array(counts, np.int64))

    def _save_part(self, part: Path, documents: Iterable[Document]) -> int:
        """Write files whose names begin as `part`, and return the number of documents, of which only keys are kept."""
        keys, line_keys, places = bytearray(), bytearray(), array("I")
        shortest = math.inf if self.lines_of is None else self.lines_of

        def texts() -> Iterator[str]:
            for number, document in enumerate(documents):
                keys.extend(text_key(document.text))
                for line_number, line in enumerate(document.lines):
                    if len(line) >= shortest:
                        line_keys.extend(text_key(line))
                        places.extend((number, line_number))
                yield document.text

        if self.near:
            signed = signatures(texts(), self.near)
            save(Path(f"{part}.signatures.npy"), signed)
            save(Path(f"{part}.bands.npy"), np.ascontiguousarray(band_keys(signed, self.near).T))
        else:
            deque(texts(), maxlen=0)
        save_lines(part, line_keys, places)
        save(Path(f"{part}.documents.npy"), key_array(bytes(keys)))
        return len(keys) // KEY_BYTES
