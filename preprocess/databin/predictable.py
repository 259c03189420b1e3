"""Which tokens of a split a model may learn: `SPLIT.predictable`, a bit for each token of the .bin, the first one
highest. A data-bin without the file lets it learn all of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from alibert_common.errors import InputError
from alibert_common.files import written_whole
from preprocess.databin.fairseq_writer import REMEDY
from preprocess.databin.split_reader import token_ids

ENDING = ".predictable"
PROOF = "anonymity.json"  # what was counted, and the proof of it


def predictable_path(prefix: Path | str) -> Path:
    """The file of the split whose tokens are in `prefix`.bin."""
    return Path(f"{prefix}{ENDING}")


class Predictable:
    """The bits of a split, mapped. Raises InputError for a file that is not as long as its .bin."""

    def __init__(self, prefix: Path | str):
        path, tokens = predictable_path(prefix), len(token_ids(Path(prefix)))
        if path.stat().st_size != -(-tokens // 8):
            raise InputError(f"{path}: {path.stat().st_size:,} bytes for {tokens:,} tokens; {REMEDY}.")
        self.bytes = np.memmap(path, np.uint8, "r") if tokens else np.zeros(0, np.uint8)

    def between(self, first: int, last: int) -> np.ndarray:
        """(last - first,) bool: whether each token from `first` to before `last` may be learned."""
        bits = np.unpackbits(self.bytes[first // 8 : -(-last // 8)])
        return bits[first % 8 : first % 8 + last - first].astype(bool)


class BitWriter:
    """Writes bits to an open file, eight at a time."""

    def __init__(self, file: IO[bytes]):
        self.file, self.left = file, np.empty(0, bool)

    def add(self, bits: np.ndarray) -> None:
        """Append (T,) bool."""
        bits = np.concatenate([self.left, bits])
        whole = len(bits) // 8 * 8
        self.file.write(np.packbits(bits[:whole]).tobytes())
        self.left = bits[whole:]


@contextmanager
def written_bits(prefix: Path | str) -> Iterator[BitWriter]:
    """The file of a split, whole or not at all."""
    with written_whole(predictable_path(prefix), "wb") as file:
        writer = BitWriter(file)
        yield writer
        file.write(np.packbits(writer.left).tobytes())
