"""Pieces run in processes: all of them, bad input in one sentence, none left behind when the parent is killed."""

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from preprocess.engine import Engine, add_engine_options, engine_of
from preprocess.files import InputError


@dataclass(frozen=True)
class Write:
    """A piece of the tests: write a file, and refuse the name "bad"."""

    directory: Path

    def __call__(self, name: str) -> None:
        if name == "bad":
            raise InputError("bad: refused.")
        if name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        (self.directory / name).write_text(str(os.getpid()))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_piece_runs(tmp_path, workers):
    Engine(workers).run("test", Write(tmp_path), [f"{n}" for n in range(7)], tmp_path / "logs")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{n}" for n in range(7)]
    assert len({path.read_text() for path in tmp_path.iterdir()}) <= workers


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_input_in_a_piece_is_the_stages_sentence(tmp_path, workers):
    with pytest.raises(InputError, match="bad: refused"):
        Engine(workers).run("test", Write(tmp_path), ["a", "bad", "b"], tmp_path / "logs")


def test_a_process_that_is_killed_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="a worker was killed"):
        Engine(2).run("test", Write(tmp_path), ["a", "killed", "b"], tmp_path / "logs")


SLEEPERS = """
import os, sys, time
from pathlib import Path
from preprocess.engine import Engine

def sleep(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)

if __name__ == "__main__":
    Engine(2).run("test", sleep, [sys.argv[1] + "/a", sys.argv[1] + "/b"], Path("logs"))
"""


def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    program = tmp_path / "sleepers.py"
    program.write_text(SLEEPERS)
    parent = subprocess.Popen([sys.executable, program, tmp_path], stderr=subprocess.DEVNULL)
    files = [tmp_path / "a", tmp_path / "b"]
    wait_for(lambda: all(file.exists() and file.read_text() for file in files))
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(Path("/proc", file.read_text()).exists() for file in files))


def wait_for(condition) -> None:
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come about in 30 seconds")


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
