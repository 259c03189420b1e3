"""What tells whether the inputs of an output are those of the last time."""

from pathlib import Path

import pytest

from alibert_common.errors import InputError
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage, identity


def make(path, settings):
    """An output of this package."""
    with resumable_directory(path, Stage("clean", 1), {"settings": settings}) as work:
        (work.directory / "a").write_text("un")


def test_the_same_input_spelled_otherwise_is_the_same(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("un")
    (tmp_path / "link").symlink_to("folder")
    monkeypatch.chdir(tmp_path)
    before = identity([Path("folder"), Path("folder/a.txt")])
    monkeypatch.chdir(tmp_path / "folder")
    assert identity([Path("../folder"), Path("a.txt")]) == before == identity([Path("."), tmp_path / "folder/a.txt"])
    assert identity([tmp_path / "link"]) != identity([tmp_path / "folder"])


def test_an_output_is_known_by_its_manifest_wherever_it_lies(tmp_path):
    make(tmp_path / "out", 1)
    before = identity([tmp_path / "out"])
    (tmp_path / "out").rename(tmp_path / "moved")
    assert len(before) == 1 and identity([tmp_path / "moved"]) == before
    make(tmp_path / "moved", 2)
    assert identity([tmp_path / "moved"]) != before


@pytest.mark.parametrize("content", ["{}", '{"command": "clean"}', '["key"]', "a text", "\xff"])
def test_a_manifest_of_somebody_else_hides_no_change(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content.encode("latin-1"))
    (tmp_path / "a.txt").write_text("un")
    before = identity([tmp_path])
    (tmp_path / "a.txt").write_text("deux")
    assert identity([tmp_path]) != before


def test_an_input_that_changes_is_another_input(tmp_path):
    text, folder = tmp_path / "text.txt", tmp_path / "folder"
    folder.mkdir()
    text.write_text("un")
    (folder / "a.txt").write_text("un")
    before = identity([text, folder])
    assert identity([text, folder]) == before
    text.write_text("deux")
    assert identity([text, folder]) != before
    before = identity([folder])
    (folder / "b.txt").write_text("")
    assert identity([folder]) != before
    with pytest.raises(InputError, match="no such file"):
        identity([tmp_path / "no.txt"])
