"""Files that cannot be read: all are named, the command fails unless they are left out, and nothing is read twice."""

import csv

import pytest
from corpus_helpers import run
from office_files import docx, paragraph, written

import preprocess.ingestion.read_group as read_group
from alibert_common.errors import InputError
from preprocess.documents.document import read_documents
from preprocess.ingest import ingest
from preprocess.readers import ReadOptions

SKIP = ReadOptions(on_error="skip")


@pytest.fixture
def letters(tmp_path):
    folder = tmp_path / "lettres"
    folder.mkdir()
    written(folder / "a.docx", docx(paragraph("Le patient tousse.")))
    written(folder / "b.txt", b"Le patient va mieux.")
    return folder


def last_line(done):
    """The sentence of a command that failed; a progress bar may stand above it on a slow machine."""
    assert done.returncode == 2
    return done.stderr.strip().splitlines()[-1]


def rows(path):
    return list(csv.reader(path.open(encoding="utf-8", newline=""), delimiter="\t"))[1:]


def test_one_file_that_cannot_be_read_is_the_sentence(letters, tmp_path):
    written(letters / "c.rtf", rb"{\rtf1 x")
    sentence = last_line(run("preprocess.ingest", letters, "--output", tmp_path / "out"))
    reason = "an RTF file that is cut short; get it again, or leave it out with --skip-unreadable"
    assert sentence == f"error: {letters}/c.rtf: {reason}."
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.unreadable.tsv").exists()


def test_all_files_that_cannot_be_read_are_counted_by_reason_and_listed(letters, tmp_path):
    for name in ("c.rtf", "d.rtf"):
        written(letters / name, rb"{\rtf1 x")
    written(letters / "scan.png", b"\x89PNG")
    written(letters / "latin.txt", "déjà")
    sentence = last_line(run("preprocess.ingest", letters, "--output", tmp_path / "out"))
    assert "4 of 6 files cannot be read" in sentence and "an RTF file that is cut short: 2" in sentence
    listed = rows(tmp_path / "out.unreadable.tsv")
    assert str(tmp_path / "out.unreadable.tsv") in sentence and not (tmp_path / "out").exists()
    assert sorted(row[0].rpartition("/")[2] for row in listed) == ["c.rtf", "d.rtf", "latin.txt", "scan.png"]
    assert all(";" in reason for _, _, reason in listed)  # a remedy each
    done = run("preprocess.ingest", letters, "--output", tmp_path / "out", "--skip-unreadable")
    assert done.returncode == 0 and "2 skipped: an RTF file that is cut short" in done.stdout
    assert sorted(rows(tmp_path / "out" / "skipped.tsv")) == sorted(listed)
    assert not (tmp_path / "out.unreadable.tsv").exists()
    assert [document.id for document in read_documents([tmp_path / "out"])] == ["a", "b"]


def test_what_was_read_is_not_read_again(letters, tmp_path, monkeypatch):
    written(letters / "c.rtf", rb"{\rtf1 x")
    with pytest.raises(InputError, match="c.rtf: an RTF file that is cut short"):
        ingest([letters], tmp_path / "out")
    monkeypatch.setattr(read_group, "read_file", None)
    assert ingest([letters], tmp_path / "out", SKIP)["kept"]["lettres"]["documents"] == 2


def test_an_output_that_lacks_files_does_not_pass_for_a_whole_one(letters, tmp_path):
    written(letters / "c.rtf", rb"{\rtf1 x")
    ingest([letters], tmp_path / "out", SKIP)
    with pytest.raises(InputError, match="out: made with --skip-unreadable, and skipped.tsv lists what it lacks"):
        ingest([letters], tmp_path / "out")
    assert ingest([letters], tmp_path / "out", SKIP)["kept"]["lettres"]["documents"] == 2


def test_a_whole_output_is_the_same_with_and_without_the_option(letters, tmp_path, capsys):
    ingest([letters], tmp_path / "out")
    ingest([letters], tmp_path / "out", SKIP)
    assert "there already" in capsys.readouterr().err


def test_a_file_that_is_named_itself_stops_at_once(letters, tmp_path, monkeypatch):
    files = [written(letters / "c.rtf", rb"{\rtf1 x"), letters / "b.txt"]
    with pytest.raises(InputError, match="c.rtf: an RTF file that is cut short; get it again.$"):
        ingest(files, tmp_path / "out")


def test_annotations_and_hidden_files_are_no_text(letters, tmp_path):
    for name in ("a.ann", "annotation.conf", ".DS_Store", "Thumbs.db"):
        written(letters / name, b"x")
    assert ingest([letters], tmp_path / "out")["dropped"] == {
        f"files beside the texts ({suffix})": 1 for suffix in (".ann", ".conf", "no suffix", ".db")
    }
