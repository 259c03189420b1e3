"""A run that another one has replaced writes no more."""

import json
import os
import re
import shutil
import time

import pytest
from light_trainer import LightTrainer, with_callbacks

from alibert_fairseq.callbacks import save_dir_owner
from alibert_fairseq.callbacks.save_dir_owner import NAME, Owner


def test_the_run_that_started_last_owns_the_folder(tmp_path):
    first = Owner(tmp_path / "save")
    first.check()
    second = Owner(tmp_path / "save")
    second.check()
    claim = json.loads((tmp_path / "save" / NAME).read_text())
    words = re.escape(f"{tmp_path}/save: another run (process {claim['process']} on {claim['host']}, since 2")
    with pytest.raises(SystemExit, match=f"error: {words}.* writes here now; this one ends"):
        first.check()
    assert [path.name for path in (tmp_path / "save").iterdir()] == [NAME]


@pytest.mark.parametrize("spoil", [shutil.rmtree, lambda folder: (folder / NAME).write_text("{")])
def test_without_a_word_of_another_run_it_goes_on(spoil, tmp_path):
    owner = Owner(tmp_path / "save")
    spoil(tmp_path / "save")
    owner.check()


class Trainer(LightTrainer):
    """Ends where metrics.jsonl is not written."""

    def train_step(self, samples):
        self.done.append("step")
        if samples == "unwritten":
            raise SystemExit("error: metrics.jsonl: not written (Stale file handle)")


def trainer_in(folder, **options):
    return with_callbacks(Trainer, folder, **options)


def test_a_trainer_looks_before_it_saves_and_every_few_seconds(tmp_path, monkeypatch):
    first, second = trainer_in(tmp_path), trainer_in(tmp_path)
    first.load_checkpoint("last")
    first.train_step([]), first.save_checkpoint("last", {})
    second.load_checkpoint("last")
    first.train_step([])
    with pytest.raises(SystemExit):
        first.save_checkpoint("last", {})
    first.train_step([])
    now = save_dir_owner.time.monotonic() + save_dir_owner.LOOK
    monkeypatch.setattr(save_dir_owner.time, "monotonic", lambda: now)
    with pytest.raises(SystemExit):
        first.train_step([])
    second.train_step([])
    assert first.done == ["load", "step", "save", "step", "step"] and second.done == ["load", "step"]


@pytest.mark.parametrize(("ago", "told"), [(3, True), (3600, False)])
def test_one_that_may_be_at_work_is_told_of(ago, told, tmp_path, caplog):
    Owner(tmp_path)
    written = tmp_path / "metrics.jsonl"
    written.touch()
    os.utime(written, (time.time() - ago,) * 2)
    caplog.clear()
    Owner(tmp_path)
    assert ("has written here 3 s ago; if it is still at work it ends now" in caplog.text) is told


def test_the_first_run_in_a_folder_takes_the_place_of_none(tmp_path, caplog):
    (tmp_path / "metrics.jsonl").touch()
    Owner(tmp_path)
    assert caplog.text == ""


def test_host_and_process_are_not_for_everybody(tmp_path, monkeypatch):
    owner = Owner(tmp_path)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600

    def refuse(_path):
        raise PermissionError

    monkeypatch.setattr(save_dir_owner.Path, "read_text", refuse)  # another user has claimed the folder since
    with pytest.raises(SystemExit, match=r"another run \(of another user\) writes here now"):
        owner.check()


@pytest.mark.parametrize("options", [{"rank": 1}, {"no_save": True}])
def test_who_writes_nothing_claims_nothing(options, tmp_path):
    trainer = trainer_in(tmp_path, **options)
    trainer.load_checkpoint("last"), trainer.train_step([])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        SystemExit, match="error: .*/file/.owner: not written .*; move away the .*, or give another --save-dir"
    ):
        Owner(tmp_path / "file")


def test_what_fails_because_another_run_has_taken_the_folder_is_told_so(tmp_path):
    first, second = trainer_in(tmp_path), trainer_in(tmp_path)
    first.load_checkpoint("last")
    with pytest.raises(SystemExit, match="Stale"):
        first.train_step("unwritten")
    second.load_checkpoint("last")
    with pytest.raises(SystemExit, match="another run"):
        first.train_step("unwritten")
