"""Which lines of a corpus repeat others too often, found with the memory of a part of them at a time.

The lines of every part of the corpus become keys, sorted; the keys of all parts that begin alike are then counted
together, in order of reading. 24 bytes a line lie on the disk meanwhile.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.documents.shards import divided
from preprocess.documents.text_keys import is_new, key_array

GROUPS = 256  # by the first byte of the key; the keys of one group of 10^9 lines are 100 MB
LINES_AT_ONCE = 10_000_000  # 240 MB
LINE = np.dtype([("high", "<u8"), ("low", "<u8"), ("document", "<u4"), ("line", "<u4")])


def save_lines(part: Path, keys: bytearray, places: array) -> None:
    """Write the keys of the lines of a part of a corpus, sorted, and where each group begins.

    The names of the files begin as `part`. The keys are in order of reading; `places` holds the numbers of document and
    line for each.
    """
    lines = np.empty(len(places) // 2, LINE)
    lines["high"], lines["low"] = key_array(bytes(keys)).T
    lines["document"], lines["line"] = np.array(places, np.uint32).reshape(-1, 2).T
    lines = lines[np.lexsort((lines["low"], lines["high"]))]
    groups = (lines["high"] >> np.uint64(56)).astype(np.int64)
    save(Path(f"{part}.groups.npy"), np.searchsorted(groups, np.arange(GROUPS + 1)))
    save(Path(f"{part}.lines.npy"), lines)


@dataclass(frozen=True)
class Groups:
    """Groups `first` to `last`, the last not included, of which one process counts the lines of all parts."""

    directory: Path
    parts: tuple[str, ...]  # the names of their files
    first: int
    last: int

    @property
    def output(self) -> Path:
        """The file of their repeated lines."""
        return self.directory / f"repeated-{self.first:03d}.npy"

    def read(self, part: int) -> np.ndarray:
        """The lines of these groups in a part; only they are read from the disk."""
        edges = load(self.directory / f"{self.parts[part]}.groups.npy")
        lines = load(self.directory / f"{self.parts[part]}.lines.npy")
        return np.array(lines[edges[self.first] : edges[self.last]])


def divide_groups(directory: Path, parts: tuple[str, ...]) -> list[Groups]:
    """Groups that lie together, of some LINES_AT_ONCE lines."""
    sizes = np.sum([np.diff(load(directory / f"{part}.groups.npy")) for part in parts], axis=0).tolist()
    shares = divided(range(GROUPS), sizes.__getitem__, LINES_AT_ONCE)
    return [Groups(directory, parts, share[0], share[-1] + 1) for share in shares]


@dataclass(frozen=True)
class FindRepeated:
    """Find the lines that stand in the corpus `most` times before; those of dropped documents do not count."""

    most: int
    dropped: Path  # .npy: for every document of the corpus, 0 unless it is dropped
    starts: tuple[int, ...]  # where each part's documents begin in it

    def done(self, groups: Groups) -> Path:
        """The only file that it writes."""
        return groups.output

    def __call__(self, groups: Groups) -> None:
        gone = load(self.dropped) != 0
        lines = []
        for part in range(len(groups.parts)):
            read = groups.read(part)
            lines.append(read[~gone[self.starts[part] + read["document"]]])
        parts = np.repeat(np.arange(len(lines), dtype=np.uint32), [len(part_lines) for part_lines in lines])
        save(groups.output, _repeated(np.concatenate(lines), parts, self.most))


def _repeated(lines: np.ndarray, parts: np.ndarray, most: int) -> np.ndarray:
    """(lines, 3) part, document, line of those that follow `most` equal ones in order of reading; sorted."""
    order = np.lexsort((lines["line"], lines["document"], parts, lines["low"], lines["high"]))
    lines, parts = lines[order], parts[order]
    begins = np.flatnonzero(is_new(lines["high"], lines["low"]))
    rank = np.arange(len(lines)) - np.repeat(begins, np.diff(begins, append=len(lines)))
    over = rank >= most
    places = np.stack([parts[over], lines["document"][over], lines["line"][over]], 1)
    return places[np.lexsort(places.T[::-1])]


def lines_to_drop(shares: Iterable[Groups], part: int) -> dict[int, set[int]]:
    """The lines to drop in one part: {document: numbers of its lines}."""
    numbers: dict[int, set[int]] = {}
    for groups in shares:
        places = load(groups.output)
        first, last = np.searchsorted(places[:, 0], [part, part + 1])
        for _, document, line in places[first:last].tolist():
            numbers.setdefault(document, set()).add(line)
    return numbers
