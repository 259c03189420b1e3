"""Items run in processes: all of them, bad input in one sentence, none left behind when the parent is killed."""

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine, add_engine_options, engine_of
from alibert_common.executors.slurm import Job


@dataclass(frozen=True)
class Write:
    """A task of the tests: write a file, and refuse the name "bad"."""

    directory: Path

    def done(self, name: str) -> Path:
        return self.directory / name

    def __call__(self, name: str) -> None:
        if name == "bad":
            raise InputError("bad: refused.")
        if name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        (self.directory / name).write_text(str(os.getpid()))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_is_worked_on(tmp_path, workers):
    Engine(workers).run("test", Write(tmp_path), [f"{n}" for n in range(7)], tmp_path / "logs")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{n}" for n in range(7)]
    assert len({path.read_text() for path in tmp_path.iterdir()}) <= workers


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_done_is_left_as_it_is(tmp_path, workers):
    (tmp_path / "1").write_text("older")
    Engine(workers).run("test", Write(tmp_path), ["0", "1", "2"], tmp_path / "logs")
    assert [(tmp_path / name).read_text() == "older" for name in "012"] == [False, True, False]
    for name in "02":
        (tmp_path / name).write_text("older")
    Engine(workers).run("test", Write(tmp_path), ["0", "1", "2"], tmp_path / "logs")
    assert {path.read_text() for path in tmp_path.iterdir()} == {"older"}


def test_what_is_done_by_the_time_is_left_as_it_is_too(tmp_path):
    """As in a job that Slurm stopped and starts again: it is given the same items."""
    (tmp_path / "a").write_text("older")
    job = Job(Write(tmp_path), 1)
    assert job(["a", "b"], tmp_path / "progress") is None
    assert (tmp_path / "a").read_text() == "older" and (tmp_path / "b").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_input_in_an_item_is_the_stages_sentence(tmp_path, workers):
    with pytest.raises(InputError, match="bad: refused"):
        Engine(workers).run("test", Write(tmp_path), ["a", "bad", "b"], tmp_path / "logs")


def test_a_process_that_is_killed_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="a worker was killed"):
        Engine(2).run("test", Write(tmp_path), ["a", "killed", "b"], tmp_path / "logs")


SLEEPERS = """
import os, sys, time
from pathlib import Path
from alibert_common.executors.base import Engine
from alibert_common.errors import InputError, exit_with_sentence

class Sleep:
    def done(self, path):
        return Path(path)

    def __call__(self, path):
        if path.endswith("bad"):
            while len(list(Path(path).parent.iterdir())) < 2:
                time.sleep(0.01)
            raise InputError("bad: refused.")
        Path(path).write_text(str(os.getpid()))
        time.sleep(600)

if __name__ == "__main__":
    exit_with_sentence(lambda: Engine(2).run("test", Sleep(), sys.argv[1:], Path("logs")))
"""


def sleepers(directory, *names):
    """The command, at work on an item a name for ten minutes each; their processes are in files of these names."""
    program = directory / "sleepers.py"
    program.write_text(SLEEPERS)
    items = [directory / name for name in names]
    return subprocess.Popen(
        [sys.executable, program, *items], stderr=subprocess.PIPE, text=True, preexec_fn=as_on_a_terminal
    )


def as_on_a_terminal():
    """A shell in the background has the tests ignore Ctrl-C, nohup that a terminal closes, and so what they start."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def processes_of(directory, *names):
    """When they are known, those of these items."""
    files = [directory / name for name in names]
    wait_for(lambda: all(file.exists() and file.read_text() for file in files))
    return [Path("/proc", file.read_text()) for file in files]


def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    parent = sleepers(tmp_path, "a", "b")
    processes = processes_of(tmp_path, "a", "b")
    parent.kill()
    parent.communicate()
    wait_for(lambda: not any(process.exists() for process in processes))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_command_ends_its_processes_at_once_and_begins_no_other_item(tmp_path, number):
    parent = sleepers(tmp_path, "a", "b", "c", "d", "e")
    processes = processes_of(tmp_path, "a", "b")
    parent.send_signal(number)
    said = parent.communicate(timeout=120)[1]
    assert parent.returncode == 128 + number and said.splitlines()[-1] == "stopped; give the same command again"
    assert not any(process.exists() for process in processes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "sleepers.py"]


def test_bad_input_ends_the_other_processes_at_once(tmp_path):
    parent = sleepers(tmp_path, "a", "bad", "c", "d", "e")
    assert "error: bad: refused." in parent.communicate(timeout=120)[1] and parent.returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "sleepers.py"]


def test_a_terminal_that_closes_is_nothing_to_nohup(tmp_path):
    program = "import os, signal; from alibert_common.errors import exit_with_sentence\n"
    program += "exit_with_sentence(lambda: (os.kill(os.getpid(), signal.SIGHUP), print('on')))"
    command = ["nohup", sys.executable, "-c", program]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout == "on\n"


@dataclass(frozen=True)
class Large(Write):
    """As above, but larger than what a pipe holds."""

    weight: bytes = bytes(1 << 20)


def test_items_larger_than_a_pipe_go_on_and_stop_too(tmp_path):
    Engine(2).run("test", Large(tmp_path), ["a", "b", "c"], tmp_path / "logs")
    with pytest.raises(InputError, match="a worker was killed"):
        Engine(2).run("test", Large(tmp_path), ["killed"] * 8, tmp_path / "logs")


def test_a_process_that_is_killed_while_another_one_starts_is_told_too(tmp_path, monkeypatch):
    def closed(pool, *_):
        pool._broken = "a child process terminated abruptly"
        raise ValueError("bad value(s) in fds_to_keep")  # met once in many runs

    monkeypatch.setattr("alibert_common.executors.local.ProcessPoolExecutor.submit", closed)
    with pytest.raises(InputError, match="a worker was killed"):
        Engine(2).run("test", Large(tmp_path), ["a", "b"], tmp_path / "logs")


def wait_for(condition) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come about in two minutes")


def options(*words):
    parser = argparse.ArgumentParser()
    add_engine_options(parser)
    return parser.parse_args(words)


def test_options_of_slurm_want_slurm():
    assert engine_of(options("--workers", "3")) == Engine(3)
    asked = engine_of(options("--workers", "4", "--slurm", "8", "--partition", "cpu", "--time", "2:00:00"))
    assert (asked.workers, asked.jobs, asked.slurm) == (4, 8, {"time": 120, "partition": "cpu"})
    with pytest.raises(InputError, match="give --slurm JOBS too"):
        engine_of(options("--partition", "cpu"))


def test_without_slurm_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="sbatch: no such command"):
        Engine(1, 2).run("test", Write(tmp_path), ["a"], tmp_path / "logs")
