"""Which lines or documents of a corpus repeat others too often, found with the memory of a share of them at a time.

The lines of every part of the corpus become keys, sorted; the keys of all parts that lie in a range are then counted
together, in order of reading. 24 bytes a line lie on the disk meanwhile, and 12 for each that is repeated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alibert_common.arrays import load, save
from preprocess.deduplication.key_ranges import KeyRange
from preprocess.documents.text_keys import is_new, key_array

LINES_AT_ONCE = 500_000  # 12 MB, some five times in memory
LINE = np.dtype([("high", "<u8"), ("low", "<u8"), ("document", "<u4"), ("line", "<u4")])


def save_lines(path: Path, keys: bytearray, places: np.ndarray) -> None:
    """Write the keys of the lines of a part of a corpus, sorted.

    The keys are in order of reading; `places` (lines, 2) are the numbers of document and line.
    """
    lines = np.empty(len(places), LINE)
    lines["high"], lines["low"] = key_array(keys).T
    lines["document"], lines["line"] = places.T
    save(path, lines[np.lexsort((lines["low"], lines["high"]))])


@dataclass(frozen=True)
class FindRepeated:
    """Find the lines of a range of keys that stand in the corpus `most` times before, (lines, 3) part, document, line.

    Lines of dropped documents do not count.
    """

    parts: tuple[Path, ...]  # files of `save_lines`
    output: Path  # what its files' names begin as
    most: int
    dropped: Path | None = None  # .npy: for every document of the corpus, 0 unless it is dropped
    starts: tuple[int, ...] = ()  # where each part's documents begin in it

    def ranges(self) -> list[KeyRange]:
        """Ranges of some LINES_AT_ONCE lines."""
        return KeyRange.divide(sum(len(load(part)) for part in self.parts), LINES_AT_ONCE)

    def done(self, keys: KeyRange) -> Path:
        """The only file that it writes."""
        return Path(f"{self.output}-{keys}.npy")

    def __call__(self, keys: KeyRange) -> None:
        over = [np.empty((0, 3), np.uint32)]
        held, held_parts = np.empty(0, LINE), np.empty(0, np.uint32)
        for lines, parts in self._read(keys):
            lines, parts = np.concatenate([held, lines]), np.concatenate([held_parts, parts])
            repeated = _repeated(lines, self.most)
            places = np.stack([parts, lines["document"], lines["line"]], 1)[repeated]
            over.append(places[np.lexsort(places.T[::-1])])
            held, held_parts = lines[~repeated], parts[~repeated]
        save(self.done(keys), np.concatenate(over))

    def _read(self, keys: KeyRange) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Stream some LINES_AT_ONCE lines of the range, in order of their parts, and the parts' numbers."""
        gone = load(self.dropped) if self.dropped else None
        lines: list[np.ndarray] = []
        for part, path in enumerate(self.parts):
            stored = load(path)
            read = np.array(stored[keys.slice_of(stored["high"])])
            lines.append(read if gone is None else read[gone[self.starts[part] + read["document"]] == 0])
            if part + 1 == len(self.parts) or sum(map(len, lines)) >= LINES_AT_ONCE:
                numbers = np.arange(part + 1 - len(lines), part + 1, dtype=np.uint32)
                yield np.concatenate(lines), np.repeat(numbers, [*map(len, lines)])
                lines = []

    def places(self, ranges: Iterable[KeyRange], part: int) -> np.ndarray:
        """(lines, 2) document and line of those found in one part, in order."""
        found = [np.empty((0, 2), np.uint32)]
        for keys in ranges:
            places = load(self.done(keys))
            first, last = np.searchsorted(places[:, 0], np.array([part, part + 1], np.uint32))
            found.append(np.array(places[first:last, 1:]))  # a view would keep the file open
        places = np.concatenate(found)
        return places[np.lexsort(places.T[::-1])]


def _repeated(lines: np.ndarray, most: int) -> np.ndarray:
    """(lines,) whether a line follows `most` equal ones."""
    order = np.lexsort((lines["low"], lines["high"]))  # stable: equal ones stay in order of reading
    begins = np.flatnonzero(is_new(lines["high"][order], lines["low"][order]))
    rank = np.empty(len(lines), np.int64)
    rank[order] = np.arange(len(lines)) - np.repeat(begins, np.diff(begins, append=len(lines)))
    return rank >= most
