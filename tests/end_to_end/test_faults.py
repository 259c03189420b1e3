"""Real faults in a training of two processes: one sentence from the one that knows, and both end within a minute."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from fairseq import checkpoint_utils
from forked import Job, meeting
from long_cases import long_except
from test_pretraining import ENVIRONMENT, command

TWO = ["--cpu", "--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]
LONG = ["--max-update", "100000", "--total-num-update", "100000"]
OTHER = r"error: rank {0} \(.+\): (lost the connection to another process|rank {1} \(.+\) has failed, and says why)"
MINUTE = 60


class Pair:
    """Two processes of one training; `more` and `data` may differ between them."""

    def __init__(self, save: Path, data: list[Path], repository: Path, cwd: Path, *more: str, port: int | None = None):
        self.save = save
        commands = [command("electra", each, save, repository, *TWO, *more) for each in data]
        logs = [cwd / f"rank{rank}.log" for rank in range(2)]
        self.job = Job(commands, meeting(ENVIRONMENT, 2, port), cwd, logs)

    def said(self, rank: int) -> str:
        log = self.job.logs[rank]  # its process may not have begun
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def await_update(self, update: int) -> None:
        """Until the first process has made so many."""
        end = time.monotonic() + MINUTE
        while f"num_updates={update}," not in self.said(0):
            assert time.monotonic() < end, self.said(0)[-2000:]
            time.sleep(0.05)

    def sentences(self, rank: int) -> list[str]:
        return [line for line in self.said(rank).splitlines() if line.startswith("error: ")]

    def ended(
        self, knows: int, sentence: str, within: float = MINUTE, killed: int | None = None, other: str = OTHER
    ) -> list[int]:
        """Both processes ended in time; `knows` said the sentence, the other one that it was left alone."""
        codes = self.job.ends(within)
        for rank in range(2):
            if rank == killed:
                continue
            expected = sentence if rank == knows else other.format(rank, 1 - rank)
            said = self.sentences(rank)
            assert len(said) == 1 and re.search(expected, said[0]), (rank, codes, self.said(rank)[-3000:])
        assert not any("Traceback (most" in self.said(rank) for rank in range(2)) and 0 not in codes
        self.check_files()
        return codes

    def check_files(self) -> None:
        """Nothing half written under a final name, nor left aside."""
        names = sorted(path.name for path in self.save.iterdir()) if self.save.is_dir() else []
        assert not [name for name in names if name.endswith((".tmp", ".partial")) or name == "crash.pt"]
        for name in names:
            if name.endswith(".pt"):
                checkpoint_utils.load_checkpoint_to_cpu(str(self.save / name))
        text = (self.save / "metrics.jsonl").read_text() if "metrics.jsonl" in names else ""
        updates = [json.loads(line)["update"] for line in text.splitlines()]
        assert updates == list(range(1, len(updates) + 1)) and (not text or text.endswith("\n"))


@contextmanager
def mounted(place: Path, *arguments: str):
    """`mount ...` while the test runs, which is skipped where that is not allowed."""
    done = subprocess.run(["mount", *arguments, str(place)], capture_output=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here ({done.stderr.decode().strip()})")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def copied(data_bin, tmp_path) -> Path:
    """A data-bin for the second process, to be changed."""
    return shutil.copytree(data_bin, tmp_path / "data-bin")


@pytest.mark.parametrize("rank", long_except([0, 1], 1))
def test_a_process_that_is_killed(rank, data_bin, repository, tmp_path):
    pair = Pair(tmp_path / "save", [data_bin] * 2, repository, tmp_path, *LONG)
    pair.await_update(5)
    os.kill(pair.job.pids[rank], signal.SIGKILL)
    codes = pair.ended(1 - rank, OTHER.format(1 - rank, rank), within=10, killed=rank)
    assert codes[rank] == -signal.SIGKILL and codes[1 - rank] == 75 and pair.sentences(rank) == []


@pytest.mark.parametrize("rank", long_except([0, 1], 0))
def test_a_process_that_stops_answering(rank, data_bin, repository, tmp_path):
    """The first one keeps the store, which then does not answer either."""
    pair = Pair(tmp_path / "save", [data_bin] * 2, repository, tmp_path, *LONG, "--silence-timeout", "4")
    pair.await_update(5)
    os.kill(pair.job.pids[rank], signal.SIGSTOP)
    end = time.monotonic() + 30
    while not pair.sentences(1 - rank):
        assert time.monotonic() < end, pair.said(1 - rank)[-2000:]
        time.sleep(0.1)
    os.kill(pair.job.pids[rank], signal.SIGCONT)
    named = [
        r"rank 0 \(127.0.0.1\), which keeps the store of all processes, does not answer",
        r"rank 1 \(.+\) was last heard of \d+ s ago, then .* update \d+",
    ]
    silent = (
        rf"error: rank {1 - rank} \(.+\): nothing has moved for \d+ s here; {named[rank]}; the same command resumes"
    )
    # The process that stood still finds that the other one has ended, or first that its own time has run out.
    woken = OTHER + r"|error: rank {0} \(.+\): nothing has moved for \d+ s here; rank {1} .+; the same command resumes"
    assert pair.ended(1 - rank, silent, within=10, other=woken) == [75, 75]
    assert "most recent call first" in pair.said(1 - rank)  # where its threads were


def test_a_missing_file_of_one_process(copied, data_bin, repository, tmp_path):
    (copied / "train.bin").unlink()
    pair = Pair(tmp_path / "save", [data_bin, copied], repository, tmp_path, *LONG)
    assert pair.ended(1, rf"rank 1 \(.+\): {copied}/train.bin: no such file") == [75, 1]


@pytest.mark.parametrize("change", long_except(["order", "size"], "order"))
def test_another_dictionary_of_one_process(change, copied, data_bin, repository, tmp_path):
    lines = (copied / "dict.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    lines = [*lines[1::-1], *lines[2:]] if change == "order" else lines + [f"extra{number} 1\n" for number in range(8)]
    (copied / "dict.txt").write_text("".join(lines), encoding="utf-8")
    (copied / "tokenizer.json").unlink()  # which would contradict it
    pair = Pair(tmp_path / "save", [data_bin, copied], repository, tmp_path, *LONG)
    assert pair.ended(1, rf"rank 1 \(.+\): {copied}: its dict.txt is not that of {data_bin} on rank 0") == [75, 1]


def test_a_port_that_somebody_else_listens_on(data_bin, repository, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        pair = Pair(tmp_path / "save", [data_bin] * 2, repository, tmp_path, *LONG, port=port)
        codes = pair.job.ends(MINUTE)
    assert codes == [75, 2] and not any("Traceback (most" in pair.said(rank) for rank in range(2))
    said = [*pair.sentences(0), *pair.sentences(1)]
    assert re.search(rf"rank 0 \(.+\): the port {port}, .* is in use; try again, or give another MASTER_PORT", said[0])
    assert re.search(rf"rank 1 \(.+\): the program that listens at 127.0.0.1:{port}, .* is not torch", said[1])


def test_a_full_disk(data_bin, repository, tmp_path):
    """With room for half a checkpoint more than the first."""
    pair = Pair(tmp_path / "first", [data_bin] * 2, repository, tmp_path, "--max-update", "1")
    assert pair.job.ends(MINUTE) == [0, 0]
    size = 3 * (tmp_path / "first" / "checkpoint_last.pt").stat().st_size // 2
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        pair = Pair(disk, [data_bin] * 2, repository, tmp_path, *LONG, "--save-interval-updates", "2")
        codes = pair.ended(
            0, r"error: rank 0 \(.+\): .*checkpoint_\S+: not written \(No space left on device\); make room"
        )
        assert codes == [2, 75] and (disk / "checkpoint_last.pt").exists()


def test_a_disk_that_is_full_at_the_start(data_bin, repository, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "-o", "size=16k", "tmpfs"):
        with contextlib.suppress(OSError), open(disk / "other", "wb") as other:
            other.write(b"0" * 20_000)
        pair = Pair(disk, [data_bin] * 2, repository, tmp_path, *LONG)
        pair.ended(0, r"error: rank 0 \(.+\): .*/disk.*(No space left on device).*; .*(make room|--save-dir)")


MISTAKEN = """
import os, sys
from fairseq_cli import train
from fairseq.tasks import FairseqTask

def train_step(self, *arguments, **options):
    raise KeyError("a mistake")

if os.environ["RANK"] == "1":
    FairseqTask.train_step = train_step
train.cli_main()
"""


def test_a_mistake_of_the_program_on_one_process(data_bin, repository, tmp_path):
    """A traceback, on the process whose it is; the other one is told, and ends after it."""
    options = [*TWO, *LONG, "--shard-optimizer-state"]
    words = [str(word) for word in command("electra", data_bin, tmp_path / "save", repository, *options)[1:]]
    running = []
    for rank, own in enumerate(meeting(ENVIRONMENT | {"PYTHONPATH": str(repository)}, 2)):
        with open(tmp_path / f"rank{rank}.log", "w") as log:
            running.append(
                subprocess.Popen(
                    [sys.executable, "-c", MISTAKEN, *words], env=own, stdout=log, stderr=log, cwd=tmp_path
                )
            )
    ended, end = [], time.monotonic() + 2 * MINUTE
    while len(ended) < 2 and time.monotonic() < end:
        ended += [rank for rank in (0, 1) if rank not in ended and running[rank].poll() is not None]
        time.sleep(0.02)
    for process in running:
        process.kill()
    said = [(tmp_path / f"rank{rank}.log").read_text() for rank in (0, 1)]
    assert ended == [1, 0] and [process.wait() for process in running] == [75, 1], said
    assert "KeyError: 'a mistake'" in said[1] and "\nerror: " not in said[1]
    assert re.search(OTHER.format(0, 1), said[0]) and "Traceback" not in said[0]


def test_a_folder_that_cannot_be_written(data_bin, repository, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with mounted(folder, "--bind", str(folder)):
        if subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)]).returncode:
            pytest.skip("no folder can be made read-only here")
        pair = Pair(folder, [data_bin] * 2, repository, tmp_path, *LONG)
        assert pair.ended(0, rf"rank 0 \(.+\): {folder}: cannot be written \(Read-only file system\)") == [2, 75]


def test_a_file_where_a_folder_should_be(data_bin, repository, tmp_path):
    (tmp_path / "file").touch()
    pair = Pair(tmp_path / "file" / "save", [data_bin] * 2, repository, tmp_path, *LONG)
    assert pair.ended(0, rf"rank 0 \(.+\): {tmp_path}/file/save: cannot be written \(Not a directory\)") == [2, 75]


def test_a_worker_that_is_killed(data_bin, repository, tmp_path):
    """As the system kills it when memory runs out; the second process has it."""
    pair = Pair(tmp_path / "save", [data_bin] * 2, repository, tmp_path, *LONG, "--num-workers", "1")
    pair.await_update(5)
    worker = next(
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if stat.read_text().rpartition(")")[2].split()[1] == str(pair.job.pids[1])
    )
    os.kill(worker, signal.SIGKILL)
    killed = rf"rank 1 \(.+\): worker process {worker} of the data loader was killed by SIGKILL; .* --num-workers"
    assert pair.ended(1, killed, within=30) == [75, 75]
