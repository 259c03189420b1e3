"""Whether a job is started again: what the ranks left, what the run has reached, how often it was in vain."""

import json
import os
import sys

import pytest
from commands import run

from alibert_fairseq.launch import requeue
from alibert_fairseq.launch.progress import read_of_job
from alibert_fairseq.launch.requeue import IN_VAIN, decide, furthest_update, settle
from alibert_fairseq.launch.worker import ending_path


def ending(rank, code, ended=1, stopped=False, start=0):
    """What a rank leaves."""
    return {"rank": rank, "host": f"n{rank}", "code": code, "stopped": stopped, "ended": ended, "start": start}


@pytest.mark.parametrize(
    "endings, again, why",
    [
        ([ending(0, 0), ending(1, 0)], False, "all ranks ended well"),
        ([ending(0, 75), ending(1, 75)], True, "rank 0 on n0 said that the same command resumes"),
        ([ending(0, 75), ending(1, 143, 2, stopped=True)], True, "rank 0 on n0 said"),
        ([ending(0, 1, 2), ending(1, 137, 1)], True, "rank 1 on n1 was killed by signal 9 (SIGKILL)"),
        ([ending(0, 75, 1), ending(1, 2, 9)], True, "rank 0 on n0 said"),
        ([ending(0, 75, 1), ending(1, 2, 2)], False, "rank 1 on n1 ended with exit code 2"),
        ([ending(0, 75, 9), ending(1, 2, 1)], False, "rank 1 on n1 ended with exit code 2"),
        ([ending(0, 134, 1), ending(1, 2, 2)], False, "rank 1 on n1 ended with exit code 2"),
        ([ending(0, 134, 1), ending(1, 134, 2)], True, "rank 0 on n0 was killed by signal 6 (SIGABRT)"),
        ([ending(0, 75, 1), ending(1, 137, 2)], True, "rank 1 on n1 was killed by signal 9"),
        ([ending(0, 143, stopped=True)], True, "1 of 2 ranks left no exit code (rank 1 first)"),
        ([ending(0, 160), ending(1, 160)], True, "rank 0 on n0 was killed by signal 32"),
        ([ending(0, 75, stopped=True), ending(1, 75, stopped=True)], True, "all ranks were stopped from outside"),
        ([ending(0, 255)], False, "rank 0 on n0 ended with exit code 255"),
        ([ending(0, 1)], False, "rank 0 on n0 ended with exit code 1"),
        ([ending(0, 143, stopped=True), ending(1, 143, stopped=True)], True, "stopped from outside"),
        ([], True, "2 of 2 ranks left no exit code (rank 0 first)"),
    ],
)
def test_who_failed_first_decides(endings, again, why):
    found = decide(endings, 2, 10, before={})
    assert found["again"] is again
    assert why in found["why"]


def test_a_run_that_gets_no_further_is_given_up():
    """Each start gets to update 10, but for one to 12: three in vain are borne, a fourth is not."""
    found, reached = {}, [10, 9, 3, 12, 0, 12, None, 11]
    history = []
    for furthest in reached:
        found = decide([ending(0, 137)], 1, furthest, found)
        history.append((found["again"], found["in_vain"]))
    assert IN_VAIN == 3 and found["furthest"] == 12
    assert history == [(True, n) for n in (0, 1, 2, 0, 1, 2, 3)] + [(False, 4)]
    assert found["why"].endswith("and 4 starts in a row have not got beyond update 12")


@pytest.mark.parametrize(
    ("reached", "words"), [(0, "got beyond update 0"), (None, "shown no progress, which a recipe")]
)
def test_a_run_that_never_begins_is_given_up_too(reached, words):
    found = {}
    for _ in range(4):
        found = decide([], 1, reached, found)
    assert not found["again"] and words in found["why"]


@pytest.fixture
def folder(tmp_path):
    """Of job 5, whose training has told where it writes."""
    (tmp_path / "run").mkdir()
    (tmp_path / "5_training.json").write_text(json.dumps({"save_dir": str(tmp_path / "run")}))
    return tmp_path


def test_the_furthest_update_is_that_of_the_last_start(folder):
    """A line that a kill cut short is none, and what a run made that was begun anew since does not count."""
    assert furthest_update(folder, "6") is None and furthest_update(folder, "5") == 0
    (folder / "run" / "metrics.lost.jsonl").write_text('{"update": 57}\n')
    (folder / "run" / "metrics.jsonl").write_text('{"update": 40, "seconds": 8}\n{"update": 41, "seconds": 9}\n{"upd')
    assert furthest_update(folder, "5") == 41
    note = json.loads((folder / "5_training.json").read_text()) | {"run": "ours"}
    (folder / "5_training.json").write_text(json.dumps(note))
    (folder / "run" / ".owner").write_text('{"run": "another"}')
    assert furthest_update(folder, "5") == 0


def test_a_run_begun_anew_gets_further_in_every_start(folder):
    (folder / "run" / "metrics.lost.jsonl").write_text('{"update": 1000}\n')
    decision = {}
    for update in range(100, 700, 100):
        (folder / "run" / "metrics.jsonl").write_text(json.dumps({"update": update}) + "\n")
        decision = decide([ending(0, 75)], 1, furthest_update(folder, "5"), decision)
        assert decision["again"] and decision["in_vain"] == 0


def test_a_start_is_decided_upon_once_and_by_what_it_left_itself(folder):
    """Rank 1's ending is of an earlier start."""
    for one in (ending(0, 1, start=1), ending(1, 137, start=0)):
        ending_path(folder, "5", one["rank"]).write_text(json.dumps(one))
    first = settle(folder, "5", 2, start=0)
    assert first["again"] and first["start"] == 0 and first == read_of_job(folder, "5", "decision")
    second = settle(folder, "5", 2, start=1)
    assert not second["again"] and second["in_vain"] == 2 and "exit code 1" in second["why"]
    for rank in (0, 1):
        ending_path(folder, "5", rank).unlink()
    assert settle(folder, "5", 2, start=1) == second == settle(folder, "5", 2, start=0)


SCONTROL = """#!/bin/sh
echo "$*" >> {asked}
[ "$(wc -l < {asked})" -gt {silent} ] || {{ echo "Unable to contact slurm controller" >&2; exit 1; }}
echo "   Requeue=1 Restarts={restarts} BatchFlag=1"
"""


@pytest.mark.parametrize(
    "code, restarts, words, asked",
    [
        (
            137,
            1,
            "start 2 has ended: rank 0 on n0 was killed by signal 9 (SIGKILL); the job is queued again",
            "requeue 5",
        ),
        (2, 1, "not started again: rank 0 on n0 ended with exit code 2", None),
        (137, 2, "", None),  # by a batch file that a lost node left running
    ],
)
def test_the_last_line_of_the_batch_file(code, restarts, words, asked, folder, repository, monkeypatch):
    (folder / "scontrol").write_text(SCONTROL.format(asked=folder / "asked", restarts=restarts, silent=0))
    (folder / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(repository))
    monkeypatch.setenv("SLURM_JOB_ID", "5")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    ending_path(folder, "5", 0).write_text(json.dumps(ending(0, code, start=1)))
    command = [sys.executable, "-m", "alibert_fairseq.launch.requeue", folder, "1"]
    assert run(*command, cwd=folder, env=dict(os.environ)).strip() == words
    said = (folder / "asked").read_text().splitlines()
    assert said[0] == "show job 5" and said[1:] == ([asked] if asked else [])


@pytest.mark.parametrize("silent", [2, 99])
def test_a_controller_that_does_not_answer_is_asked_again(silent, folder, monkeypatch):
    """And is not what ends a run: the job is decided upon without it, and queued when it is back."""
    (folder / "scontrol").write_text(SCONTROL.format(asked=folder / "asked", restarts=0, silent=silent))
    (folder / "scontrol").chmod(0o755)
    for name, value in {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": "5"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    monkeypatch.setattr(requeue, "BETWEEN_TRIES", 0.01)
    monkeypatch.setattr(sys, "argv", ["again", str(folder), "1"])
    ending_path(folder, "5", 0).write_text(json.dumps(ending(0, 137)))
    if silent == 2:
        requeue.main()
    else:
        with pytest.raises(SystemExit, match="Slurm does not start the job again: Unable to contact"):
            requeue.main()
    said = (folder / "asked").read_text().splitlines()
    expected = ["show job 5"] * 3 + ["requeue 5"] if silent == 2 else ["show job 5"] * 7 + ["requeue 5"] * 7
    assert said == expected and read_of_job(folder, "5", "decision")["again"]
