"""`--budget-minutes`: the schedule follows the clock, and the run ends on time, fully decayed, and only once."""

import json
import time

import pytest
from forked import finish, run
from test_pretraining import ENVIRONMENT, command

SECONDS = 6


def budget(data_bin, save, repository, *more):
    schedule = ["--lr-scheduler", "wsd", "--decay-share", "0.5", "--total-num-update", "1000", "--max-update", "1000"]
    return command("modern", data_bin, save, repository, *schedule, "--budget-minutes", str(SECONDS / 60), *more)


def metrics(save) -> list[dict]:
    return [json.loads(line) for line in (save / "metrics.jsonl").read_text().splitlines()]


def assert_risen_and_decayed(save) -> None:
    rates = [line["lr"] for line in metrics(save)]
    peak = rates.index(max(rates))
    assert rates[peak] == pytest.approx(0.005, rel=0.01) and rates[-1] < 0.1 * rates[peak]
    assert rates == sorted(rates[:peak]) + sorted(rates[peak:], reverse=True)


@pytest.fixture(scope="module")
def finished(data_bin, repository, tmp_path_factory):
    """The --save-dir of a run that had its whole budget."""
    save = tmp_path_factory.mktemp("finished") / "save"
    began = time.monotonic()
    log = run(*budget(data_bin, save, repository), cwd=save.parent, env=ENVIRONMENT)
    assert "stop_time_hours" in log and time.monotonic() - began < SECONDS + 60
    return save


def test_the_run_ends_on_time_and_decayed_and_adds_nothing_when_started_again(finished, data_bin, repository):
    assert_risen_and_decayed(finished)
    files = [finished / name for name in ("metrics.jsonl", "checkpoint_last.pt")]
    before = [file.read_bytes() for file in files]
    log = run(*budget(data_bin, finished, repository), cwd=finished.parent, env=ENVIRONMENT)
    assert "nothing left to train" in log and [file.read_bytes() for file in files] == before


@pytest.mark.long
def test_a_run_that_begins_with_the_weights_of_another_has_its_whole_budget(finished, data_bin, repository, tmp_path):
    parent = ["--finetune-from-model", str(finished / "checkpoint_last.pt")]
    run(*budget(data_bin, tmp_path / "save", repository, *parent), cwd=tmp_path, env=ENVIRONMENT)
    assert_risen_and_decayed(tmp_path / "save")
    assert metrics(tmp_path / "save")[0]["seconds"] < SECONDS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--budget-minutes", "1"],
            "error: --mask-prob-end, --length-schedule and --causal-until need --max-update, the end of the run.",
        ),
        (
            ["--budget-minutes", "0.09", "--max-update", "9"],
            "error: --budget-minutes 0.09 is too short for one decay of the learning rate; give 0.1 or more, or leave "
            "it out for no limit.",
        ),
        (
            ["--budget-minutes", "1", "--max-update", "9", "--lr-scheduler", "wsd", "--total-num-update", "8"],
            "error: --budget-minutes: --total-num-update 8 and --max-update 9 both stand for the end of the run; "
            "give them one value.",
        ),
        (
            ["--budget-minutes", "inf", "--max-update", "9"],
            "error: --budget-minutes inf is no time; give 0.1 or more, or leave it out for no limit.",
        ),
        (
            ["--budget-minutes", "1", "--max-update", "9", "--max-epoch", "1"],
            "error: --max-epoch may end the run before the learning rate has decayed; leave it out, because "
            "--budget-minutes ends the run.",
        ),
    ],
)
def test_a_budget_that_the_schedules_cannot_use_is_refused(data_bin, repository, tmp_path, words, sentence):
    status, log = finish(command("modern", data_bin, tmp_path / "save", repository, *words), tmp_path, ENVIRONMENT)
    assert status != 0
    assert sentence in log
