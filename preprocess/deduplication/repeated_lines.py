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
from preprocess.documents.text_keys import key_array, text_key

GROUPS = 256  # by the first byte of the key; the keys of one group of 10^9 lines are 100 MB
LINES_AT_ONCE = 10_000_000  # 240 MB
LINE = np.dtype([("high", "<u8"), ("low", "<u8"), ("document", "<u4"), ("line", "<u4")])


class LineKeys:
    """The keys of the lines of one part of a corpus, in order of reading."""

    def __init__(self, min_characters: int | None):
        """Shorter lines have none; None: no line has one."""
        self.min_characters = min_characters
        self.keys = bytearray()
        self.places = array("I")

    def add(self, document: int, lines: list[str]) -> None:
        """The lines of a document."""
        if self.min_characters is None:
            return
        for number, line in enumerate(lines):
            if len(line) >= self.min_characters:
                self.keys += text_key(line)
                self.places.extend((document, number))

    def save(self, part: Path) -> None:
        """Write the keys, sorted, and where each group begins, in files whose names begin as `part`."""
        lines = np.empty(len(self.places) // 2, LINE)
        lines["high"], lines["low"] = key_array(bytes(self.keys)).T
        lines["document"], lines["line"] = np.array(self.places, np.uint32).reshape(-1, 2).T
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
        """Those of their lines that are repeated."""
        return self.directory / f"repeated-{self.first:03d}.npy"

    def read(self, part: int) -> np.ndarray:
        """The lines of these groups in a part; only they are read from the disk."""
        edges = load(self.directory / f"{self.parts[part]}.groups.npy")
        lines = load(self.directory / f"{self.parts[part]}.lines.npy")
        return np.array(lines[edges[self.first] : edges[self.last]])


def divide_groups(directory: Path, parts: tuple[str, ...]) -> list[Groups]:
    """Groups that lie together, of some LINES_AT_ONCE lines."""
    sizes = np.zeros(GROUPS, np.int64)
    for part in parts:
        sizes += np.diff(load(directory / f"{part}.groups.npy"))
    shares, first, held = [], 0, 0
    for group, size in enumerate(sizes.tolist()):
        if held and held + size > LINES_AT_ONCE:
            shares.append(Groups(directory, parts, first, group))
            first, held = group, 0
        held += size
    return [*shares, Groups(directory, parts, first, GROUPS)]


@dataclass(frozen=True)
class FindRepeated:
    """Find the lines that stand in the corpus `most` times before; those of dropped documents do not count."""

    most: int
    dropped: Path  # .npy: for every document of the corpus, 0 unless it is dropped
    starts: tuple[int, ...]  # where each part's documents begin in it

    def done(self, groups: Groups) -> Path:
        """All that it writes."""
        return groups.output

    def __call__(self, groups: Groups) -> None:
        gone = load(self.dropped) != 0
        lines, parts = [], []
        for part in range(len(groups.parts)):
            found = groups.read(part)
            found = found[~gone[self.starts[part] + found["document"]]]
            lines.append(found)
            parts.append(np.full(len(found), part, np.uint32))
        save(groups.output, _repeated(np.concatenate(lines), np.concatenate(parts), self.most))


def _repeated(lines: np.ndarray, parts: np.ndarray, most: int) -> np.ndarray:
    """(lines, 3) part, document, line of those that follow `most` equal ones in order of reading; sorted."""
    order = np.lexsort((lines["line"], lines["document"], parts, lines["low"], lines["high"]))
    lines, parts = lines[order], parts[order]
    new = np.ones(len(lines), bool)
    new[1:] = (lines["high"][1:] != lines["high"][:-1]) | (lines["low"][1:] != lines["low"][:-1])
    begins = np.flatnonzero(new)
    rank = np.arange(len(lines)) - np.repeat(begins, np.diff(begins, append=len(lines)))
    over = rank >= most
    places = np.stack([parts[over], lines["document"][over], lines["line"][over]], 1)
    return places[np.lexsort(places.T[::-1])]


def lines_to_drop(shares: Iterable[Groups], part: int) -> dict[int, set[int]]:
    """Of one part: document to the numbers of its lines."""
    found: dict[int, set[int]] = {}
    for groups in shares:
        places = load(groups.output)
        first, last = np.searchsorted(places[:, 0], [part, part + 1])
        for _, document, line in places[first:last].tolist():
            found.setdefault(document, set()).add(line)
    return found
