"""Which lines of a corpus in shards repeat others too often, found with the memory of a part of them at a time.

Every shard's lines become keys, sorted; the keys of all shards that begin alike are then counted together, in order of
reading. 24 bytes a line lie on the disk meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preprocess.arrays import load, save
from preprocess.shards import shard_name
from preprocess.text_keys import key_array

GROUPS = 256  # by the first byte of the key; the keys of one group of 10^9 lines are 100 MB
LINES_AT_ONCE = 10_000_000  # 240 MB
LINE = np.dtype([("high", "<u8"), ("low", "<u8"), ("document", "<u4"), ("line", "<u4")])


class ShardLines:
    """The lines of one shard, gathered in order of reading."""

    def __init__(self, min_characters: int):
        self.min_characters = min_characters
        self.texts: list[str] = []
        self.places: list[tuple[int, int]] = []

    def add(self, document: int, lines: list[str]) -> None:
        """The lines of a document; those shorter than `min_characters` are never counted."""
        for number, line in enumerate(lines):
            if len(line) >= self.min_characters:
                self.texts.append(line)
                self.places.append((document, number))

    def save(self, directory: Path, shard: int) -> None:
        """Write their keys, sorted, and where each group begins."""
        lines = np.empty(len(self.texts), LINE)
        lines["high"], lines["low"] = key_array(self.texts).T
        lines["document"], lines["line"] = np.array(self.places, np.uint32).reshape(-1, 2).T
        lines = lines[np.lexsort((lines["low"], lines["high"]))]
        groups = (lines["high"] >> np.uint64(56)).astype(np.int64)
        save(directory / f"{shard_name(shard)}.groups.npy", np.searchsorted(groups, np.arange(GROUPS + 1)))
        save(directory / f"{shard_name(shard)}.lines.npy", lines)


@dataclass(frozen=True)
class Groups:
    """Groups `first` to `last`, the last not included, of which one process counts the lines of all shards."""

    directory: Path
    shards: int
    first: int
    last: int

    @property
    def output(self) -> Path:
        """Where it is, these are counted."""
        return self.directory / f"repeated-{self.first:03d}.npy"


def share_out(directory: Path, shards: int) -> list[Groups]:
    """Groups that lie together, of some LINES_AT_ONCE lines."""
    sizes = np.zeros(GROUPS, np.int64)
    for shard in range(shards):
        sizes += np.diff(load(directory / f"{shard_name(shard)}.groups.npy"))
    parts, first, held = [], 0, 0
    for group, size in enumerate(sizes.tolist()):
        if held and held + size > LINES_AT_ONCE:
            parts.append(Groups(directory, shards, first, group))
            first, held = group, 0
        held += size
    return [*parts, Groups(directory, shards, first, GROUPS)]


@dataclass(frozen=True)
class FindRepeated:
    """Find the lines that stand in the corpus `most` times before; those of dropped documents do not count."""

    most: int
    dropped: Path  # .npy: for every document of the corpus, 0 unless it is dropped
    starts: tuple[int, ...]  # where each shard's documents begin in it

    def __call__(self, part: Groups) -> None:
        if part.output.exists():
            return
        gone = load(self.dropped) != 0
        lines, shards = [], []
        for shard in range(part.shards):
            found = _read(part, shard)
            found = found[~gone[self.starts[shard] + found["document"]]]
            lines.append(found)
            shards.append(np.full(len(found), shard, np.uint32))
        save(part.output, _repeated(np.concatenate(lines), np.concatenate(shards), self.most))


def _read(part: Groups, shard: int) -> np.ndarray:
    """The lines of the part's groups in a shard; only these are read from the disk."""
    edges = load(part.directory / f"{shard_name(shard)}.groups.npy")
    lines = load(part.directory / f"{shard_name(shard)}.lines.npy")
    return np.array(lines[edges[part.first] : edges[part.last]])


def _repeated(lines: np.ndarray, shards: np.ndarray, most: int) -> np.ndarray:
    """(lines, 3) shard, document, line of those that follow `most` equal ones in order of reading; sorted."""
    order = np.lexsort((lines["line"], lines["document"], shards, lines["low"], lines["high"]))
    lines, shards = lines[order], shards[order]
    new = np.ones(len(lines), bool)
    new[1:] = (lines["high"][1:] != lines["high"][:-1]) | (lines["low"][1:] != lines["low"][:-1])
    begins = np.flatnonzero(new)
    rank = np.arange(len(lines)) - np.repeat(begins, np.diff(begins, append=len(lines)))
    over = rank >= most
    places = np.stack([shards[over], lines["document"][over], lines["line"][over]], 1)
    return places[np.lexsort(places.T[::-1])]


def lines_to_drop(parts: Iterable[Groups], shard: int) -> dict[int, set[int]]:
    """Of one shard: document to the numbers of its lines."""
    found: dict[int, set[int]] = {}
    for part in parts:
        places = load(part.output)
        first, last = np.searchsorted(places[:, 0], [shard, shard + 1])
        for _, document, line in places[first:last].tolist():
            found.setdefault(document, set()).add(line)
    return found
