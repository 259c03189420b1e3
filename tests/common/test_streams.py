"""A reader of a command's output that leaves ends no work."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path
from alibert_common.errors import InputError, exit_with_sentence

def main():
    for number in range(20_000):
        print("a line of the table", number, flush=number % 2 == 0)
        print("progress", number, file=sys.stderr)
    Path(sys.argv[1]).write_text("made")
    if sys.argv[2:]:
        raise InputError("a.txt: refused.")

exit_with_sentence(main)
"""


@pytest.mark.parametrize("redirection", ["| true", "2>&1 | true", "| head -1", ">&-", ">&- 2>&-"])
def test_the_work_is_done_without_a_reader(tmp_path, redirection):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = f"set -o pipefail; {sys.executable} program.py out {redirection}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "out").read_text() == "made"
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_an_error_without_a_reader_keeps_its_status(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = f"set -o pipefail; {sys.executable} program.py out refuse 2>&1 | true"
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_a_full_disk_behind_stdout_is_one_sentence(tmp_path, monkeypatch, unbuffered):
    """Also where only the last flush finds it."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (tmp_path / "program.py").write_text(PROGRAM.replace("20_000", "1").replace(", flush=number % 2 == 0", ""))
    command = f"{sys.executable} program.py out > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "error: output: No space left on device; free some space" in done.stderr
    assert "Traceback" not in done.stderr
