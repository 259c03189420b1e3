"""What a mix costs: time to draw an epoch, memory while it is drawn and after, and time to read a line.

Then what sequences of whole lines cost in memory, without a mix.

    python tests/campaigns/mix_cost.py    # a minute, 1.2 GB

Lines of 10 to 59 tokens, 20 a document: 2 million of a core used ten times, 20 million of a satellite used once. They
hold no tokens, for what costs is which line comes next. The figures are in docs/reference/mixing.md.
"""

import resource
import time
import tracemalloc

import numpy as np
import torch
from fairseq.data import TokenBlockDataset

from alibert_fairseq.data.blocks import LongLinesCut
from alibert_fairseq.data.mixed_lines import Mix, MixedLines


class NoTokens:
    """Lines with a length and nothing in them."""

    def __init__(self, lines: int, seed: int):
        self.sizes = np.random.default_rng(seed).integers(10, 60, lines, dtype=np.int32)
        self.sizes[20::21] = 1

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, index):
        return torch.zeros(int(self.sizes[index]), dtype=torch.int64)


def peak_bytes() -> int:
    """Most memory that the process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def microseconds(lines, numbers: list[int]) -> float:
    """Time to read a line."""
    begun = time.perf_counter()
    for number in numbers:
        lines[number]
    return (time.perf_counter() - begun) / len(numbers) * 1e6


def whole_lines(lines: NoTokens, room: int = 511) -> None:
    """Print the memory of blocks of whole lines of one document."""
    tracemalloc.start()
    cut = LongLinesCut(lines, room)
    blocks = TokenBlockDataset(cut, cut.sizes, room, pad=1, eos=2, break_mode="complete_doc")
    kept, peak = (size / len(lines) for size in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    print(f"{len(blocks):,} blocks of whole lines: {kept:.1f} bytes a line kept, {peak:.1f} at most")


def main() -> None:
    """Print the figures."""
    corpora = NoTokens(2_000_000, 1), NoTokens(20_000_000, 2)
    before, begun = peak_bytes(), time.perf_counter()
    mixed = MixedLines(corpora, Mix({"core": 10.0, "satellite": 1.0}, seed=1), epoch=1, eos=2)
    seconds, peak = time.perf_counter() - begun, peak_bytes() - before
    kept = sum(array.nbytes for array in (mixed.document, mixed.first, mixed.start, mixed.sizes))
    print(f"{len(mixed):,} lines, {len(mixed.document):,} documents: {seconds:.1f} s to draw an epoch")
    print(f"{kept / len(mixed):.1f} bytes a line kept, {peak / len(mixed):.1f} bytes a line at most while it is drawn")
    numbers = np.random.default_rng(3).integers(0, len(mixed), 100_000).tolist()
    plain = microseconds(corpora[1], [number % len(corpora[1]) for number in numbers])
    print(f"{microseconds(mixed, numbers) - plain:.1f} microseconds more to read a line")
    whole_lines(NoTokens(4_000_000, 4))


if __name__ == "__main__":
    main()
