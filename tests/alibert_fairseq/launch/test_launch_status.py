"""What `launch status` says of jobs that wait, run, have ended, or were killed."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import nullcontext as nothing
from pathlib import Path
from types import SimpleNamespace

import pytest

from alibert_common.errors import InputError
from alibert_common.executors import sbatch
from alibert_fairseq.launch import __main__ as launcher
from alibert_fairseq.launch import progress, status
from alibert_fairseq.launch.worker import ending_path


@pytest.fixture
def job(tmp_path):
    """A function that leaves what a job on this machine does; it returns the folder of its logs."""

    def leave(number: str, lines=(), on_slurm=False, arguments=(), **note) -> Path:
        logs = tmp_path / "launch" / f"tiny-{number}"
        logs.mkdir(parents=True)
        recipe = Path("/recipes/tiny.sh")
        plan = SimpleNamespace(recipe=recipe, world_size=2, on_slurm=on_slurm, logs=logs, arguments=list(arguments))
        status.write_plan(plan, number)
        if lines:
            save = tmp_path / f"save{number}"
            save.mkdir()
            (save / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"cut')
            told = {"save_dir": str(save), "max_update": 1000, "stop_time_hours": 0} | note
            (logs / f"{number}_training.json").write_text(json.dumps(told))
        return logs

    return leave


@pytest.fixture
def running(job, tmp_path):
    """A function that leaves what a running job does; its process has its folder as an argument."""
    processes = []

    def leave(*arguments, **options) -> str:
        folder = str(tmp_path / "launch" / "running")
        processes.append(subprocess.Popen([sys.executable, "-c", "input()", folder], stdin=subprocess.PIPE))
        number = str(processes[-1].pid)
        job(number, *arguments, **options).rename(folder)
        until(lambda: b"input()" in Path("/proc", number, "cmdline").read_bytes())  # it has become that program
        return number

    yield leave
    for process in processes:
        process.communicate(b"\n")


def until(ready):
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def updates(first, last, seconds_each=2.0, tokens=500):
    """Lines of metrics.jsonl."""
    return [{"update": n, "seconds": n * seconds_each, "tokens": tokens} for n in range(first, last + 1)]


def leave_endings(logs, number, *codes, stopped=False, update=None):
    for rank, code in enumerate(codes):
        record = {"rank": rank, "host": f"n{rank}", "code": code, "stopped": code == 143 or bool(stopped and code)} | {
            "start": 0
        }
        record |= {"ended": rank} | ({"update": update} if rank == 0 else {})
        ending_path(logs, number, rank).write_text(json.dumps(record))


def test_a_job_that_runs(running, tmp_path):
    """250 tokens a second; 900 updates of 2 seconds are left."""
    number = running(updates(1, 100))
    (row,) = status.jobs(tmp_path / "launch")
    expected = {"job": number, "recipe": "tiny.sh", "processes": "2", "state": "running"}
    expected |= {"update": "100 of 1,000", "tokens/s": "250", "remaining": "30 min 0 s"}
    assert row == expected | {"save-dir": str(tmp_path / f"save{number}")}


@pytest.mark.parametrize(
    ("limits", "update", "remaining"),
    [
        ({"max_update": 0, "stop_time_hours": 0.25}, "100 of about 450", "11 min 40 s"),  # of --budget-minutes
        ({"stop_time_hours": 0.25}, "100 of about 450", "11 min 40 s"),
        ({"stop_time_hours": 2}, "100 of 1,000", "30 min 0 s"),
        ({"stop_time_hours": 0.05}, "100 of about 100", "0 min 0 s"),  # it saves its last checkpoint
    ],
)
def test_a_job_that_ends_by_the_clock(limits, update, remaining, running, tmp_path):
    """200 seconds are over, in updates of 2 seconds."""
    running(updates(1, 100), **limits)
    (row,) = status.jobs(tmp_path / "launch")
    assert (row["update"], row["remaining"]) == (update, remaining)


def test_another_process_with_the_number_of_a_job_that_was_killed(job, tmp_path):
    job(str(os.getpid()), updates(1, 100))
    (row,) = status.jobs(tmp_path / "launch")
    assert row["state"] == "killed" and "2 of 2 ranks (rank 0 first) left no exit code" in row["why"]


def test_only_the_end_of_a_long_file_counts(job, tmp_path):
    """The first 10,000 updates were ten times as slow, and fill more than what is read."""
    lines = updates(1, 10_000, 20.0)
    lines += [{"update": 10_000 + n, "seconds": 200_000 + 2 * n, "tokens": 500} for n in range(1, 10_001)]
    job(str(os.getpid()), lines, max_update=0)
    (row,) = status.jobs(tmp_path / "launch")
    assert row["update"] == "20,000" and row["tokens/s"] == "250" and "remaining" not in row


def test_a_run_that_went_on_from_an_earlier_time(job, tmp_path):
    """Seconds that a kill has set back are not counted."""
    job(str(os.getpid()), updates(1, 50) + [line | {"seconds": line["seconds"] - 60} for line in updates(51, 100)])
    assert status.jobs(tmp_path / "launch")[0]["tokens/s"] == "250"


@pytest.mark.parametrize(
    "codes, stopped, state",
    [
        ((0, 0), False, "ended"),
        ((1, 143), False, "failed (exit code 1)"),
        ((143, 143), True, "stopped"),
        ((75, 75), True, status.GOES_ON),
        ((75, 143), True, status.GOES_ON),
        ((143, 75), True, "stopped"),
        ((75, 75), False, status.GOES_ON),
        ((75, 1), False, "failed (exit code 1)"),
    ],
)
def test_jobs_that_have_ended(codes, stopped, state, job, tmp_path):
    leave_endings(job("77777777", updates(1, 100)), "77777777", *codes, stopped=stopped)
    (row,) = status.jobs(tmp_path / "launch")
    assert row["state"] == state and row["update"] == "100 of 1,000" and "remaining" not in row


def test_a_job_that_was_killed_and_one_of_another_machine(job, tmp_path, monkeypatch):
    leave_endings(job("77777777"), "77777777", 0)
    assert status.jobs(tmp_path / "launch")[0]["state"] == "killed"
    monkeypatch.setattr(socket, "gethostname", lambda: "other")
    assert status.jobs(tmp_path / "launch")[0]["state"].startswith("on ")


def test_jobs_of_slurm_in_the_order_of_their_submission(job, tmp_path, monkeypatch):
    monkeypatch.setattr(sbatch, "state", lambda number: {"9": "PENDING (Priority)", "10": "RUNNING"}[number])
    monkeypatch.setattr(status.shutil, "which", lambda name: name)
    moments = iter([2.0, 1.0])
    monkeypatch.setattr(time, "time", lambda: next(moments))
    job("9", on_slurm=True)
    job("10", updates(1, 3), on_slurm=True)
    rows = status.jobs(tmp_path / "launch")
    assert [(row["job"], row["state"]) for row in rows] == [("10", "RUNNING"), ("9", "PENDING (Priority)")]
    assert rows[0]["remaining"] == "33 min 14 s"
    header, first, second = status.table(rows).splitlines()
    assert header.split() == ["job", "recipe", "processes", "state", "update", "tokens/s", "remaining", "save-dir"]
    assert first.index("tiny.sh") == second.index("tiny.sh") == header.index("recipe")


@pytest.mark.parametrize(("codes", "state"), [((0, 1), "failed (exit code 1)"), ((0, 0), "ended"), ((0,), "killed")])
def test_a_job_that_slurm_has_forgotten(codes, state, job, tmp_path, monkeypatch):
    monkeypatch.setattr(sbatch, "state", lambda number: "COMPLETED")
    monkeypatch.setattr(status.shutil, "which", lambda name: name)
    leave_endings(job("9", on_slurm=True), "9", *codes)
    assert status.jobs(tmp_path / "launch")[0]["state"] == state
    monkeypatch.setattr(status.shutil, "which", lambda name: None)
    assert status.jobs(tmp_path / "launch")[0]["state"] == "no answer from Slurm"


def test_jobs_that_went_on_in_one_save_dir(job, tmp_path):
    """The first wrote down where it ended, the second was killed with its rank, the third is the last."""
    for number, update in (("7", 70), ("8", None), ("9", 90)):
        logs = job(number)
        note = {"save_dir": str(tmp_path / "save"), "max_update": 100, "run": number}
        (logs / f"{number}_training.json").write_text(json.dumps(note))
        leave_endings(logs, number, 143, 143, stopped=True, update=update)
    (tmp_path / "save").mkdir()
    (tmp_path / "save" / ".owner").write_text('{"run": "9"}')
    (tmp_path / "save" / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in updates(1, 90)))
    first, second, third = rows = status.jobs(tmp_path / "launch")
    assert status.table(rows).splitlines()[0].split()[-2:] == ["tokens/s", "save-dir"]
    assert first["update"] == "70 of 100" and "tokens/s" not in first
    assert "update" not in second and second["save-dir"] == first["save-dir"]
    assert third["update"] == "90 of 100" and third["tokens/s"] == "250"
    notes = [tmp_path / "launch" / f"tiny-{number}" / f"{number}_training.json" for number in (7, 9)]
    assert [progress.reached(note) for note in notes] == [None, 90] and progress.reached(tmp_path / "none") is None


def test_why_a_job_of_slurm_failed(job, tmp_path, monkeypatch):
    monkeypatch.setattr(sbatch, "state", lambda number: "FAILED")
    monkeypatch.setattr(status.shutil, "which", lambda name: name)
    logs = job("9", on_slurm=True)
    leave_endings(logs, "9", 75, 2)
    (logs / "9_1_log.out").write_text("error: no room.\n")
    rows = status.jobs(tmp_path / "launch")
    why = f"rank 1 on n1 failed first, exit code 2: no room; log: {logs}/9_1_log.out"
    assert rows[0]["state"] == "FAILED" and status.table(rows).splitlines()[2:] == [f"job 9: {why}"]
    leave_endings(logs, "9", 75, 75)
    assert status.jobs(tmp_path / "launch")[0]["state"] == status.GOES_ON


@pytest.mark.parametrize("state, refused", [("PENDING (Priority)", True), ("RUNNING", True), ("FAILED", False)])
def test_a_save_dir_of_a_job_that_waits_or_runs(state, refused, job, tmp_path, monkeypatch):
    monkeypatch.setattr(sbatch, "state", lambda number: state)
    monkeypatch.setattr(status.shutil, "which", lambda name: name)
    monkeypatch.setenv("SAVE_DIR", f"{tmp_path}/else/../save")
    plan = SimpleNamespace(logs=job("9", on_slurm=True).parent / "new", arguments=[])
    (tmp_path / "else").mkdir()
    with pytest.raises(InputError, match="job 9 .tiny.sh. still waits or runs .*`scancel 9`") if refused else nothing():
        status.refuse_taken(plan)
    for other in ("other", ""):
        monkeypatch.setenv("SAVE_DIR", other)
        status.refuse_taken(plan)
    plan.arguments = ["--seed", "1", f"--save-dir={tmp_path}/save"]
    with pytest.raises(InputError, match="job 9") if refused else nothing():
        status.refuse_taken(plan)


@pytest.mark.parametrize("first, second, refused", [("a", "b", False), ("a", "a", True), (None, "a", False)])
def test_the_option_goes_before_the_variable(first, second, refused, running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "save"))
    running(arguments=["--save-dir", first] if first else [])
    plan = SimpleNamespace(logs=tmp_path / "launch" / "new", arguments=["--save-dir", "c", "--save-dir", second])
    with pytest.raises(InputError, match="still waits or runs") if refused else nothing():
        status.refuse_taken(plan)
    assert status.jobs(Path("launch"))[0]["state"] == status.jobs(Path("../") / tmp_path.name / "launch")[0]["state"]
    assert status.jobs(Path("../") / tmp_path.name / "launch")[0]["state"] == "running"


def test_a_save_dir_of_a_job_of_this_machine(running, tmp_path, monkeypatch):
    """The training has told it; its launcher did not know."""
    monkeypatch.delenv("SAVE_DIR", raising=False)
    number = running(updates(1, 5))
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / f"save{number}"))
    plan = SimpleNamespace(logs=tmp_path / "launch" / "new", arguments=[])
    with pytest.raises(InputError, match=rf"job {number} .*Ctrl-C in its launcher, or `kill {os.getpid()}`"):
        status.refuse_taken(plan)
    path = tmp_path / "launch" / "running" / f"{number}_plan.json"
    path.write_text(path.read_text().replace(f'"launcher": {os.getpid()}', '"launcher": 99999999'))
    with pytest.raises(InputError, match=rf"end it .`kill {number}`."):
        status.refuse_taken(plan)


@pytest.mark.parametrize("budget", [(), ("--budget", "1h")])
def test_the_launcher_refuses_such_a_job(budget, running, tmp_path, monkeypatch):
    """Before it measures anything."""
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "save"))
    monkeypatch.setattr(launcher, "with_budget", lambda *_, **__: pytest.fail("measured"))
    running()
    (tmp_path / "r.sh").write_text('fairseq-train data "$@"\n')
    command = ["launch", str(tmp_path / "r.sh"), "--cpu-processes-per-node", "1", "--logs", str(tmp_path / "launch")]
    monkeypatch.setattr(sys, "argv", [*command, *budget])
    with pytest.raises(InputError, match="still waits or runs"):
        launcher.main()
    assert len(list((tmp_path / "launch").iterdir())) == 1


def test_a_damaged_line_is_left_out(job, tmp_path):
    job(str(os.getpid()), updates(1, 100))
    path = tmp_path / f"save{os.getpid()}" / "metrics.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"update": 50', b'"upd\0te" 50'))
    assert status.jobs(tmp_path / "launch")[0]["update"] == "100 of 1,000"


def test_no_job_is_said(tmp_path, capsys):
    status.main(["--logs", str(tmp_path)])
    assert capsys.readouterr().out == f"no job in {tmp_path}/; --logs is that of the launches\n"


@pytest.mark.parametrize(
    "seconds, words", [(59, "0 min 59 s"), (7290, "2 h 1 min"), (200_000, "2 d 7 h"), (3600, "1 h 0 min")]
)
def test_durations(seconds, words):
    assert status.duration(seconds) == words


def test_colleagues_with_the_same_logs_can_read_the_plans(job):
    """Else they could not even start jobs of their own: a launch looks through the plans of all."""
    before = os.umask(0o022)
    try:
        (plan,) = job("12").glob("*_plan.json")
    finally:
        os.umask(before)
    assert plan.stat().st_mode & 0o777 == 0o644
