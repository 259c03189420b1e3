"""Outputs whole or not at all, and the operating system's refusals as one sentence."""

import errno
import json
import threading
from pathlib import Path

import pytest

from downstream.files import (
    InputError,
    alone_in,
    directory_written_whole,
    exit_with_sentence,
    files_of,
    named,
    read_json,
    write_json,
    written_whole,
)


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_appears_when_it_is_whole(tmp_path):
    with written_whole(tmp_path / "a" / "f") as handle:
        handle.write("é\n")
        assert not (tmp_path / "a" / "f").exists()
    assert (tmp_path / "a" / "f").read_bytes() == "é\n".encode()


def test_a_file_that_fails_leaves_the_old_one_and_no_crumbs(tmp_path, monkeypatch):
    write_json(tmp_path / "f", [1])
    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left") as error:
        write_json(tmp_path / "f", [2])
    assert error.value.filename == str(tmp_path / "f")
    assert [path.name for path in tmp_path.iterdir()] == ["f"] and json.loads((tmp_path / "f").read_text()) == [1]


def test_a_directory_that_fails_leaves_the_old_one_and_no_crumbs(tmp_path):
    with directory_written_whole(tmp_path / "d") as folder:
        (folder / "old").touch()
    with pytest.raises(OSError, match="No space left"), directory_written_whole(tmp_path / "d") as folder:
        (folder / "new").touch()
        full_disk()
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["old"]


def test_a_directory_that_cannot_take_the_place_leaves_the_old_one(tmp_path, monkeypatch):
    def fails_once(self, target, rename=Path.rename):
        if self.suffix == ".partial":
            raise OSError(errno.EACCES, "Permission denied")
        return rename(self, target)

    with directory_written_whole(tmp_path / "d") as folder:
        (folder / "old").touch()
    monkeypatch.setattr(Path, "rename", fails_once)
    with pytest.raises(OSError, match="Permission denied"), directory_written_whole(tmp_path / "d") as folder:
        (folder / "new").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["old"]


def test_who_comes_second_waits_for_the_end_of_the_first(tmp_path):
    begun, seen = threading.Event(), []

    def second():
        begun.set()
        with alone_in(tmp_path / "out"):
            seen.append((tmp_path / "out" / "done").exists())

    with alone_in(tmp_path / "out"):
        waiting = threading.Thread(target=second)
        waiting.start()
        begun.wait()
        waiting.join(0.3)
        assert waiting.is_alive()
        (tmp_path / "out" / "done").touch()
    waiting.join(10)
    assert seen == [True]


def test_a_file_system_without_locks_is_used_all_the_same(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with alone_in(tmp_path / "out"):
        assert (tmp_path / "out").is_dir()


def test_files_of_a_folder_are_those_below_it_that_are_not_hidden(tmp_path):
    folder = tmp_path / ".cache" / "set"  # a folder above that is hidden hides nothing
    names = ("b.tsv", "a/c.tsv", "a/d.txt", ".e.tsv", ".ipynb_checkpoints/b-checkpoint.tsv", "a/.git/x/f.tsv", "g.xml")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert files_of(folder, ".tsv", ".txt") == [folder / name for name in ("a/c.tsv", "a/d.txt", "b.tsv")]
    assert files_of(folder / ".e.tsv", ".txt") == [folder / ".e.tsv"]


def test_a_path_that_is_there_may_have_a_sign_in_it_that_follows_a_name(tmp_path):
    folder = tmp_path / "task-epochs=3-m"
    folder.mkdir()
    assert named([str(folder), f"m={folder}"], "--model", True) == {"task-epochs=3-m": folder, "m": folder}
    assert named([f"a={folder}"], "--text", False) == {"a": folder}
    for wrong, default_names in ((str(tmp_path), False), ("=x", True), ("x=", True), ("", True)):
        with pytest.raises(InputError, match="write NAME=PATH"):
            named([wrong], "--model", default_names)


@pytest.mark.parametrize("content", ["{", "[1]", ""])
def test_damaged_json_is_one_sentence(tmp_path, content):
    (tmp_path / "f.json").write_text(content)
    with pytest.raises(InputError, match=r"f\.json.*; make it anew"):
        read_json(tmp_path / "f.json")


def test_bad_input_and_a_full_disk_end_in_one_sentence(tmp_path, capsys):
    def bad_input():
        raise InputError("a.txt: mend it.")

    def onto_a_file():
        (tmp_path / "f").touch()
        write_json(tmp_path / "f" / "g", [])

    for main, sentence in ((bad_input, "a.txt: mend it."), (full_disk, "free some space"), (onto_a_file, "not a file")):
        with pytest.raises(SystemExit) as stop:
            exit_with_sentence(main)
        printed = capsys.readouterr().err
        assert stop.value.code == 2 and sentence in printed and printed.count("\n") == 1


def test_ctrl_c_is_no_traceback(capsys):
    def stopped():
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as stop:
        exit_with_sentence(stopped)
    assert stop.value.code == 130 and capsys.readouterr().err == "stopped; give the same command again\n"


def test_a_bug_keeps_its_traceback():
    def bug():
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError):
        exit_with_sentence(bug)
