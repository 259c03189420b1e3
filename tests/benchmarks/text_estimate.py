"""How long a large text takes on other machines, from the results of text_stages.py, as a table in Markdown.

    python tests/benchmarks/text_estimate.py stages.json --shards shards.json --slurm slurm.json --gigabytes 100

A straight line through the two largest texts gives the time of the processor that a stage needs for the large one. That
of its first process is divided by nothing, that of all others by the cores. A line, not a share, because a part is
constant: a start of Python, the training of a tokenizer on a sample. A shard of 64 MB occupies a process for as long as
`shards` measured. A stage in Slurm jobs takes longer by what it did there.
docs/results/hundred_gigabytes.md has the formula.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from text_tables import table

SHARD_MB = 64
# The earlier ingest reads a file with one process, so one large file takes the same time on any number of cores.
ONE_PROCESS = {("before", "ingest")}


@dataclass(frozen=True)
class Need:
    """Of a stage for the whole text: hours of the processor, GB of memory and disk."""

    alone: float  # what one process does
    divided: float  # what the others do, with the time that shards take
    extra_hours: float  # by the clock, for jobs
    process_gb: float
    disk_gb: float

    def hours(self, cores: int, jobs: bool) -> float:
        """By the clock."""
        return self.alone + self.divided / cores + self.extra_hours * jobs


def line(small: dict, large: dict, figure, x: float) -> float:
    """The figure at `x` megabytes of text, on the line through two measurements; never less than the larger one."""
    (x0, y0), (x1, y1) = ((one["text_mb"], figure(one)) for one in (small, large))
    return max(y1, y1 + (y1 - y0) / (x1 - x0) * (x - x1))


def need(small: dict, large: dict, megabytes: float, shard_ms: float, job_seconds: float, one_process: bool) -> Need:
    """What a stage needs, from its costs at two sizes."""
    alone = line(small, large, lambda one: one["own_processor"], megabytes) / 3600
    divided = line(small, large, lambda one: one["processor"] - one["own_processor"], megabytes) / 3600
    divided += megabytes / SHARD_MB * max(shard_ms, 0) / 3.6e6
    if one_process:
        alone, divided = alone + divided, 0.0
    memory = line(small, large, lambda one: one["largest_mb"], megabytes) / 1000
    disk = line(small, large, lambda one: one["disk_mb"], megabytes) / 1000
    return Need(alone, divided, max(job_seconds, 0) / 3600, memory, disk)


def needs(
    stages: dict, shards: dict | None, slurm: dict | None, megabytes: float, workers: int = 2
) -> dict[str, dict[str, Need]]:
    """{checkout: {stage: need}}. `workers` is the number of processes that shards were measured with."""
    small, large = list(stages.values())[-2:]
    found: dict[str, dict[str, Need]] = {}
    for name in (one for one in large if one != "same"):
        found[name] = {}
        for stage in large[name]:
            sizes = [one[name][stage] | {"text_mb": one[name]["ingest"]["read_mb"]} for one in (small, large)]
            alone = (name, stage) in ONE_PROCESS
            extra = workers * shard_ms(shards, name, stage), job_seconds(shards, slurm, name, stage)
            found[name][stage] = need(*sizes, megabytes, *extra, alone)
    return found


def shard_ms(shards: dict | None, name: str, stage: str) -> float:
    """Milliseconds by the clock that one more shard costs, mostly writes to disk; 0 where it was not measured."""
    if not shards or stage not in shards_of(shards, -1).get(name, {}):
        return 0.0
    counts = [int(key.split()[0]) for key in shards]
    few, many = (shards_of(shards, place)[name][stage]["seconds"] for place in (0, -1))
    return 1000 * (many - few) / (counts[-1] - counts[0])


def job_seconds(shards: dict | None, slurm: dict | None, name: str, stage: str) -> float:
    """Seconds that a stage takes longer in two Slurm jobs than in two processes; 0 where it was not measured."""
    if not shards or not slurm or stage not in shards_of(slurm, 0).get(name, {}):
        return 0.0
    here, there = (shards_of(one, 0)[name][stage]["seconds"] for one in (shards, slurm))
    return there - here


def shards_of(measured: dict, place: int) -> dict:
    """The costs with few (0) or many (-1) shards."""
    return list(measured.values())[place]


def markdown(found: dict[str, dict[str, Need]], cores: int, nodes: int) -> str:
    """A row for each stage, and the sums; the earlier checkout, if there is one, in the last columns."""
    clock = [f"hours, {cores} cores", f"hours, {nodes} nodes of {cores}"]
    head = ["stage", "CPU hours", "of one process", *clock, "memory of a process, GB", "disk, GB"]
    rows: list[list] = [[stage, *cells(one, cores, nodes)] for stage, one in found["now"].items()]
    columns = [[row[place] for row in rows] for place in range(1, 7)]
    rows.append(["all", *map(sum, columns[:4]), max(columns[4]), sum(columns[5])])
    if "before" in found:
        head += [f"before: {name}" for name in ("CPU hours", *clock)]
        before = [[*cells(one, cores, nodes)] for one in found["before"].values()]
        before.append([sum(column) for column in zip(*before, strict=True)])
        rows = [[*row, past[0], *past[2:4]] for row, past in zip(rows, before, strict=True)]
    return table(head, rows)


def cells(one: Need, cores: int, nodes: int) -> list[float]:
    """The figures of a stage, as `markdown` has them."""
    clock = [one.hours(cores, False), one.hours(nodes * cores, True)]
    return [one.alone + one.divided, one.alone, *clock, one.process_gb, one.disk_gb]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", type=Path, help="results of `text_stages.py stages`, of two sizes or more")
    parser.add_argument("--shards", type=Path, help="results of `text_stages.py shards` (default: none)")
    parser.add_argument("--slurm", type=Path, help="results of `text_stages.py shards --slurm` (default: none)")
    parser.add_argument("--workers", type=int, default=2, help="processes of `text_stages.py shards` (default: 2)")
    parser.add_argument("--gigabytes", type=float, default=100.0, help="size of the text (default: 100)")
    parser.add_argument("--cores", type=int, default=32, help="cores of a machine (default: 32)")
    parser.add_argument("--nodes", type=int, default=16, help="number of nodes (default: 16)")
    options = parser.parse_args()
    read = (
        json.loads(path.read_text(encoding="utf-8")) if path else {"measured": None}
        for path in (options.stages, options.shards, options.slurm)
    )
    stages, shards, slurm = (one["measured"] for one in read)
    print(
        markdown(needs(stages, shards, slurm, 1000 * options.gigabytes, options.workers), options.cores, options.nodes)
    )


if __name__ == "__main__":
    main()
