"""An output in pieces: whole or not there, gone on with after a kill, left alone when it is what was asked for."""

import errno
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from importlib import metadata

import pytest

from alibert_common.errors import InputError
from alibert_common.files import written_whole
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import Stage, digest_of

KEY = {"settings": {"a": 1}}
STAGE = Stage("clean", 1, ("rensa", "zstandard"))


def make(path, names, key=KEY, fail_at=None, stage=STAGE):
    """Write a file a name, if it is not there; returns those written now, None if the output was there."""
    written = []
    with resumable_directory(path, stage, key) as work:
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


def begun(path):
    """The directories in which `path` is half-made."""
    return sorted(directory for directory in path.with_name(f".{path.name}.work").iterdir() if directory.is_dir())


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


def test_another_version_of_the_stage_begins_anew(tmp_path):
    make(tmp_path / "out", ["a"])
    assert make(tmp_path / "out", ["a"], stage=replace(STAGE, version=2)) == ["a"]


def test_after_a_failure_it_goes_on_and_the_older_output_stays_until_then(tmp_path):
    make(tmp_path / "out", ["old"], key={"settings": "older"})
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b", "c"], fail_at="c")
    assert files(tmp_path / "out") == ["manifest.json", "old"]
    assert make(tmp_path / "out", ["a", "b", "c"]) == ["c"]
    assert files(tmp_path / "out") == ["a", "b", "c", "manifest.json"]


def test_a_failure_before_anything_was_made_leaves_nothing(tmp_path):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a"], fail_at="a")
    assert files(tmp_path) == []
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    with pytest.raises(InputError):  # what an older try made is something
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    [work] = begun(tmp_path / "out")
    assert files(work) == [".scratch", "a"]


def test_what_was_made_from_another_key_is_not_gone_on_with(tmp_path):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    assert make(tmp_path / "out", ["a", "b"], key={"settings": {"a": 2}}) == ["a", "b"]


def test_what_older_jobs_still_write_is_not_taken_for_work_of_another_key(tmp_path):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    [older] = begun(tmp_path / "out")
    with pytest.raises(InputError):
        make(tmp_path / "out", ["b", "c"], key={"settings": {"a": 2}}, fail_at="c")
    assert older not in begun(tmp_path / "out")
    with written_whole(older / "c") as handle:  # by a process of the first, which nobody ended
        handle.write("of other settings")
    assert make(tmp_path / "out", ["b", "c"], key={"settings": {"a": 2}}) == ["c"]
    assert (tmp_path / "out" / "c").read_text() == "c" and files(tmp_path) == ["out"]


def test_partial_files_of_killed_processes_go(tmp_path):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    left = begun(tmp_path / "out")[0] / "deep" / ".b.123.partial"
    left.parent.mkdir()
    left.write_text("half")
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    assert not left.exists()  # before the work: it takes room
    left.write_text("half")
    make(tmp_path / "out", ["a", "b"])
    assert files(tmp_path / "out") == ["a", "b", "deep", "manifest.json"] and files(tmp_path / "out/deep") == []


def test_partial_files_of_this_very_run_go(tmp_path):
    with resumable_directory(tmp_path / "out", STAGE, KEY) as work:
        (work.directory / ".b.123.partial").write_text("of a job that Slurm killed and started again")
    assert files(tmp_path / "out") == ["manifest.json"]


def killed(*_):
    raise KeyboardInterrupt


def test_a_kill_while_it_takes_its_place_costs_nothing(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("alibert_common.output_dir.take_place", killed)
        make(tmp_path / "out", ["a"])
    assert files(tmp_path) == [".out.work"]
    assert make(tmp_path / "out", ["a"]) is None
    assert files(tmp_path / "out") == ["a", "manifest.json"] and files(tmp_path) == ["out"]


def test_what_a_kill_left_of_an_older_output_is_in_nobodys_way(tmp_path):
    make(tmp_path / "out", ["a"])
    with pytest.raises(InputError):
        make(tmp_path / "out", ["b", "c"], key={}, fail_at="c")
    [work] = begun(tmp_path / "out")
    (tmp_path / "out").rename(f"{work}.old")  # killed before the new one had its place
    assert make(tmp_path / "out", ["b"], key={}) == []
    assert files(tmp_path) == ["out"]


def test_foreign_files_are_never_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        make(tmp_path / "out", ["a"])
    assert files(tmp_path) == ["out"] and files(tmp_path / "out") == ["thesis.txt"]


def test_what_a_user_put_into_an_older_output_is_never_removed(tmp_path):
    make(tmp_path / "out", ["a"])
    (tmp_path / "out" / "checkpoints").mkdir()
    for name in ("last.pt", "best.pt"):
        (tmp_path / "out" / "checkpoints" / name).write_text("mine")
    assert make(tmp_path / "out", ["a"]) is None  # it is not in the way of what is not made
    with pytest.raises(InputError, match="out: holds checkpoints/best.pt and 1 more, which its manifest.json does not"):
        make(tmp_path / "out", ["a"], key={})
    assert files(tmp_path) == ["out"] and files(tmp_path / "out" / "checkpoints") == ["best.pt", "last.pt"]


def test_what_a_user_puts_there_while_it_is_made_anew_is_never_removed(tmp_path):
    make(tmp_path / "out", ["a"])
    with pytest.raises(InputError, match="out: holds notes, which its manifest.json does not list"):
        with resumable_directory(tmp_path / "out", STAGE, {}) as work:
            (work.directory / "a").write_text("new")
            (tmp_path / "out" / "notes").write_text("mine")
    (tmp_path / "out" / "notes").rename(tmp_path / "notes")
    assert make(tmp_path / "out", ["a"], key={}) is None  # what was made then takes its place
    assert files(tmp_path) == ["notes", "out"] and (tmp_path / "out" / "a").read_text() == "new"


def test_what_a_user_changed_is_not_replaced(tmp_path):
    make(tmp_path / "out", ["text"])
    (tmp_path / "out" / "text").write_text("mine")
    assert make(tmp_path / "out", ["text"]) is None  # of the same length it cannot be known
    for content in ("tex", "texts"):
        (tmp_path / "out" / "text").write_text(content)
        for key in (KEY, {}):
            with pytest.raises(
                InputError, match="out: text is not as long as it was written; remove it to have it made"
            ):
                make(tmp_path / "out", ["text"], key)
        assert (tmp_path / "out" / "text").read_text() == content and files(tmp_path) == ["out"]


def test_a_file_may_lie_elsewhere_with_a_link_to_it(tmp_path):
    make(tmp_path / "out", ["text"])
    (tmp_path / "out" / "text").rename(tmp_path / "text")
    (tmp_path / "out" / "text").symlink_to(tmp_path / "text")
    assert make(tmp_path / "out", ["text"]) is None
    (tmp_path / "text").unlink()
    with pytest.raises(InputError, match="text is not as long"):
        make(tmp_path / "out", ["text"])


def test_an_output_of_a_version_that_did_not_list_its_files_is_left_to_the_user(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"command": "clean", "key": "x", "made_from": {}}')
    with pytest.raises(InputError, match="out: made by an older version, .*; remove it with `rm -r`"):
        make(tmp_path / "out", ["a"])


def test_an_output_of_which_a_file_is_gone_is_made_anew(tmp_path, capsys):
    make(tmp_path / "out", ["sub", "text"])
    (tmp_path / "out" / "text").unlink()
    assert make(tmp_path / "out", ["sub", "text"]) == ["sub", "text"]
    assert capsys.readouterr().err == f"{tmp_path}/out: made anew; changed since: text\n"
    assert (tmp_path / "out" / "text").read_text() == "text" and make(tmp_path / "out", ["sub", "text"]) is None


def test_two_at_once_are_refused_and_a_dead_one_holds_no_lock(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from alibert_common.output_dir import resumable_directory\n"
        "from alibert_common.provenance import Stage\n"
        "with resumable_directory(Path(sys.argv[1]), Stage('clean', 1), {}): print('in', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, tmp_path / "out"], stdout=subprocess.PIPE)
    other.stdout.readline()
    with pytest.raises(InputError, match="another command is writing it"):
        make(tmp_path / "out", ["a"], key={})
    other.kill()
    other.wait()
    assert make(tmp_path / "out", ["a"], key={}) == ["a"]


def test_what_another_command_has_just_made_is_not_made_again(tmp_path, monkeypatch, capsys):
    """It ended after this one had seen no output, and before it had the lock."""
    from alibert_common import output_dir

    def late(path, origin):
        if not asked:
            asked.append(path)
            make(tmp_path / "out", ["a"])
            return False
        return is_of(path, origin)

    asked, is_of = [], output_dir._is_of
    monkeypatch.setattr(output_dir, "_is_of", late)
    assert make(tmp_path / "out", ["a"]) is None and asked == [tmp_path / "out"]
    assert files(tmp_path) == ["out"]
    assert capsys.readouterr().err == f"{tmp_path}/out: there already, made from the same\n"


def test_a_full_disk_is_told_with_what_lies_on_it(tmp_path):
    def fill(name):
        with resumable_directory(tmp_path / "out", STAGE, KEY) as work:
            if name:
                (work.directory / name).touch()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), work.scratch / "part")

    with pytest.raises(OSError, match="part"):
        fill("")
    assert files(tmp_path) == []
    with pytest.raises(InputError, match=f"out: No space left .* resumes from {tmp_path}/.out.work, which"):
        fill("a")


def test_what_changed_is_said_when_an_output_is_made_anew(tmp_path, capsys, monkeypatch):
    def said(key, fail_at=None, stage=STAGE):
        with suppress(InputError):
            make(tmp_path / "out", ["a", "b"], key, fail_at, stage)
        return capsys.readouterr().err

    assert said({"settings": 1, "inputs": 1}) == ""
    assert said({"settings": 1, "inputs": 1}) == f"{tmp_path}/out: there already, made from the same\n"
    assert said({"settings": 1, "inputs": 2}) == f"{tmp_path}/out: made anew; changed since: inputs\n"
    assert said({"settings": 2, "inputs": 3}).endswith(" changed since: inputs, settings\n")
    assert said({"settings": 3, "inputs": 3}, fail_at="b").endswith("changed since: settings\n")
    assert said({"settings": 3, "inputs": 3}, fail_at="b") == ""  # gone on with
    assert said({"settings": 3, "inputs": 4}, fail_at="b").endswith("changed since: inputs\n")  # the half-made one's
    library(monkeypatch, "zstandard", "7.0")
    why = said({"settings": 3, "inputs": 4}, stage=replace(STAGE, version=2))
    assert why.endswith(f"since: version, zstandard ({metadata.version('zstandard')} before, 7.0 now)\n")


def library(monkeypatch, name, version):
    """Have another version of a library installed; None: none."""

    def installed(asked):
        if asked == name and version is None:
            raise metadata.PackageNotFoundError
        return version if asked == name else metadata.version(asked)

    monkeypatch.setattr("alibert_common.provenance.installed_version", installed)


def test_the_manifest_says_what_it_was_made_from_and_with(tmp_path):
    make(tmp_path / "out", ["a"])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert list(manifest)[:5] == ["command", "key", "made_from", "versions", "files"]
    assert manifest["files"] == {"a": 1}
    assert manifest["made_from"] == {"settings": digest_of({"a": 1}), "version": 1}
    found = manifest["versions"]
    assert found["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert found.keys() == {"python", "rensa", "zstandard"}  # those of the stage, and no others
    assert found["zstandard"] == metadata.version("zstandard")


def test_another_version_of_a_library_of_the_stage_begins_anew(tmp_path, monkeypatch):
    make(tmp_path / "out", ["a"])
    library(monkeypatch, "numpy", "another")
    assert make(tmp_path / "out", ["a"]) is None
    library(monkeypatch, "rensa", "another")
    assert make(tmp_path / "out", ["a"]) == ["a"]


def test_another_version_of_python_begins_anew(tmp_path, monkeypatch):
    make(tmp_path / "out", ["a"])
    monkeypatch.setattr("platform.python_version_tuple", lambda: ("3", "99", "0"))
    assert make(tmp_path / "out", ["a"]) == ["a"]


def test_a_library_that_was_not_there_had_no_part_in_it(tmp_path, monkeypatch):
    library(monkeypatch, "rensa", None)
    make(tmp_path / "out", ["a"])
    library(monkeypatch, "rensa", "1.0")
    assert make(tmp_path / "out", ["a"]) is None


def test_half_made_work_of_older_code_is_begun_anew_and_says_why(tmp_path, capsys):
    with pytest.raises(InputError):
        make(tmp_path / "out", ["a", "b"], fail_at="b")
    [work] = begun(tmp_path / "out")
    record = json.loads((work / ".scratch" / "key.json").read_text())
    record["made_from"]["code"] = "c3f4a6caa86e66f9f0c0921a956df74eb15632ac088a8fa56dff475139d137b8"
    del record["made_from"]["version"]
    (work / ".scratch" / "key.json").write_text(json.dumps(record))
    work.rename(work.with_name("01234567"))
    capsys.readouterr()
    assert make(tmp_path / "out", ["a", "b"]) == ["a", "b"]
    assert capsys.readouterr().err == f"{tmp_path}/out: made anew; changed since: the code, before it was whole\n"
