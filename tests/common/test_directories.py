"""Output directories appear whole or not at all and replace nothing that a user put there."""

import errno
import os

import pytest

from alibert_common.directories import Marker, directory_written_whole
from alibert_common.errors import InputError

MARKER = Marker.of_command("mix")


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_directory_takes_the_place_of_the_older_one(tmp_path):
    for number in ("1", "2"):
        with directory_written_whole(tmp_path / "out", MARKER) as directory:
            (directory / "text").write_text(number)
            (directory / "manifest.json").write_text('{"command": "mix"}')
    assert names(tmp_path) == ["out"] and names(tmp_path / "out") == ["manifest.json", "text"]
    assert (tmp_path / "out" / "text").read_text() == "2"


def test_a_link_stays_and_its_folder_is_written(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "scratch" / "data")
    for number in ("1", "2"):
        with directory_written_whole(tmp_path / "out", MARKER) as directory:
            (directory / "text").write_text(number)
            (directory / "manifest.json").write_text('{"command": "mix"}')
    assert names(tmp_path) == ["out", "scratch"] and names(tmp_path / "scratch") == ["data"]
    assert (tmp_path / "out").is_symlink() and (tmp_path / "out" / "text").read_text() == "2"


def test_an_error_leaves_the_older_directory_and_nothing_else(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"command": "mix"}')
    with pytest.raises(OSError) as caught, directory_written_whole(tmp_path / "out", MARKER) as directory:
        (directory / "half").write_text("à moitié")
        raise OSError(errno.ENOSPC, "No space left on device", str(directory / "half"))
    assert caught.value.filename == tmp_path / "out"
    assert names(tmp_path) == ["out"] and names(tmp_path / "out") == ["manifest.json"]


def test_a_directory_with_other_files_is_never_replaced(tmp_path):
    (tmp_path / "thèse.doc").touch()
    with pytest.raises(InputError, match="holds other files"), directory_written_whole(tmp_path, MARKER):
        pass
    assert names(tmp_path) == ["thèse.doc"]


@pytest.mark.parametrize("link", [False, True])
def test_what_a_user_put_into_an_older_output_is_never_removed(tmp_path, link):
    (tmp_path / "out" / ".git").mkdir(parents=True)
    (tmp_path / "out" / "manifest.json").write_text('{"command": "mix"}')
    if link:
        (tmp_path / "out" / ".git" / "HEAD").symlink_to(tmp_path)
    else:
        (tmp_path / "out" / ".git" / "HEAD").write_text("mine")
    with pytest.raises(InputError, match=r"out: holds \.git/HEAD, which this output does not have and which would be"):
        with directory_written_whole(tmp_path / "out", MARKER) as directory:
            (directory / "manifest.json").write_text('{"command": "mix"}')
    assert names(tmp_path) == ["out"] and names(tmp_path / "out") == [".git", "manifest.json"]
    assert names(tmp_path / "out" / ".git") == ["HEAD"]


def test_what_only_some_outputs_have_may_go(tmp_path):
    (tmp_path / "out" / "generator").mkdir(parents=True)
    (tmp_path / "out" / "generator" / "model").write_text("older")
    (tmp_path / "out" / "manifest.json").write_text('{"command": "mix"}')
    with directory_written_whole(tmp_path / "out", MARKER._replace(sometimes=("generator/*",))) as directory:
        (directory / "manifest.json").write_text('{"command": "mix"}')
    assert names(tmp_path / "out") == ["manifest.json"]


def test_the_output_of_another_command_is_never_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"command": "binarize"}')
    with pytest.raises(InputError, match="holds other files"), directory_written_whole(tmp_path / "out", MARKER):
        pass
    assert names(tmp_path / "out") == ["manifest.json"]


def test_the_working_directory_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="the working directory"), directory_written_whole(".", MARKER):
        pytest.fail("the work began")


def test_the_older_directory_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"command": "mix"}')
    rename = os.rename

    def fail(source, target):
        if str(source).endswith(".partial"):
            raise OSError(errno.EACCES, "Permission denied", str(target))
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="Permission denied"):
        with directory_written_whole(tmp_path / "out", MARKER) as directory:
            (directory / "manifest.json").write_text('{"command": "mix"}')
    assert names(tmp_path) == ["out"] and names(tmp_path / "out") == ["manifest.json"]


def test_a_file_in_the_place_of_a_directory_is_refused(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(InputError, match="is a file"), directory_written_whole(tmp_path / "out", MARKER):
        pass
