"""The launcher's options. Nothing slow is imported here, so that `--help` is quick."""

import argparse
import re
import shlex

from alibert_common.cli import program
from alibert_common.executors.sbatch import add_slurm_options
from alibert_fairseq.launch.plan import SLURM_HOURS

DESCRIPTION = """Run a recipe as a job: on this machine, or on N nodes of a Slurm cluster.

A recipe is a shell file that ends in one `fairseq-train ... "$@"` call. The same file runs on every rank, with
MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and LOCAL_RANK set, which is all that `fairseq-train` looks at. On CPU
"$@" brings the flags fairseq needs there; the arguments given after `--` follow them. See docs/howto/cluster.md.
"""


def parse(own: list[str]) -> argparse.Namespace:
    """The launcher's own arguments; others end the command with the hint where they belong."""
    command = parser()
    options, unknown = command.parse_known_args(own)
    if unknown:
        words = shlex.join(unknown)
        command.error(f"unrecognized arguments: {words}; what is for fairseq-train goes behind `--`: RECIPE -- {words}")
    return options


def parser() -> argparse.ArgumentParser:
    """The options of the launcher."""
    options = argparse.ArgumentParser(
        program("python -m alibert_fairseq.launch"),
        usage="%(prog)s RECIPE [options] [-- arguments for the recipe]\n       %(prog)s status [--logs DIR]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # `--cpu` is fairseq's
    )
    add = options.add_argument
    add("recipe", metavar="RECIPE", help="shell file that ends in one `fairseq-train` call")
    add("--nodes", type=_count, default=1, metavar="N", help="number of nodes (default 1; more than one means Slurm)")
    processes = options.add_mutually_exclusive_group()
    help_gpus = "GPUs of each node, with one process each (default on this machine: all visible ones)"
    processes.add_argument("--gpus-per-node", type=_count, metavar="G", help=help_gpus)
    help_cpus = "processes of each node, without GPU (default on a machine without a GPU: 1)"
    processes.add_argument("--cpu-processes-per-node", type=_count, metavar="P", help=help_cpus)
    help_cores = "cores and, if unset, OMP_NUM_THREADS of each process (default: an equal share; Slurm: the cluster's)"
    add("--cpus-per-process", type=_count, metavar="C", help=help_cores)
    help_executor = "where to run (default slurm with several nodes or an option for Slurm, else local)"
    add("--executor", choices=("local", "slurm"), help=help_executor)
    help_requeue = "restart after a kill, a lost node or a time limit, while the run makes progress (default: off)"
    add("--requeue", action="store_true", help=help_requeue)
    slurm = options.add_argument_group("Slurm")
    add_slurm_options(slurm, time_help=f"(default {SLURM_HOURS} hours; AliBERT took 20)")
    help_logs = "folder of logs, on Slurm a directory that all nodes see (default runs/launch)"
    add("--logs", default="runs/launch", metavar="DIR", help=help_logs)
    add("--detach", action="store_true", help="submission only, without waiting for the end (default: wait)")
    help_dry = "the job and its estimated time and memory, from a few updates here, without submission"
    add("--dry-run", action="store_true", help=help_dry)
    help_budget = "time in which the run ends, as 55m or 2h; size, batch and updates are chosen for it (default: none)"
    add("--budget", type=_minutes, metavar="TIME", help=help_budget)
    return options


def _minutes(text: str) -> float:
    """The minutes of 55m, 2h or 1.5h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mh])", text)
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(f"{text} is not a time like 55m or 2h")
    return float(found[1]) * (60 if found[2] == "h" else 1)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)
