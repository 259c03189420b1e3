"""metrics.jsonl has each update once, whatever is stopped and gone on with."""

import json
import math
import os
import shutil
from pathlib import Path

import pytest
import torch
from fairseq.logging import progress_bar
from light_trainer import LightTrainer, with_callbacks

from alibert_fairseq.callbacks.metrics_log import (
    LOG,
    LOST,
    MetricsFile,
    hide_in_tensorboard,
    plain,
)


def updates(path) -> list[int]:
    return [json.loads(line)["update"] for line in path.read_text().splitlines()]


def test_a_file_that_is_removed_during_the_run_begins_anew_with_a_warning(tmp_path, caplog):
    log = MetricsFile(tmp_path / "save", 0)
    log.write({"update": 1})
    shutil.rmtree(tmp_path / "save")
    log.sync()
    log.write({"update": 2})
    assert updates(tmp_path / "save" / LOG) == [2]
    assert "was removed during the run; it has the updates from now on" in caplog.text


@pytest.mark.parametrize("line", ["[" * 100_000, "{}x"])
def test_a_line_that_is_not_json_counts_as_cut_short(tmp_path, line):
    (tmp_path / LOG).write_text('{"update": 1}\n' + line + "\n")
    MetricsFile(tmp_path, 1)
    assert updates(tmp_path / LOG) == [1]


def test_lines_that_are_written_again_are_set_aside(tmp_path):
    log = MetricsFile(tmp_path / "save", 0)
    for update in range(1, 8):
        log.write({"update": update})
    with open(tmp_path / "save" / LOG, "a") as handle:
        handle.write('{"update": 8, "lo')  # killed while it was written
    again = MetricsFile(tmp_path / "save", 5)
    assert updates(tmp_path / "save" / LOG) == [1, 2, 3, 4, 5] and updates(tmp_path / "save" / LOST) == [6, 7]
    again.write({"update": 6})
    MetricsFile(tmp_path / "save", 4)
    assert updates(tmp_path / "save" / LOG) == [1, 2, 3, 4] and updates(tmp_path / "save" / LOST) == [6, 7, 5, 6]
    again.write({"update": 7})  # of a run that is still at work
    MetricsFile(tmp_path / "save", 4)
    assert updates(tmp_path / "save" / LOG) == [1, 2, 3, 4] and updates(tmp_path / "save" / LOST) == [6, 7, 5, 6]
    assert len(list((tmp_path / "save").iterdir())) == 2


def test_a_run_that_is_replaced_writes_to_the_file_before(tmp_path):
    first = MetricsFile(tmp_path, 0)
    first.write({"update": 1})
    second = MetricsFile(tmp_path, 1)
    first.write({"update": 2})
    second.write({"update": 2})
    assert updates(tmp_path / LOG) == [1, 2]


def test_a_full_disk_is_one_sentence(tmp_path):
    log = MetricsFile(tmp_path, 0)
    log.handle = open("/dev/full", "w")
    with pytest.raises(SystemExit, match="metrics.jsonl: not written .No space left on device.; make room and start"):
        log.write({"update": 1})


def test_a_line_is_there_as_soon_as_it_is_written(tmp_path):
    MetricsFile(tmp_path, 0).write({"update": 1, "loss": 6.5})
    assert (tmp_path / LOG).read_text() == '{"update": 1, "loss": 6.5}\n'


@pytest.mark.parametrize(
    "value, expected",
    [(2, 2), (torch.tensor(0.5), 0.5), (math.nan, None), (None, None), (torch.tensor(math.inf), None)],
)
def test_numbers_are_those_that_json_has(value, expected):
    assert plain(value) == expected


def test_tensorboard_hides_what_is_logged_again(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(progress_bar, "SummaryWriter", lambda folder, **options: made.append((folder, options)))
    for updates in (0, 15):  # a start, and another in the same process
        hide_in_tensorboard(updates)
    progress_bar.SummaryWriter(tmp_path)
    assert made == [(tmp_path, {"purge_step": 16})]


def trained(trainer) -> list[dict]:
    """The lines after an update and a validation."""
    trainer.updates = 3
    trainer.load_checkpoint("last")
    trainer.begin_epoch(2)
    trainer.updates += 1
    assert trainer._reduce_and_log_stats([{"ntokens": 7}], 1, torch.tensor(2.0)) == {"loss": 6.5}
    trainer._reduce_and_log_stats([{"ntokens": 9}], 1)
    trainer.save_checkpoint("last", {})
    log = Path(trainer.cfg.checkpoint.save_dir, LOG)
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def make(monkeypatch):
    """Makes a trainer; TensorBoard is there."""
    monkeypatch.setattr(progress_bar, "SummaryWriter", dict)
    return lambda folder, **options: with_callbacks(LightTrainer, folder, processes=2, **options)


def test_an_update_is_a_line_and_validation_is_none(make, tmp_path, monkeypatch):
    trainer, fsync = make(tmp_path), os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (trainer.done.append("sync"), fsync(handle)))
    found = {"seconds": 61.3, "tokens": 7, "processes": 2, "skipped": 0, "lr": 0.1, "gnorm": 2.0, "loss": 6.5}
    assert trained(trainer) == [{"update": 4, "epoch": 2} | found]
    assert trainer.done[-2:] == ["sync", "save"] and progress_bar.SummaryWriter() == {"purge_step": 4}


@pytest.mark.parametrize("options", [{"rank": 1}, {"no_save": True}])
def test_other_processes_and_runs_that_save_nothing_write_nothing(make, tmp_path, options):
    assert trained(make(tmp_path, **options)) == []
