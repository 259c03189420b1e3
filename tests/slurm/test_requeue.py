"""A training on two Slurm nodes that is interrupted goes on by itself, and ends as one that was left in peace."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from trainings import metrics, tensors, training_environment

UPDATES, INTERRUPTED_AFTER = 240, 45
OPTIONS = f"--max-update {UPDATES} --batch-size 4 --warmup-updates 1 --encoder-layers 2 --disable-validation".split()
OPTIONS += "--dropout 0.1 --save-interval-updates 20 --distributed-backend gloo --ddp-backend legacy_ddp --cpu".split()
PATIENCE = 240  # seconds for a whole job; the slowest waits for a time limit of a minute


class Job:
    """A launched job that runs: its number, where it writes, what ends it."""

    def __init__(self, process: subprocess.Popen, save: Path, cluster):
        self.process, self.save, self.cluster = process, save, cluster
        said = ""
        while not (found := re.search(r"^job (\d+):", said, re.MULTILINE)):
            line = process.stdout.readline()
            assert line, said
            said += line
        self.number = found[1]

    def updates(self) -> int:
        """Those that metrics.jsonl has."""
        return len(metrics(self.save))

    def wait_until(self, ready: Callable[[], object]) -> None:
        """Fails if the job ends before, or is too slow."""
        end = time.monotonic() + PATIENCE
        while not ready():
            assert self.process.poll() is None and time.monotonic() < end, self.process.stdout.read()
            time.sleep(0.1)

    def restarts(self) -> int:
        """How often Slurm has started it again."""
        shown = subprocess.run(["scontrol", "show", "job", self.number], capture_output=True, text=True).stdout
        return int(re.search(r"Restarts=(\d+)", shown)[1])

    def processes(self, **variables: str) -> list[int]:
        """Those of the job that have these variables in their environment."""
        wanted = [f"\0{name}={value}\0".encode() for name, value in (variables | {"SLURM_JOB_ID": self.number}).items()]
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                environment = b"\0" + path.read_bytes()
            except OSError:  # it has ended
                continue
            if all(one in environment for one in wanted):
                found.append(int(path.parent.name))
        return found

    def trainers(self, **variables: str) -> list[int]:
        """Those of them that train."""
        found = self.processes(**variables)
        return [pid for pid in found if b"/fairseq-train\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def scontrol_requeue(job: Job) -> None:
    subprocess.run(["scontrol", "requeue", job.number], check=True)


def preemption(job: Job) -> None:
    """By a job of a partition that goes before, which gives it thirty seconds."""
    command = ["sbatch", "--partition=urgent", "--nodes=2", "--output=/dev/null", "--wrap=sleep 3"]
    subprocess.run(command, check=True, capture_output=True)


def preemption_signal(job: Job) -> None:
    subprocess.run(["scancel", "--signal=USR2", job.number], check=True)


def kill_of_a_rank(job: Job) -> None:
    """What the kernel does to a process for want of memory."""
    (trainer,) = job.trainers(RANK="1")
    os.kill(trainer, signal.SIGKILL)


def kill_of_the_first_slurmd(job: Job) -> None:
    """The node of the batch file and of rank 0, which go on until the other rank is gone."""
    _fail(job, "n1")


def kill_of_the_second_slurmd(job: Job) -> None:
    _fail(job, "n2")


def _fail(job: Job, node: str) -> None:
    """Slurm takes some time to notice, in which the training would end: it stands still meanwhile."""
    trainers = job.trainers(RANK="0") + job.trainers(RANK="1")
    for pid in trainers:
        os.kill(pid, signal.SIGSTOP)
    job.cluster.kill_slurmd(node)
    try:
        job.wait_until(lambda: _state(node).startswith("down"))
    finally:
        for pid in trainers:
            with contextlib.suppress(ProcessLookupError):  # Slurm has killed those of the other node
                os.kill(pid, signal.SIGCONT)
        job.cluster.start_slurmd(node)


def _state(node: str) -> str:
    answer = subprocess.run(["sinfo", "-h", "-p", "test", "-n", node, "-o", "%T"], capture_output=True, text=True)
    return answer.stdout.strip()


def kill_of_the_whole_job(job: Job) -> None:
    """The batch file too, so that none is left that could ask for another start."""
    for pid in job.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


INTERRUPTIONS = [
    scontrol_requeue,
    preemption,
    preemption_signal,
    kill_of_a_rank,
    kill_of_the_first_slurmd,
    kill_of_the_second_slurmd,
    kill_of_the_whole_job,
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """fairseq's commands, and a data-bin."""
    return training_environment(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def recipe(repository) -> str:
    """Of the objective with the most to lose: generator, discriminator, sampled replacements."""
    return str(repository / "recipes" / "pretrain" / "tiny_electra.sh")


@pytest.fixture(scope="module")
def undisturbed(environment, recipe, repository, two_node_slurm, tmp_path_factory) -> Path:
    """The folder of a two-node run that nothing happened to."""
    save = tmp_path_factory.mktemp("undisturbed")
    job = launched(recipe, "10", environment, repository, save, two_node_slurm)
    assert job.process.wait(PATIENCE) == 0, job.process.stdout.read()
    return save


def launched(recipe, minutes, environment, repository, save, cluster, *options: str) -> Job:
    """`python -m alibert_fairseq.launch RECIPE --nodes 2 ...`, which follows its job to the end."""
    command = [sys.executable, "-m", "alibert_fairseq.launch", recipe, "--partition", "test", "--nodes", "2"]
    command += ["--cpu-processes-per-node", "1", "--time", minutes, "--logs", str(save / "logs"), "--requeue", *options]
    own = {"SAVE_DIR": str(save), "PYTHONPATH": str(repository), "SLURM_CONF": str(cluster.configuration)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen([*command, "--", *OPTIONS], env=environment | own, cwd=save, **streams)
    return Job(process, save, cluster)


def ended_as(undisturbed: Path, job: Job) -> None:
    """The same bits, and metrics.jsonl has each update once."""
    said = job.process.communicate(timeout=PATIENCE)[0]
    assert job.process.returncode == 0, said
    assert "2 of 2 ranks ended well" in said
    found, expected = tensors(job.save), tensors(undisturbed)
    assert found.keys() == expected.keys()
    assert not [key for key, value in expected.items() if not torch.equal(found[key], value)]
    assert [line["update"] for line in metrics(job.save)] == list(range(1, UPDATES + 1))
    assert metrics(job.save) == metrics(undisturbed)


@pytest.mark.parametrize("interrupt", INTERRUPTIONS, ids=lambda interrupt: interrupt.__name__)
def test_an_interrupted_job_ends_like_one_left_in_peace(
    interrupt, undisturbed, environment, recipe, repository, two_node_slurm, tmp_path
):
    job = launched(recipe, "10", environment, repository, tmp_path, two_node_slurm)
    job.wait_until(lambda: job.updates() >= INTERRUPTED_AFTER)
    interrupt(job)
    job.wait_until(lambda: job.restarts() == 1)
    assert job.updates() < UPDATES
    ended_as(undisturbed, job)
    assert job.restarts() == 1


def test_a_time_limit(undisturbed, environment, recipe, repository, two_node_slurm, tmp_path):
    """Of a minute. Slurm looks at its limits every half minute; the signal comes ten to forty seconds before the end,
    and with it one that wakes the training, which stands still until then, for it would have ended."""
    limit = ["--sbatch", "signal=USR2@10"]
    job = launched(recipe, "1", environment, repository, tmp_path, two_node_slurm, *limit)
    job.wait_until(lambda: job.updates() >= INTERRUPTED_AFTER)
    trainers = job.trainers(RANK="0") + job.trainers(RANK="1")
    for pid in trainers:
        os.kill(pid, signal.SIGSTOP)
    job.wait_until(lambda: job.restarts() == 1)
    assert job.updates() < UPDATES and not (tmp_path / "metrics.lost.jsonl").exists()
    ended_as(undisturbed, job)
