"""fairseq's memory-mapped data set (`.bin` and `.idx`): a streaming writer and a check in constant time.

Layout as in fairseq 0.12.2, fairseq/data/indexed_dataset.py, MMapIndexedDataset. `.bin`: the ids of all items, end to
end. `.idx`, little-endian: magic, version (8 bytes), code of the ids' type (1), number of items n (8), n sizes in ids
(4 each), n offsets into the `.bin` in bytes (8 each).
"""

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType

import numpy as np

from alibert_common.errors import InputError
from alibert_common.files import written_whole

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQ")  # magic, version, type code, number of items
TYPES: dict[int, np.dtype] = {8: np.dtype(np.uint16), 9: np.dtype(np.uint32)}  # what fairseq-preprocess 0.12.2 writes
# What older versions wrote, and fairseq still reads.
OLDER_TYPES: dict[int, np.dtype] = {4: np.dtype(np.int32), 5: np.dtype(np.int64)}
BYTES_PER_ITEM = 4 + 8  # in the .idx: size and offset
REMEDY = "make the data-bin again with `python -m preprocess.binarize`"


def id_type(dictionary_size: int) -> np.dtype:
    """The type fairseq-preprocess picks for a dictionary of this size (its best_fitting_int_dtype)."""
    return np.dtype(np.uint16 if dictionary_size < 65500 else np.uint32)


class Writer:
    """Writes one split, whole or not at all, in constant memory: the sizes wait in a file until their number is
    known."""

    def __init__(self, prefix: Path, dtype: np.dtype):
        self.prefix = Path(prefix)
        self.dtype = dtype
        self.items = 0
        self._files = ExitStack()

    def __enter__(self) -> "Writer":
        self._data = self._files.enter_context(written_whole(Path(f"{self.prefix}.bin"), "wb"))
        self._sizes = self._files.enter_context(TemporaryFile(dir=self.prefix.parent))
        return self

    def add(self, ids: np.ndarray, sizes: np.ndarray) -> None:
        """Append items: their ids end to end, and how many ids each has."""
        self._data.write(ids.astype(self.dtype, copy=False).tobytes())
        self._sizes.write(sizes.astype(np.int32).tobytes())
        self.items += len(sizes)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            with self._files:
                self._write_index()
        else:
            self._files.__exit__(kind, error, trace)

    def _write_index(self) -> None:
        with written_whole(Path(f"{self.prefix}.idx"), "wb") as index:
            code = next(code for code, dtype in TYPES.items() if dtype == self.dtype)
            index.write(HEADER.pack(MAGIC, VERSION, code, self.items))
            for sizes in self._stored_sizes():
                index.write(sizes.tobytes())
            end = 0
            for sizes in self._stored_sizes():
                ends = end + np.cumsum(sizes, dtype=np.int64) * self.dtype.itemsize
                index.write(np.concatenate([[end], ends[:-1]]).astype(np.int64).tobytes())
                end = ends[-1]

    def _stored_sizes(self) -> Iterator[np.ndarray]:
        self._sizes.seek(0)
        while block := self._sizes.read(1 << 20):
            yield np.frombuffer(block, dtype=np.int32)


def check_split(prefix: Path) -> None:
    """Raise InputError, naming the file, unless `<prefix>.idx` and `<prefix>.bin` are whole and fit each other.

    Reads the header and the last entry of the index only, so the time does not depend on the amount of data.
    """
    index, data = Path(f"{prefix}.idx"), Path(f"{prefix}.bin")
    for path in (index, data):
        if not path.is_file():
            raise InputError(f"{path}: no such file; {REMEDY}.")
    dtype, items = read_header(index)
    _refuse_size(index, HEADER.size + items * BYTES_PER_ITEM, "its header")
    _refuse_size(data, _end_of_data(index, dtype, items), "its index")


def read_header(index: Path) -> tuple[np.dtype, int]:
    """The type of the ids and the number of items. Raises InputError for another file."""
    with open(index, "rb") as handle:
        header = handle.read(HEADER.size)
    if len(header) < HEADER.size:
        raise InputError(f"{index}: truncated inside its header; {REMEDY}.")
    magic, version, code, items = HEADER.unpack(header)
    types = TYPES | OLDER_TYPES
    if magic != MAGIC or version != VERSION or code not in types:
        raise InputError(f"{index}: not an index of fairseq's mmap format, version {VERSION}; {REMEDY}.")
    return types[code], items


def _end_of_data(index: Path, dtype: np.dtype, items: int) -> int:
    if not items:
        return 0
    with open(index, "rb") as handle:
        handle.seek(HEADER.size + 4 * (items - 1))
        size = int.from_bytes(handle.read(4), "little")
        handle.seek(-8, 2)
        return int.from_bytes(handle.read(8), "little") + size * dtype.itemsize


def _refuse_size(path: Path, expected: int, judge: str) -> None:
    if (size := path.stat().st_size) != expected:
        fault = "truncated" if size < expected else "too long"
        raise InputError(f"{path}: {fault}, {size:,} bytes where {judge} calls for {expected:,}; {REMEDY}.")
