"""An output in pieces: whole or not there, gone on with after a kill, left alone when it is what was asked for."""

import subprocess
import sys

import pytest

from preprocess.files import InputError, written_whole
from preprocess.resumable import identity, resumable_directory

KEY = {"settings": {"a": 1}}


def make(path, names, key=KEY, fail_at=None):
    """Write a file a name, if it is not there; returns those written now, None if the output was there."""
    written = []
    with resumable_directory(path, "clean", key) as work:
        if work is None:
            return None
        for name in names:
            if name == fail_at:
                raise InputError("bad input")
            if not (work.directory / name).exists():
                (work.directory / name).write_text(name)
                written.append(name)
        (work.scratch / "sums").write_text("only for the making")
        work.manifest = {"names": list(names)}
    return written


def files(path):
    return sorted(file.name for file in path.iterdir())


def test_an_output_is_whole_and_holds_nothing_of_its_making(tmp_path):
    assert make(tmp_path / "out", ["a", "b"]) == ["a", "b"]
    assert files(tmp_path / "out") == ["a", "b", "manifest.json"] and files(tmp_path) == ["out"]


def test_the_same_again_does_nothing_and_another_key_begins_anew(tmp_path):
    make(tmp_path / "out", ["a", "b"])
    before = (tmp_path / "out" / "a").stat().st_mtime_ns
    assert make(tmp_path / "out", ["a", "b"]) is None
    assert (tmp_path / "out" / "a").stat().st_mtime_ns == before
    assert make(tmp_path / "out", ["a"], key={"settings": {"a": 2}}) == ["a"]
    assert files(tmp_path / "out") == ["a", "manifest.json"]


def test_after_a_failure_it_goes_on_and_the_older_output_stays_until_then(tmp_path):
    make(tmp_path / "out", ["old"], key={"settings": "older"})
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b", "c"], fail_at="c")
    assert files(tmp_path / "out") == ["manifest.json", "old"]
    assert make(tmp_path / "out", ["a", "b", "c"]) == ["c"]
    assert files(tmp_path / "out") == ["a", "b", "c", "manifest.json"]


def test_what_was_made_from_another_key_is_not_gone_on_with(tmp_path):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    assert make(tmp_path / "out", ["a", "b"], key={"settings": {"a": 2}}) == ["a", "b"]


def test_partial_files_of_killed_processes_go(tmp_path):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    (tmp_path / ".out.work" / ".b.123.partial").write_text("half")
    make(tmp_path / "out", ["a", "b"])
    assert files(tmp_path / "out") == ["a", "b", "manifest.json"]


def test_a_kill_while_it_takes_its_place_costs_nothing(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("preprocess.resumable.take_place", lambda *_: None)
        make(tmp_path / "out", ["a"])
    assert files(tmp_path) == [".out.work"]
    assert make(tmp_path / "out", ["a"]) is None
    assert files(tmp_path / "out") == ["a", "manifest.json"] and files(tmp_path) == ["out"]


def test_what_a_kill_left_of_an_older_output_is_in_nobodys_way(tmp_path):
    make(tmp_path / "out", ["a"])
    (tmp_path / ".out.work.old").mkdir()
    (tmp_path / ".out.work.old" / "older").write_text("")
    assert make(tmp_path / "out", ["b"], key={}) == ["b"]
    assert files(tmp_path) == ["out"]


def test_foreign_files_are_never_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        make(tmp_path / "out", ["a"])
    assert files(tmp_path) == ["out"] and files(tmp_path / "out") == ["thesis.txt"]


def test_two_at_once_are_refused_and_a_dead_one_holds_no_lock(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from preprocess.resumable import resumable_directory\n"
        "with resumable_directory(Path(sys.argv[1]), 'clean', {}): print('in', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, tmp_path / "out"], stdout=subprocess.PIPE)
    other.stdout.readline()
    with pytest.raises(InputError, match="another command is writing it"):
        make(tmp_path / "out", ["a"], key={})
    other.kill()
    other.wait()
    assert make(tmp_path / "out", ["a"], key={}) == ["a"]


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
    with written_whole(folder / "manifest.json") as handle:
        handle.write("{}")
    assert len(identity([folder])) == 1
    with pytest.raises(InputError, match="no such file"):
        identity([tmp_path / "no.txt"])
