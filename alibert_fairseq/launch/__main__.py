"""Run a recipe as a job: on this machine, or on N nodes of a Slurm cluster (options.py describes it)."""

import os
import signal
import sys
import time

from alibert_common.errors import exit_with_sentence
from alibert_fairseq.launch import status
from alibert_fairseq.launch.budget import with_budget
from alibert_fairseq.launch.estimate import calibrate, describe_run
from alibert_fairseq.launch.executors import describe, submit
from alibert_fairseq.launch.options import parse
from alibert_fairseq.launch.plan import Plan, make_plan
from alibert_fairseq.launch.requeue import decide, furthest_update
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
    if options.budget:
        if not options.dry_run:
            status.refuse_taken(plan)  # before a minute of measurement, and below once more: a minute is long
        plan = with_budget(plan, options.budget, keep=not options.dry_run)
    if options.dry_run:
        sys.exit(dry_run(plan))
    status.refuse_taken(plan)
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
    measured, why_not, refused = calibrate(plan)
    print(describe_run(plan, measured) if measured else f"no estimate: {why_not}")
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
    processes = f"{plan.nodes} x {plan.processes_per_node} {'GPU' if plan.gpu else 'CPU'} processes"
    shape = f"{processes} (world size {plan.world_size}) on {'Slurm' if plan.on_slurm else 'this machine'}"
    print(f"job {job.job_id}: {shape}; logs: {job.paths.folder}", flush=True)
    return job


def split_at_dashes(arguments: list[str]) -> tuple[list[str], list[str]]:
    """(the launcher's own arguments, those after the first `--`, which are the recipe's)."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:cut], arguments[cut + 1 :]


def _interrupted(job, plan: Plan) -> tuple[int, str]:
    """Ctrl-C ends a job on this machine; one on Slurm keeps running, and only the launcher exits."""
    if plan.on_slurm:
        print(f"job {job.job_id} keeps running; `scancel {job.job_id}` ends it; logs: {job.paths.folder}")
        sys.exit(128 + signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    while not job.done():  # again and again: a rank that is still starting may miss one
        os.kill(int(job.job_id), signal.SIGTERM)
        time.sleep(1)
    return follow(job, plan.world_size, on_slurm=False)


if __name__ == "__main__":
    exit_with_sentence(main)
