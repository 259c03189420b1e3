"""Text and JSON: read with one sentence on bad input, written whole or not at all."""

import errno
import os

import pytest

from alibert_common.errors import InputError
from alibert_common.files import files_of, read_json, read_text, written_whole


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


def test_files_of_a_folder_are_those_below_it_that_are_not_hidden(tmp_path):
    folder = tmp_path / ".cache" / "set"  # a folder above that is hidden hides nothing
    names = ("b.tsv", "a/c.tsv", "a/d.txt", ".e.tsv", ".ipynb_checkpoints/b-checkpoint.tsv", "a/.git/x/f.tsv", "g.xml")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert files_of(folder, ".tsv", ".txt") == [folder / name for name in ("a/c.tsv", "a/d.txt", "b.tsv")]
    assert files_of(folder / ".e.tsv", ".txt") == [folder / ".e.tsv"]


def test_json_that_is_missing_says_so(tmp_path):
    with pytest.raises(InputError) as caught:
        read_json(tmp_path / "f.json")
    assert str(caught.value) == f"{tmp_path}/f.json: no such file; check the path."


@pytest.mark.parametrize("content", ["{", "[1]", "", "[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000])
def test_damaged_json_is_one_sentence(tmp_path, content):
    (tmp_path / "f.json").write_text(content)
    with pytest.raises(InputError, match=r"f\.json.*; make it anew"):
        read_json(tmp_path / "f.json")


def test_text_keeps_every_character_and_names_a_byte_that_is_not_utf8(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffé\r\nb".encode())
    assert read_text(tmp_path / "a") == "\ufeffé\r\nb"
    (tmp_path / "a").write_bytes(b"a\nb\xe9")
    with pytest.raises(InputError, match=r"a, line 2: byte 2 \(0xe9\) is not UTF-8"):
        read_text(tmp_path / "a")
