"""The process that runs the commands of an evaluation, each in a fork."""

import os
import signal
import time
from contextlib import closing

import pytest

from alibert_common.errors import InputError
from downstream.evaluate import worker
from downstream.evaluate.worker import Worker


def exit_code(program: Worker, command: list[str], log) -> int:
    number = program.start(command, log, None)
    while (code := program.poll(number)) is None:
        time.sleep(0.05)
    return code


@pytest.fixture
def program(monkeypatch, tmp_path):
    """A worker that preloads nothing, so that it starts at once, and runs modules of tmp_path."""
    (tmp_path / "quick_worker.py").write_text(
        "import sys\nfrom downstream.evaluate import worker\nworker.PRELOADED = ()\nworker.serve(int(sys.argv[1]))\n"
    )
    (tmp_path / "ends.py").write_text("import json, sys\ndef main(words):\n    sys.exit(json.loads(words[0]))\n")
    (tmp_path / "waits.py").write_text("import time\ndef main(words):\n    time.sleep(float(words[0]))\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(worker, "__name__", "quick_worker")
    return Worker()


def test_a_fork_finds_torch_and_transformers_imported(monkeypatch, tmp_path):
    (tmp_path / "imported.py").write_text(
        "import sys\nbefore = {'torch', 'transformers', 'sklearn'} <= set(sys.modules)\n"
        "def main(words):\n    sys.exit(0 if before else 1)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with closing(Worker()) as program:
        assert exit_code(program, ["imported"], tmp_path / "log") == 0


@pytest.mark.parametrize("value, code, said", [('"error: no"', 1, "error: no\n"), ("null", 0, ""), ("3", 3, "")])
def test_a_command_that_exits_has_its_text_and_its_code(program, tmp_path, value, code, said):
    with closing(program):
        assert exit_code(program, ["ends", value], tmp_path / "log") == code
    assert (tmp_path / "log").read_text() == said


def test_a_killed_worker_is_one_sentence_and_closes_quietly(program):
    with closing(program):
        number = program.start(["waits", "20"], None, None)
        program.process.kill()
        try:
            with pytest.raises(InputError, match="killed by SIGKILL; start the evaluation again, which resumes"):
                for _ in range(100):
                    program.poll(number)
        finally:
            os.kill(number, signal.SIGKILL)
