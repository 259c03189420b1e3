"""Jobs of a command that was killed are ended by the next one, before it begins; with programs in place of Slurm's.

The same on a real Slurm: tests/slurm/test_corpus_stages.py.
"""

from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from alibert_common.errors import InputError
from alibert_common.executors import sbatch
from alibert_common.executors import slurm as slurm_jobs
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage

SCANCEL = """#!/bin/sh
echo "$@" >> {directory}/cancelled
"""
SQUEUE = """#!/bin/sh
echo "$@" >> {directory}/looked
[ $(wc -l < {directory}/looked) -gt 3 ] || echo 12_0
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """The folder of the programs, which is the PATH; squeue knows the jobs the first three times."""
    directory = tmp_path / "slurm"
    directory.mkdir()
    for name, text in (("scancel", SCANCEL), ("squeue", SQUEUE)):
        (directory / name).write_text(text.format(directory=directory))
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.setattr("alibert_common.executors.slurm.LOOK_SECONDS", 0)
    return directory


def stopped(output, key):
    """Half-made, with jobs on their way."""
    with pytest.raises(InputError), resumable_directory(output, Stage("clean", 1), key) as work:
        (work.scratch / "jobs").mkdir()
        (work.scratch / "jobs" / "cleaning.array").write_text("12")
        (work.directory / "a").touch()
        raise InputError("stopped")


@pytest.mark.parametrize("key", [{"settings": 1}, {"settings": 2}])
def test_jobs_of_a_killed_command_are_ended_before_the_next_begins(tmp_path, slurm, capsys, key):
    stopped(tmp_path / "out", {"settings": 1})
    with resumable_directory(tmp_path / "out", Stage("clean", 1), key) as work:
        assert (slurm / "cancelled").read_text() == "--name=cleaning 12\n"
        assert (slurm / "looked").read_text().count("--jobs 12 ") == 4
        assert not list(work.directory.rglob("*.array"))
        assert (work.directory / "a").exists() == (key == {"settings": 1})
    assert "waiting for the end of the jobs 12, of an earlier command\n" in capsys.readouterr().err
    with resumable_directory(tmp_path / "out", Stage("clean", 1), {}):
        pass
    assert (slurm / "cancelled").read_text() == "--name=cleaning 12\n"


def test_jobs_of_which_slurm_does_not_tell_are_not_taken_for_ended(tmp_path, slurm, monkeypatch):
    stopped(tmp_path / "out", {"settings": 1})
    (slurm / "squeue").write_text(
        "#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller' >&2\nexit 1"
    )
    monkeypatch.setattr("alibert_common.executors.slurm.SHOWN_SECONDS", 0.1)
    with (
        pytest.raises(InputError, match="Slurm does not say whether the jobs 12 of an earlier command still run"),
        resumable_directory(tmp_path / "out", Stage("clean", 1), {"settings": 1}),
    ):
        raise AssertionError("it began")
    [record] = (tmp_path / ".out.work").rglob("*.array")
    assert record.read_text() == "12"
    (slurm / "squeue").write_text(SQUEUE.format(directory=slurm))
    with resumable_directory(tmp_path / "out", Stage("clean", 1), {"settings": 1}):
        assert not record.exists()


def test_without_slurm_there_is_nothing_to_end(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    stopped(tmp_path / "out", {"settings": 1})
    with resumable_directory(tmp_path / "out", Stage("clean", 1), {"settings": 1}) as work:
        assert (work.directory / "a").exists()


def followed(logs, known):
    """Follow the job 12_0, whose result is never there, while Slurm answers with the jobs `known`."""
    job = SimpleNamespace(job_id="12_0", paths=SimpleNamespace(result_pickle=logs / "result", stdout=logs / "12_0.out"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slurm_jobs, "LOOK_SECONDS", 0.001)
        patch.setattr(slurm_jobs, "SHOWN_SECONDS", 0.05)
        patch.setattr(sbatch, "QUESTION_SECONDS", 0.01)
        patch.setattr(sbatch, "alive", lambda array: next(known))
        slurm_jobs._follow([job], [], SimpleNamespace(n=0, total=1, update=lambda count: None))


@pytest.mark.parametrize("last", [{"12_0"}, None])
def test_a_job_that_slurm_forgets_is_an_error_after_a_while(tmp_path, last):
    """Not while it is known, nor while Slurm does not answer."""
    with pytest.raises(StopIteration):
        followed(tmp_path, iter([last] * 20))
    with pytest.raises(InputError, match=r"job 12_0 was ended from outside, .*12_0\.out"):
        followed(tmp_path, chain([last] * 3, repeat(set())))
