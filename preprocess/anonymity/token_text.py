"""The training text of data-bins as one sequence of tokens, whose places are numbered through all its splits.

Every line ends in `</s>`, and a line that is `</s>` alone stands between two documents. So the .bin alone says where
lines and documents begin.
Shapes: D documents of all splits, T tokens of a part.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alibert_common.arrays import load, save
from alibert_common.errors import InputError
from preprocess.databin.fairseq_writer import REMEDY
from preprocess.databin.patients import patient_keys
from preprocess.documents.patients import PatientTally

PART_TOKENS = 1 << 20  # of a part; a process takes some 150 bytes for each


class Part(NamedTuple):
    """The lines that begin in one of the ranges of PART_TOKENS of a split, both numbered from 0."""

    split: int
    number: int

    def __str__(self) -> str:
        return f"{self.split:05d}-{self.number:06d}"


@dataclass(frozen=True)
class TokenText:
    """The splits whose files are `prefixes`.bin, their number of tokens, and the type and meaning of the ids.

    `starts` (V,) says which ids start a word. `folder` holds what is known of the documents.
    """

    prefixes: tuple[Path, ...]
    sizes: tuple[int, ...]
    dtype: np.dtype
    end: int  # the id of </s>
    unknown: int
    starts: np.ndarray
    folder: Path

    def parts(self) -> list[Part]:
        """All parts, in the order of their tokens."""
        counts = (-(-size // PART_TOKENS) for size in self.sizes)
        return [Part(split, number) for split, count in enumerate(counts) for number in range(count)]

    def read(self, part: Part) -> tuple[np.ndarray, int]:
        """((T,) int64, the tokens of a part, which end in `</s>`; the place of the first)."""
        tokens = self._tokens(part.split)
        first, last = (self._line_start(tokens, (part.number + further) * PART_TOKENS) for further in (0, 1))
        return tokens[first:last].astype(np.int64), sum(self.sizes[: part.split]) + first

    def _tokens(self, split: int) -> np.ndarray:
        return np.memmap(f"{self.prefixes[split]}.bin", self.dtype, "r")

    def _line_start(self, tokens: np.ndarray, place: int) -> int:
        """The first place, from `place` on, where a line begins."""
        step = 1 << 12
        for at in range(max(0, place - 1), len(tokens), step) if place else ():
            if len(ends := np.flatnonzero(tokens[at : at + step] == self.end)):
                return at + int(ends[0]) + 1
        return min(place, len(tokens))

    def write_documents(self, tally: PatientTally) -> None:
        """Write where each document begins, and its patient; `tally` counts the documents."""
        starts = [np.concatenate([*self._document_starts(split)]) for split in range(len(self.prefixes))]
        keys = patient_keys(self.prefixes, tally, "--min-patients")
        for prefix, begin, own in zip(self.prefixes, starts, keys, strict=True):
            if len(begin) != len(own):
                raise InputError(f"{prefix}.bin: {len(begin):,} documents, and {len(own):,} records of them; {REMEDY}.")
        save(self.folder / "starts.npy", np.concatenate(starts))
        save(self.folder / "patients.npy", np.concatenate(keys))

    def _document_starts(self, split: int) -> Iterator[np.ndarray]:
        """Where documents begin, in the order of the split: after each `</s>` that stands alone in its line."""
        tokens, base = self._tokens(split), sum(self.sizes[:split])
        yield np.array([base])
        for at in range(0, len(tokens), PART_TOKENS):
            ends = tokens[max(0, at - 1) : at + PART_TOKENS] == self.end
            yield base + max(0, at - 1) + np.flatnonzero(ends[1:] & ends[:-1]) + 2

    @property
    def patients(self) -> np.ndarray:
        """(D,) uint64: the patient of each document."""
        return load(self.folder / "patients.npy")

    def patients_at(self, places: np.ndarray) -> np.ndarray:
        """uint64: whom the documents of these places are about."""
        return self.patients[np.searchsorted(load(self.folder / "starts.npy"), places, side="right") - 1]
