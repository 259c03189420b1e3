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
from trainings import metrics, tensors, training_environment, without_launch

ALL = os.environ.get("ALIBERT_ALL_INTERRUPTIONS")  # those that resemble others, too
UPDATES, EVERY, MINUTES = (280 if ALL else 70), 10, 10
OPTIONS = f"--max-update {UPDATES} --batch-size 4 --warmup-updates 1 --encoder-layers 2 --disable-validation".split()
OPTIONS += "--dropout 0.1 --save-interval-updates 10".split()
JOB = re.compile(r"^job (\d+):", re.MULTILINE)
PATIENCE = 240  # seconds for a start of the job; the slowest waits until Slurm looks at its time limits


class Job:
    """A launched job that runs: its number, where it writes, what ends it."""

    def __init__(self, process: subprocess.Popen, save: Path, cluster):
        self.process, self.save, self.cluster = process, save, cluster
        self.interruptions = 0
        self.wait_until(lambda: re.search(JOB, self.said()))
        self.number = re.search(JOB, self.said())[1]

    def said(self) -> str:
        """By the launcher, which shows what rank 0 says: too much for a pipe that nobody reads meanwhile."""
        return Path(self.save, "said").read_text(errors="replace")

    def updates(self) -> int:
        """Those that metrics.jsonl has."""
        path = self.save / "metrics.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def wait_until(self, ready: Callable[[], object]) -> None:
        """Fails if the job ends before, or is too slow."""
        end = time.monotonic() + PATIENCE
        while not ready():
            assert self.process.poll() is None and time.monotonic() < end, self.said()[-4000:]
            time.sleep(0.2)

    def gets_on(self, expected: list[dict]) -> None:
        """Waits until this start, and no other, has made some updates, and all are as they should be."""
        goal = self.updates() + EVERY
        self.wait_until(lambda: self.updates() >= goal)
        made = metrics(self.save)
        assert made == expected[: len(made)] and self.restarts() == self.interruptions

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


def time_limit(job: Job) -> None:
    """A minute and a half away from now, of which Slurm warns two minutes before, but it looks every half minute."""
    scontrol("update", f"JobId={job.number}", "EndTime=now+90")
    stand_still(job)
    job.wait_until(lambda: job.restarts() > job.interruptions)
    scontrol("update", f"JobId={job.number}", f"TimeLimit={MINUTES}")


def preemption(job: Job) -> None:
    """By a job of a partition that goes before, which gives it thirty seconds."""
    stand_still(job)
    command = ["sbatch", "--partition=urgent", "--nodes=2", "--output=/dev/null", "--wrap=sleep 3"]
    subprocess.run(command, check=True, capture_output=True)


def preemption_signal(job: Job) -> None:
    subprocess.run(["scancel", "--signal=USR2", job.number], check=True)


def scontrol_requeue(job: Job) -> None:
    scontrol("requeue", job.number)


def kill_of_a_rank(job: Job) -> None:
    """What the kernel does to a process for want of memory."""
    (trainer,) = job.trainers(RANK="1")
    os.kill(trainer, signal.SIGKILL)


def kill_of_the_first_slurmd(job: Job) -> None:
    """The node of the batch file and of rank 0, which go on until the other rank is gone."""
    fail(job, "n1")


def kill_of_the_second_slurmd(job: Job) -> None:
    fail(job, "n2")


def kill_of_the_whole_job(job: Job) -> None:
    """The batch file too, so that none is left that could ask for another start."""
    for pid in job.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stand_still(job: Job) -> None:
    """Not to end before Slurm does what it was asked for, with which it wakes the processes."""
    for pid in job.trainers(RANK="0") + job.trainers(RANK="1"):
        os.kill(pid, signal.SIGSTOP)


def fail(job: Job, node: str) -> None:
    """Slurm is told at once; it would find out itself once the node has not answered for SlurmdTimeout."""
    job.cluster.kill_slurmd(node)
    scontrol("update", f"NodeName={node}", "State=DOWN", "Reason=its slurmd was killed")
    job.wait_until(lambda: job.restarts() > job.interruptions)
    job.cluster.start_slurmd(node)


def scontrol(*words: str) -> None:
    subprocess.run(["scontrol", *words], check=True)


WARNED = [time_limit]  # the training saves what it has
NOT_WARNED = [kill_of_the_first_slurmd]
if ALL:
    WARNED += [preemption, preemption_signal]
    NOT_WARNED += [kill_of_a_rank, scontrol_requeue, kill_of_the_second_slurmd, kill_of_the_whole_job]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """fairseq's commands, and a data-bin."""
    return training_environment(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def recipe(repository) -> str:
    """Of the objective with the most to lose: generator, discriminator, sampled replacements."""
    return str(repository / "recipes" / "pretrain" / "tiny_electra.sh")


@pytest.fixture(scope="module")
def undisturbed(environment, recipe, two_node_slurm, tmp_path_factory) -> Path:
    """The folder of a training that nothing happened to, on this machine."""
    save = without_launch(Path(recipe), tmp_path_factory.mktemp("undisturbed"), environment, *OPTIONS)
    assert [line["update"] for line in metrics(save)] == list(range(1, UPDATES + 1))
    return save


def launched(recipe, environment, repository, save, cluster) -> Job:
    """`python -m alibert_fairseq.launch RECIPE --nodes 2 ...`, which follows its job to the end."""
    command = [sys.executable, "-m", "alibert_fairseq.launch", recipe, "--partition", "test", "--nodes", "2"]
    command += ["--cpu-processes-per-node", "1", "--time", str(MINUTES), "--logs", str(save / "logs"), "--requeue"]
    own = {"SAVE_DIR": str(save), "PYTHONPATH": str(repository), "SLURM_CONF": str(cluster.configuration)}
    with open(save / "said", "w") as said:
        streams = {"stdout": said, "stderr": subprocess.STDOUT}
        process = subprocess.Popen([*command, "--", *OPTIONS], env=environment | own, cwd=save, **streams)
    return Job(process, save, cluster)


def test_an_interrupted_job_ends_like_one_left_in_peace(
    undisturbed, environment, recipe, repository, two_node_slurm, tmp_path
):
    """One job, which all of that happens to: each time it is started again, and makes the updates it would have made
    (the numbers of metrics.jsonl); at the end it has the same bits, and each update once."""
    expected = metrics(undisturbed)
    job = launched(recipe, environment, repository, tmp_path, two_node_slurm)
    job.gets_on(expected)
    for interrupt in WARNED + NOT_WARNED:
        interrupt(job)
        job.wait_until(lambda: job.restarts() > job.interruptions)
        job.interruptions += 1
        job.gets_on(expected)
        assert interrupt not in WARNED or not (tmp_path / "metrics.lost.jsonl").exists(), interrupt.__name__
    assert job.process.wait(PATIENCE) == 0 and "2 of 2 ranks ended well" in job.said(), job.said()
    assert job.restarts() == len(WARNED + NOT_WARNED)
    assert metrics(tmp_path) == expected
    ours, theirs = tensors(tmp_path), tensors(undisturbed)
    assert ours.keys() == theirs.keys()
    assert not [key for key, value in theirs.items() if not torch.equal(ours[key], value)]
