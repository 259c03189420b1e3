"""Items of a stage as an array of Slurm jobs: submitted by submitit, followed until all have ended."""

import contextlib
import io
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from alibert_common.errors import InputError, describe_os_error
from alibert_common.executors import sbatch
from alibert_common.executors.local import Item, run_here
from alibert_common.files import written_whole

if TYPE_CHECKING:
    from tqdm import tqdm

ARRAY = ".array"  # the ending of the file that holds the number of the jobs that are on their way
LOOK_SECONDS = 1  # between two looks at the files that tell how far the jobs are
SHOWN_SECONDS = 60  # that a shared file system may take to show what a job wrote before it ended, or Slurm to answer


@dataclass
class Job:
    """What runs on a node: some of the items, in `workers` processes."""

    function: Callable[[Item], None]
    workers: int

    def __call__(self, items: Sequence[Item], progress: Path) -> str | None:
        """Run them; `progress` holds how many are done. Returns the sentence of what a user can mend, or None."""
        try:
            for done, _ in enumerate(run_here(self.function, items, self.workers), 1):
                progress.write_text(str(done))
        except InputError as error:
            return str(error)
        except OSError as error:
            return describe_os_error(error)
        return None

    def checkpoint(self, items: Sequence[Item], progress: Path):
        """For submitit, when Slurm stops the job to start it again: the same; what is done is not done again."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, items, progress)


def run_on_slurm(
    name: str, job: Job, items: Sequence[Item], jobs: int, logs: Path, options: dict[str, str | int | bool], bar: "tqdm"
) -> None:
    """Run every item in one of at most `jobs` jobs; `logs` is on a file system that all nodes see.

    Raises InputError where there is no Slurm, where it refuses the jobs, and when one of them has failed: with its own
    sentence, if it left one.
    """
    if not shutil.which("sbatch"):
        raise InputError("sbatch: no such command here; run this on the cluster, or leave --slurm out.")
    logs.mkdir(parents=True, exist_ok=True)
    # Neighbours go to different jobs: they are of one source, and of like cost.
    shares = [list(items[first::jobs]) for first in range(min(jobs, len(items)))]
    progress = [logs / f"{name}-{number}.done" for number in range(len(shares))]
    for file in progress:
        file.unlink(missing_ok=True)
    submitted = _submit(name, job, shares, progress, logs, options)
    array, record = submitted[0].job_id.partition("_")[0], logs / f"{name}{ARRAY}"
    try:
        with written_whole(record) as handle:
            handle.write(array)
        _follow(submitted, progress, bar)
    except BaseException:
        sbatch.cancel(array, name)
        raise
    record.unlink()


def end_left(folder: Path) -> None:
    """End the jobs that a command left which wrote somewhere under `folder` and was killed; returns when none is left.

    Jobs of a command that failed are cancelled, but may take half a minute to end. Raises InputError where Slurm does
    not answer.
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


def _submit(name: str, job: Job, shares: list, progress: list[Path], logs: Path, options: dict) -> list:
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError

    executor = SlurmExecutor(logs)
    executor.update_parameters(
        job_name=name,
        time=options["time"],
        cpus_per_task=job.workers,
        array_parallelism=len(shares),
        stderr_to_stdout=True,
        # srun does not inherit sbatch's --cpus-per-task since 22.05
        srun_args=[f"--cpus-per-task={job.workers}"],
        additional_parameters={option: value for option, value in options.items() if option != "time"},
    )
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # sbatch's words, which are in the error too
            return executor.map_array(job, shares, progress)
    except FailedJobError as error:
        raise InputError(f"Slurm refused the job: {' '.join(str(error).split())}") from None


def _follow(submitted: list, progress: list[Path], bar: "tqdm") -> None:
    """Return when every job has ended well; move the bar on meanwhile."""
    waiting, asked, gone = dict(enumerate(submitted)), time.monotonic(), {}
    while waiting:
        bar.update(sum(int(file.read_text() or 0) for file in progress if file.exists()) - bar.n)
        for number, job in list(waiting.items()):
            if job.paths.result_pickle.exists():
                _check(job)
                del waiting[number]
        if time.monotonic() - asked > sbatch.QUESTION_SECONDS:
            asked, running = time.monotonic(), sbatch.alive(submitted[0].job_id.partition("_")[0])
            for job in waiting.values():
                _notice_death(job, running, gone)
        time.sleep(LOOK_SECONDS if waiting else 0)
    bar.update(bar.total - bar.n)


def _check(job) -> None:
    from submitit.core.utils import FailedJobError

    try:
        sentence = job.result()
    except FailedJobError:
        raise InputError(
            f"job {job.job_id} met an error of this program; its log tells it: {job.paths.stdout}"
        ) from None
    if sentence is not None:
        raise InputError(sentence)


def _notice_death(job, running: set[str] | None, gone: dict[str, float]) -> None:
    """Raise InputError for a job that Slurm does not know any more, and that left nothing for a while."""
    if running is None or job.job_id in running:
        gone.pop(job.job_id, None)
        return
    if time.monotonic() - gone.setdefault(job.job_id, time.monotonic()) > SHOWN_SECONDS:
        raise InputError(
            f"job {job.job_id} was ended from outside, by a limit on time or memory or by hand; its log: "
            f"{job.paths.stdout}; the same command goes on with what is not done."
        )
