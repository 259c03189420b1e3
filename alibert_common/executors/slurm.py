"""Run the items of a stage in an array of Slurm jobs, which submitit submits."""

import contextlib
import io
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from alibert_common.errors import InputError, describe_os_error
from alibert_common.executors import sbatch
from alibert_common.executors.local import Item, Task, run_here
from alibert_common.files import write_text

if TYPE_CHECKING:
    from tqdm import tqdm

ARRAY = ".array"  # suffix of the file with the number of the running array
LOOK_SECONDS = 1  # between two readings of the progress files
SHOWN_SECONDS = 60  # until a shared file system shows what a job wrote, or Slurm answers


@dataclass
class Job(Generic[Item]):
    """The work of one node: some of the items, in `workers` processes."""

    task: Task[Item]
    workers: int

    def __call__(self, items: Sequence[Item], progress: Path) -> str | None:
        """Run the items; `progress` holds the number of those done. Returns the sentence of a user's error, or None."""
        try:
            for done, _ in enumerate(run_here(self.task, items, self.workers), 1):
                progress.write_text(str(done))
        except InputError as error:
            return str(error)
        except OSError as error:
            return describe_os_error(error)
        return None

    def checkpoint(self, items: Sequence[Item], progress: Path) -> Any:
        """Return the job that submitit runs when Slurm restarts this one. It skips the items that are done."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, items, progress)


def run_on_slurm(
    name: str, job: Job[Item], items: Sequence[Item], jobs: int, logs: Path, options: sbatch.Options, bar: "tqdm"
) -> None:
    """Run the items in at most `jobs` jobs. All nodes must see the folder `logs`.

    Raises InputError without Slurm, for refused jobs, and for a failed job, with its own sentence if it has one.
    """
    if not shutil.which("sbatch"):
        raise InputError("sbatch: no such command here; run this on the cluster, or leave --slurm out.")
    logs.mkdir(parents=True, exist_ok=True)
    # Neighbours go to different jobs: those of one source have similar costs.
    shares = [list(items[first::jobs]) for first in range(min(jobs, len(items)))]
    progress = [logs / f"{name}-{number}.done" for number in range(len(shares))]
    for file in progress:
        file.unlink(missing_ok=True)
    submitted = _submit(name, job, shares, progress, logs, options)
    array, record = submitted[0].job_id.partition("_")[0], logs / f"{name}{ARRAY}"
    try:
        write_text(record, array)
        _follow(submitted, progress, bar)
    except BaseException:
        sbatch.cancel(array, name)
        raise
    record.unlink()


def end_left(folder: Path) -> None:
    """End the jobs of a killed command that wrote below `folder`, and wait for their end.

    Cancelled jobs may take half a minute to end. Raises InputError when Slurm does not answer.
    """
    for record in folder.rglob(f"*{ARRAY}") if shutil.which("scancel") else ():
        array, name = record.read_text(), record.name.removesuffix(ARRAY)
        sbatch.cancel(array, name)
        left, began = sbatch.alive(array), time.monotonic()
        if left != set():
            print(f"waiting for the end of the jobs {array}, of an earlier command", file=sys.stderr)
        while left != set():
            if left is None and time.monotonic() - began > SHOWN_SECONDS:
                raise InputError(
                    f"{record}: Slurm does not say whether the jobs {array} of an earlier command still run; try "
                    "again, or end them and remove this file."
                )
            time.sleep(LOOK_SECONDS)
            if left is None:  # it may not have heard of the end either
                sbatch.cancel(array, name)
            left = sbatch.alive(array)
        record.unlink()


def _submit(name: str, job: Job[Item], shares: list, progress: list[Path], logs: Path, options: dict) -> list:
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError

    executor = SlurmExecutor(logs)
    srun = [f"--cpus-per-task={job.workers}"]  # which srun does not inherit from sbatch since 22.05
    others = {option: value for option, value in options.items() if option != "time"}
    executor.update_parameters(
        job_name=name, time=options["time"], cpus_per_task=job.workers, array_parallelism=len(shares),
        stderr_to_stdout=True, srun_args=srun, additional_parameters=others,
    )  # fmt: skip
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # the error holds the words of sbatch
            return executor.map_array(job, shares, progress)
    except FailedJobError as error:
        raise InputError(f"Slurm refused the job: {' '.join(str(error).split())}") from None


def _follow(submitted: list, progress: list[Path], bar: "tqdm") -> None:
    """Update the bar until all jobs have ended. Raises InputError for one that Slurm forgot and that has no result."""
    waiting, asked = dict(enumerate(submitted)), time.monotonic()
    known = dict.fromkeys(waiting, asked)  # when Slurm last knew a job, or did not answer
    while waiting:
        bar.update(sum(int(file.read_text() or 0) for file in progress if file.exists()) - bar.n)
        for number, job in list(waiting.items()):
            if job.paths.result_pickle.exists():
                _check(job)
                del waiting[number]
        if time.monotonic() - asked > sbatch.QUESTION_SECONDS:
            asked, running = time.monotonic(), sbatch.alive(submitted[0].job_id.partition("_")[0])
            for number, job in waiting.items():
                if running is None or job.job_id in running:
                    known[number] = asked
                elif asked - known[number] > SHOWN_SECONDS + sbatch.QUESTION_SECONDS:
                    raise InputError(
                        f"job {job.job_id} was ended from outside, by a limit on time or memory or by hand; its log: "
                        f"{job.paths.stdout}; run the same command to resume."
                    )
        time.sleep(LOOK_SECONDS if waiting else 0)
    bar.update((bar.total or 0) - bar.n)


def _check(job: Any) -> None:
    from submitit.core.utils import FailedJobError

    try:
        sentence = job.result()
    except FailedJobError:
        sentence = f"job {job.job_id} ended with an error of this program; see its log {job.paths.stdout}"
    if sentence is not None:
        raise InputError(sentence)
