"""Who may read what is written."""

import os

import pytest

from alibert_common.directories import directory_written_whole
from alibert_common.files import written_whole
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage


@pytest.fixture(autouse=True)
def for_the_group():
    """The umask of a user whose group may read."""
    before = os.umask(0o027)
    yield
    os.umask(before)


def rights(directory):
    return {path.name: f"{path.stat().st_mode & 0o777:o}" for path in directory.rglob("*")}


def write_all(place, **shared):
    with written_whole(place / "new" / "file", **shared) as handle:
        handle.write("text")
    with directory_written_whole(place / "folder", **shared) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "text").touch()
        (folder / "weights").touch(mode=0o600)  # as safetensors does


def test_outputs_are_for_their_owner_alone(tmp_path):
    write_all(tmp_path)
    with resumable_directory(tmp_path / "above" / "out", Stage("clean", 1), {}) as work:
        assert rights(tmp_path / "above").keys() > {".out.lock", ".out.work", work.directory.name}
        assert f"{work.directory.parent.stat().st_mode & 0o777:o}" == "700"
        (work.directory / "shards").mkdir()
        (work.directory / "shards" / "text.zst").touch(mode=0o644)
    found = rights(tmp_path)
    folders = {path.name for path in tmp_path.rglob("*") if path.is_dir()}
    assert folders == {"new", "folder", "inner", "above", "out", "shards"} and "manifest.json" in found
    assert found == {name: "700" if name in folders else "600" for name in found}


def test_models_get_what_the_umask_leaves(tmp_path):
    write_all(tmp_path, shared=True)
    assert rights(tmp_path) == {
        "new": "750", "file": "640", "folder": "750", "inner": "750", "text": "640", "weights": "640"
    }  # fmt: skip


def test_a_user_shares_everything_with_a_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("ALIBERT_SHARED", "1")
    write_all(tmp_path)
    with resumable_directory(tmp_path / "out", Stage("clean", 1), {}) as work:
        (work.directory / "text.zst").touch()
    assert set(rights(tmp_path).values()) == {"750", "640"}


def test_a_folder_that_is_there_keeps_its_rights(tmp_path):
    (tmp_path / "team").mkdir(mode=0o750)
    with written_whole(tmp_path / "team" / "file"):
        pass
    assert rights(tmp_path) == {"team": "750", "file": "600"}
