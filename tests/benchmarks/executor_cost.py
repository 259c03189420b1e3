"""What the executor costs for an item that writes an empty file, here or in Slurm jobs.

    python tests/benchmarks/executor_cost.py [--items 1000] [--workers 2] [--slurm]

With --slurm the items run in two jobs of one process, of a Slurm of two nodes that it starts on this machine. It prints
the seconds of one item and of all, and the milliseconds of each of the others.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from interleaved import ROOT

from alibert_common.executors.base import Engine

sys.path.append(str(ROOT / "tests" / "slurm"))


@dataclass(frozen=True)
class Touch:
    """The least that a task can do: its file exists afterwards."""

    folder: str

    def done(self, item: int) -> Path:
        """The file of the item."""
        return Path(self.folder, str(item))

    def __call__(self, item: int) -> None:
        self.done(item).touch()


def seconds(engine: Engine, items: int) -> float:
    """Of so many items, from the call to its end."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        engine.run("touch", Touch(folder), range(items), Path(folder, "logs"))
        return time.perf_counter() - began


def report(engine: Engine, items: int) -> None:
    """Print the figures. Two items, not one: a single one would need no processes."""
    few, all_ = seconds(engine, 2), seconds(engine, items)
    print(f"2 items: {few:.2f} s, {items:,}: {all_:.2f} s, {1000 * (all_ - few) / (items - 2):.2f} ms an item")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000, help="number of items (default: 1000)")
    parser.add_argument("--workers", type=int, default=2, help="number of processes here (default: 2)")
    parser.add_argument("--slurm", action="store_true", help="two Slurm jobs of one process (default: off)")
    options = parser.parse_args()
    if not options.slurm:
        return report(Engine(options.workers), options.items)
    from conftest import two_nodes

    with two_nodes():
        report(Engine(1, jobs=2), options.items)


if __name__ == "__main__":
    main()
