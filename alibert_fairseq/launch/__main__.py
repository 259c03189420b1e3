"""Run a recipe as a job: on this machine, or on N nodes of a Slurm cluster.

A recipe is a shell file that ends in one `fairseq-train ... "$@"` call. The same file runs on every rank, with
MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and LOCAL_RANK set, which is all that `fairseq-train` looks at. On CPU
"$@" brings the flags fairseq needs there; the arguments given after `--` follow them. See docs/howto/cluster.md.
"""

import argparse
import os
import shlex
import signal
import sys
import time

from alibert_common.errors import exit_with_sentence
from alibert_common.executors.sbatch import add_slurm_options
from alibert_fairseq.launch import status
from alibert_fairseq.launch.estimate import calibrate, describe_run
from alibert_fairseq.launch.executors import describe, submit
from alibert_fairseq.launch.plan import SLURM_HOURS, Plan, make_plan
from alibert_fairseq.launch.requeue import decide, furthest_update
from alibert_fairseq.launch.save_dir_lock import refuse_taken
from alibert_fairseq.launch.watch import follow
from alibert_fairseq.launch.worker import read_endings


def main() -> None:
    """Submit the job of the command line, follow it to its end, exit with the recipe's exit code; or show all jobs."""
    if sys.argv[1:2] == ["status"]:
        status.main(sys.argv[2:])
        return
    own, extra = split_at_dashes(sys.argv[1:])
    options = parse(own)
    plan = make_plan(options, extra)
    if options.dry_run:
        sys.exit(dry_run(plan))
    refuse_taken(plan)
    job = _begin(plan)
    if options.detach:
        return
    code, sentence = follow_to_end(job, plan)
    print(f"error: {sentence}" if code else sentence, file=sys.stderr if code else sys.stdout)
    sys.exit(code)


def dry_run(plan: Plan) -> int:
    """Show the job and what it takes; return the exit code: 1 if the recipe refuses, as the job itself would."""
    print(describe(plan), flush=True)
    print("a few updates on this machine, for an estimate ...", file=sys.stderr, flush=True)
    found, why_not, refused = calibrate(plan)
    print(describe_run(plan, found) if found else f"no estimate: {why_not}")
    return int(refused)


def follow_to_end(job, plan: Plan) -> tuple[int, str]:
    """(exit code, one sentence). On this machine it is here that --requeue starts a job again."""
    decision: dict = {}
    while True:
        try:
            code, sentence = follow(job, plan.world_size, plan.on_slurm, plan.requeue)
        except KeyboardInterrupt:
            return _interrupted(job, plan)
        if plan.on_slurm or not plan.requeue or not code:
            return code, sentence
        folder, job_id = job.paths.folder, job.job_id
        endings = read_endings(folder, job_id, plan.world_size)
        decision = decide(endings, plan.world_size, furthest_update(folder, job_id), decision)
        if not decision["again"]:
            return code, sentence
        print(f"job {job_id} has ended: {decision['why']}; it is started again", flush=True)
        job = _begin(plan)


def _begin(plan: Plan):
    job = submit(plan)
    status.write_plan(plan, job.job_id)
    print(f"job {job.job_id}: {plan.shape}; logs: {job.paths.folder}", flush=True)
    return job


def split_at_dashes(arguments: list[str]) -> tuple[list[str], list[str]]:
    """(the launcher's own arguments, those after the first `--`, which are the recipe's)."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:cut], arguments[cut + 1 :]


def parse(own: list[str]) -> argparse.Namespace:
    """The launcher's own arguments; others end the command with the hint where they belong."""
    found = parser()
    options, unknown = found.parse_known_args(own)
    if unknown:
        words = shlex.join(unknown)
        found.error(f"unrecognized arguments: {words}; what is for fairseq-train goes behind `--`: RECIPE -- {words}")
    return options


def _interrupted(job, plan: Plan) -> tuple[int, str]:
    """Ctrl-C ends a job on this machine; one on Slurm goes on, and only the launcher exits."""
    if plan.on_slurm:
        print(f"job {job.job_id} goes on; `scancel {job.job_id}` ends it; logs: {job.paths.folder}")
        sys.exit(128 + signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    while not job.done():  # again and again: a rank that is still starting may miss one
        os.kill(int(job.job_id), signal.SIGTERM)
        time.sleep(1)
    return follow(job, plan.world_size, on_slurm=False)


def parser() -> argparse.ArgumentParser:
    """The options. What a job reserves has no default on Slurm; on this machine it is all there is."""
    usage = "%(prog)s RECIPE [options] [-- arguments for the recipe]\n       %(prog)s status [--logs DIR]"
    words = {"usage": usage, "description": __doc__, "formatter_class": argparse.RawTextHelpFormatter}
    words["allow_abbrev"] = False  # `--cpu` is fairseq's
    parser = argparse.ArgumentParser("python -m alibert_fairseq.launch", **words)
    parser.add_argument("recipe", metavar="RECIPE", help="shell file that ends in one `fairseq-train` call")
    parser.add_argument("--nodes", type=_count, default=1, metavar="N", help="nodes (1; more than one means Slurm)")
    processes = parser.add_mutually_exclusive_group()
    help_gpus = "GPUs per node, one process each (on this machine: all that are visible)"
    processes.add_argument("--gpus-per-node", type=_count, metavar="G", help=help_gpus)
    help_cpus = "train on CPU with P processes per node (on a machine without a GPU: 1)"
    processes.add_argument("--cpu-processes-per-node", type=_count, metavar="P", help=help_cpus)
    help_threads = "cores of each process, and its OMP_NUM_THREADS if that is not set\n"
    help_threads += "(this machine: its cores shared out; Slurm: the cluster's default, with one thread)"
    parser.add_argument("--cpus-per-process", type=_count, metavar="C", help=help_threads)
    help_executor = "(slurm if --nodes is above 1 or an option for Slurm is given, else local)"
    parser.add_argument("--executor", choices=("local", "slurm"), help=help_executor)
    help_requeue = "start again what was killed, lost its node or came to its time limit, as long as it gets further"
    parser.add_argument("--requeue", action="store_true", help=help_requeue)
    slurm = parser.add_argument_group("Slurm")
    add_slurm_options(slurm, time_help=f"({SLURM_HOURS} hours: AliBERT took 20)")
    help_logs = "where each job gets a folder of logs; on Slurm a directory that all nodes see (runs/launch)"
    parser.add_argument("--logs", default="runs/launch", metavar="DIR", help=help_logs)
    parser.add_argument("--detach", action="store_true", help="only submit; do not wait for the end")
    help_dry = "show what would run, and by a few updates on this machine what it takes; submit nothing"
    parser.add_argument("--dry-run", action="store_true", help=help_dry)
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


if __name__ == "__main__":
    exit_with_sentence(main)
