"""The keys of a corpus's documents and lines on the disk: made part by part, found again by the number of a document.

A part is some 64 MB of the text of a shard, and of short documents no more than PART_DOCUMENTS. So one file of any size
takes the memory of a part: 24 bytes a line and 1 kB a document, half of which is written twice for a moment. 1 kB a
document lie on the disk meanwhile.
"""

import math
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.deduplication.minhash import Settings, band_keys, signatures
from preprocess.deduplication.repeated_lines import save_lines
from preprocess.documents.document import Document, read_documents
from preprocess.documents.shards import SHARD_BYTES, in_parts, shard_name
from preprocess.documents.text_keys import KEY_BYTES, spaced_key, text_key
from preprocess.documents.words import single_spaced

PART_CHARACTERS = SHARD_BYTES  # what ingest writes is one part a shard
PART_DOCUMENTS = 1 << 15


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

    @property
    def documents(self) -> int:
        """How many there are."""
        return self.starts[-1]

    def file(self, part: int, kind: str) -> Path:
        """The keys of one kind of a part."""
        return self.directory / f"{self.parts[part]}.{kind}.npy"

    def bands(self, bands: range, keys: KeyRange) -> tuple[np.ndarray, np.ndarray]:
        """The keys of some bands that lie in a range, (entries) uint64, and their documents, (entries) uint64.

        The documents of equal keys are in order.
        """
        found = [np.empty(0, np.uint64)]
        documents = [np.empty(0, np.uint64)]
        for part, start in zip(range(len(self.parts)), self.starts, strict=False):
            of_part, members = (np.asarray(load(self.file(part, kind))) for kind in ("bands", "members"))
            for band in bands:
                inside = keys.slice_of(of_part[band])
                found.append(of_part[band, inside].copy())  # a view would keep the file open
                documents.append(members[band, inside] + np.uint64(start))
        return np.concatenate(found), np.concatenate(documents)

    def signatures(self, documents: np.ndarray, settings: Settings) -> np.ndarray:
        """(documents, permutations) of these documents."""
        parts = np.searchsorted(self.starts, documents, side="right") - 1
        rows = np.empty((len(documents), settings.permutations), np.uint32)
        for part in np.unique(parts).tolist():  # one file open at a time, for there may be more than may be open
            places = np.flatnonzero(parts == part)
            rows[places] = load(self.file(part, "signatures"))[documents[places].astype(np.int64) - self.starts[part]]
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
        least = PART_CHARACTERS // PART_DOCUMENTS
        parts = enumerate(in_parts(read_documents([path]), PART_CHARACTERS, least))
        counts = [self._save_part(self.directory / shard_name(shard, part), documents) for part, documents in parts]
        save(self.done(item), np.array(counts, np.int64))

    def _save_part(self, part: Path, documents: Iterable[Document]) -> int:
        """Write files whose names begin as `part`, and return the number of documents, of which only keys are kept."""
        keys, line_keys, places = bytearray(), bytearray(), array("I")
        shortest = math.inf if self.lines_of is None else self.lines_of

        def texts() -> Iterator[str]:
            for number, document in enumerate(documents):
                lines = document.text
                text = single_spaced(lines)
                keys.extend(spaced_key(text))
                line_key = spaced_key if text == lines.replace("\n", " ") else text_key  # mostly the former
                for line_number, line in enumerate(document.lines):
                    if len(line) >= shortest:
                        line_keys.extend(line_key(line))
                        places.extend((number, line_number))
                yield text

        if self.near:
            self._save_signatures(part, signatures(texts(), self.near), self.near)
        else:
            deque(texts(), maxlen=0)
        count = len(keys) // KEY_BYTES
        save_lines(Path(f"{part}.lines.npy"), line_keys, np.array(places, np.uint32).reshape(-1, 2))
        save_lines(Path(f"{part}.documents.npy"), keys, np.stack([np.arange(count), np.zeros(count)], 1))
        return count

    def _save_signatures(self, part: Path, signed: np.ndarray, near: Settings) -> None:
        """Write the signatures, and of every band the sorted keys, (bands, documents), and their documents."""
        save(Path(f"{part}.signatures.npy"), signed)
        keys = band_keys(signed, near).T
        order = np.argsort(keys, axis=1, kind="stable")
        save(Path(f"{part}.members.npy"), order.astype(np.uint32))
        save(Path(f"{part}.bands.npy"), np.take_along_axis(keys, order, axis=1))
