"""Outputs appear whole or not at all, and bad input is one sentence."""

import errno
import hashlib
import os
import sys

import pytest

from alibert_common.files import (
    InputError,
    InputLog,
    Marker,
    directory_written_whole,
    exit_with_sentence,
    written_whole,
)
from downstream import files as downstream_files

MARKER = Marker.of_command("mix")


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_file_appears_whole(tmp_path):
    with written_whole(tmp_path / "new" / "out.txt") as handle:
        handle.write("une ligne\n")
        assert not (tmp_path / "new" / "out.txt").exists()
    assert (tmp_path / "new" / "out.txt").read_bytes() == b"une ligne\n"


def test_an_error_leaves_the_older_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("avant")
    with pytest.raises(ZeroDivisionError), written_whole(path) as handle:
        handle.write("à moitié")
        raise ZeroDivisionError
    assert names(tmp_path) == ["out.txt"] and path.read_text() == "avant"


def test_two_nodes_may_write_a_file_in_processes_of_one_number(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    with written_whole(tmp_path / "out.txt") as slow:
        slow.write("the same ")
        with written_whole(tmp_path / "out.txt") as fast:
            fast.write("the same bytes")
        slow.write("bytes")
    assert (tmp_path / "out.txt").read_text() == "the same bytes" and names(tmp_path) == ["out.txt"]


def test_a_full_disk_names_the_file_of_the_user(tmp_path):
    path = tmp_path / "out.txt"
    with pytest.raises(OSError) as caught, written_whole(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == path and names(tmp_path) == []


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="is a directory"), written_whole(tmp_path / "out"):
        pass


def test_a_directory_takes_the_place_of_the_older_one(tmp_path):
    for number in ("1", "2"):
        with directory_written_whole(tmp_path / "out", MARKER) as directory:
            (directory / "text").write_text(number)
            (directory / "manifest.json").write_text('{"command": "mix"}')
    assert names(tmp_path) == ["out"] and names(tmp_path / "out") == ["manifest.json", "text"]
    assert (tmp_path / "out" / "text").read_text() == "2"


@pytest.mark.parametrize(
    "written", [lambda path: directory_written_whole(path, MARKER), downstream_files.directory_written_whole]
)  # what ends in a folder of a model: export, and fine-tuning, which depends on nothing of preprocess
def test_a_directory_has_the_rights_that_the_umask_leaves(tmp_path, written):
    before = os.umask(0o027)
    try:
        with written(tmp_path / "out") as folder:
            (folder / "a").mkdir(mode=0o700)
            (folder / "a" / "model.safetensors").touch(mode=0o600)  # as safetensors does
    finally:
        os.umask(before)
    made = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "out", *(tmp_path / "out").rglob("*"))}
    assert made == {"out": 0o750, "a": 0o750, "model.safetensors": 0o640}


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


@pytest.mark.parametrize(
    "error, sentence",
    [
        (InputError("a.txt: empty; give text."), "error: a.txt: empty; give text.\n"),
        (OSError(errno.ENOSPC, "No space left on device", "out"), "error: out: No space left on device; free some"),
        (PermissionError(errno.EACCES, "Permission denied", "out"), "error: out: Permission denied; check the perm"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence_and_status_2(error, sentence, capsys):
    def main():
        raise error

    with pytest.raises(SystemExit) as caught:
        exit_with_sentence(main)
    assert caught.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(sentence) and shown.count("\n") == 1


def test_what_a_user_cannot_mend_keeps_its_traceback():
    def main():
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError):
        exit_with_sentence(main)


def test_the_log_knows_size_and_hash_of_what_was_read(tmp_path):
    path = tmp_path / "in.txt"
    content = os.urandom(3_000_000)
    path.write_bytes(content)
    log = InputLog()
    with log.open(path) as handle:
        handle.read(10)
        assert 0 < log.bytes_read < len(content)
        handle.read()
    assert log.manifest() == [{"path": str(path), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_input_files_are_closed_when_read(tmp_path):
    (tmp_path / "in.txt").write_text("texte")
    log = InputLog()
    with log.open(tmp_path / "in.txt") as handle:
        handle.read()
    assert str(tmp_path / "in.txt") not in {os.readlink(f"/proc/self/fd/{fd}") for fd in open_descriptors()}


def open_descriptors():
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]
