"""Executors of a stage: processes of this machine, or jobs of a Slurm cluster.

A task turns an item into files, each written whole. Items are independent and give the same bytes wherever they run.
An item whose files exist is skipped, so a stopped stage resumes.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from alibert_common.cli import at_least
from alibert_common.errors import InputError
from alibert_common.executors.local import Item, Task, run_here
from alibert_common.executors.sbatch import Options, add_slurm_options, slurm_options
from alibert_common.executors.slurm import Job, run_on_slurm

SLURM_HOURS = 24  # as in the launcher; after a longer job the same command resumes


@dataclass
class Engine:
    """Executor with `workers` processes, here or in each of `jobs` Slurm jobs. `slurm` holds options of sbatch."""

    workers: int = 1
    jobs: int = 0
    slurm: Options = field(default_factory=lambda: {"time": SLURM_HOURS * 60})

    def run(self, name: str, task: Task[Item], items: Sequence[Item], logs: Path) -> None:
        """Run the task on every item that is not done, in their order. A progress bar shows the remaining time.

        Slurm jobs write their logs to `logs`. Raises the InputError of an item, and InputError for a killed process or
        job.
        """
        waiting = [item for item in items if not task.done(item).exists()]
        if not waiting:
            return
        from tqdm import tqdm  # here, so that `--help` of the stages is quick

        with tqdm(total=len(waiting), desc=name, mininterval=1) as bar:
            if self.jobs:
                run_on_slurm(name, Job(task, self.workers), waiting, self.jobs, logs, self.slurm, bar)
            else:
                for _ in run_here(task, waiting, self.workers):
                    bar.update()


ALONE = Engine()  # one process, here


def add_workers_option(parser: argparse.ArgumentParser) -> None:
    """Add the option of a command that runs here only."""
    cores = len(os.sched_getaffinity(0))
    help_workers = f"number of processes (default {cores}: the free cores)"
    parser.add_argument("--workers", type=at_least(1), default=cores, help=help_workers)


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `engine_of` reads."""
    add_workers_option(parser)
    slurm = parser.add_argument_group("Slurm; needs --output on a file system that all nodes see")
    help_slurm = "number of Slurm jobs, with --workers cores each (default: run here)"
    slurm.add_argument("--slurm", type=at_least(1), metavar="JOBS", help=help_slurm)
    add_slurm_options(slurm, time_help=f"(default {SLURM_HOURS} hours; the same command resumes)")


def engine_of(options: argparse.Namespace) -> Engine:
    """Return the executor of the options. Raises InputError for options of Slurm without --slurm."""
    chosen = slurm_options(options, own={"cpus_per_task", "array"})
    if chosen and not options.slurm:
        raise InputError("--partition, --account, --time and --sbatch are for Slurm jobs; give --slurm JOBS too.")
    return Engine(options.workers, options.slurm or 0, Engine().slurm | chosen)
