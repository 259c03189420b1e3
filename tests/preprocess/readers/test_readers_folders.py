"""Which files of a folder are read, in which order, and what is counted instead of being passed over."""

import os
import stat

import pytest
from reader_helpers import read

from alibert_common.errors import InputError
from preprocess.readers import ReadLog, ReadOptions, files_of, folders


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "note.txt").write_text("deux")
    (folder / "a.txt").write_text("un")
    return folder


def test_files_come_in_the_order_of_their_names_each_by_its_ending(corpus):
    (corpus / "A.TXT").write_text("zéro")
    (corpus / "c.jsonl").write_text('{"text": "trois"}\n{"text": "quatre", "source": "s"}\n')
    (corpus / "d.csv").write_text("text\ncinq\n")
    (corpus / "e.html").write_text("<p>six")
    for name in ("image.png", "sans", "x.xml", "t.parquet.gz"):
        (corpus / name).write_text("rien")
    got = read(corpus)
    assert got.lines == [["zéro"], ["un"], ["deux"], ["trois"], ["quatre"], ["cinq"], ["six"]]
    assert got.ids == ["A", "a", "b/note", "c-1", "c-2", "d-1", "e"]
    assert [d.source for d in got.documents] == ["corpus"] * 4 + ["s"] + ["corpus"] * 2
    assert dict(got.log.documents) == {"text": 3, "jsonl": 2, "csv": 1, "html": 1}
    assert got.counts == {
        "skipped: a file of no known format (.png)": 1,
        "skipped: a file of no known format (no suffix)": 1,
        "skipped: a file of no known format (.xml)": 1,
        "skipped: a whole file": 1,  # compressed as its name says it is, or not,
    }


def test_a_format_that_is_given_holds_for_the_files_that_may_have_it(corpus):
    (corpus / "c.csv").write_text("text\ntrois\n")
    got = read(corpus, format="csv")
    assert got.lines == [["trois"]] and got.counts == {"files of another format (.txt)": 2}
    (corpus / "liste.dat").write_text("text\nquatre\n")
    assert read(corpus / "liste.dat", format="csv").lines == [["quatre"]]


def test_what_the_user_says_of_source_and_licence_counts_more_than_the_files(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "source": "s", "licence": "CC0"}\n{"text": "b"}\n')
    said = read(tmp_path / "a.jsonl", source="hôpital", licence="privée").documents
    assert [(d.source, d.licence) for d in said] == [("hôpital", "privée")] * 2
    assert [(d.source, d.licence) for d in read(tmp_path / "a.jsonl").documents] == [("s", "CC0"), ("a", "")]


def test_files_without_text_are_counted(corpus):
    (corpus / "vide.txt").touch()
    (corpus / "blanc.txt").write_text("\n \n")
    got = read(corpus)
    assert got.lines == [["un"], ["deux"]] and got.counts == {"files without a document": 2}


def test_links_are_followed_and_nothing_is_read_twice(corpus, tmp_path):
    (tmp_path / "ailleurs").mkdir()
    (tmp_path / "ailleurs" / "loin.txt").write_text("loin")
    (tmp_path / "seul.txt").write_text("seul")
    (corpus / "0-lien").symlink_to(tmp_path / "ailleurs")  # before what it could be taken for, in the order of names
    (corpus / "1-lien.txt").symlink_to(tmp_path / "seul.txt")
    (corpus / "2-lien.txt").symlink_to(corpus / "a.txt")
    (corpus / "3-lien").symlink_to(corpus / "b")
    (corpus / "4-lien.txt").symlink_to(corpus / "b" / "note.txt")
    (corpus / "b" / "boucle").symlink_to(corpus)
    (tmp_path / "ailleurs" / "boucle").symlink_to(tmp_path / "ailleurs")
    got = read(corpus)
    assert dict(zip(got.ids, got.lines, strict=True)) == {
        "0-lien/loin": ["loin"], "1-lien": ["seul"], "a": ["un"], "b/note": ["deux"],
    }  # fmt: skip
    assert got.counts == {"links to what is read without them": 5}


def test_two_links_to_one_file_are_read_once_under_the_first_name(corpus, tmp_path):
    (tmp_path / "seul.txt").write_text("seul")
    (corpus / "y.txt").symlink_to(tmp_path / "seul.txt")
    (corpus / "x.txt").symlink_to(tmp_path / "seul.txt")
    got = read(corpus)
    assert got.ids == ["a", "b/note", "x"] and got.counts == {"links to what is read without them": 1}


@pytest.mark.parametrize("target", ["absent.txt", "lien.txt"])
def test_a_link_to_nothing_or_to_itself_stops_or_is_listed(corpus, target):
    (corpus / "lien.txt").symlink_to(corpus / target)
    with pytest.raises(InputError, match="lien.txt, the link: a link to nothing"):
        read(corpus)
    got = read(corpus, on_error="skip")
    assert got.lines == [["un"], ["deux"]] and got.counts == {"skipped: a link to nothing": 1}
    assert [(skipped.file, skipped.place) for skipped in got.skipped] == [(str(corpus / "lien.txt"), "the link")]


def test_pipes_are_counted_and_not_waited_for(corpus):
    os.mkfifo(corpus / "tube.txt")
    assert read(corpus).counts == {"pipes, sockets and devices": 1}


@pytest.mark.parametrize(
    "name", ["deux mots.txt", "été à l’hôpital.txt", "tab\tet\nligne.txt", "-rf.txt", "a;b|c$(x).txt"]
)
def test_names_of_any_kind(tmp_path, name):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / name).write_text("texte")
    assert read(folder).ids == [name.removesuffix(".txt")] and read(folder / name).lines == [["texte"]]


def test_names_that_are_no_utf8_are_spelt_out(tmp_path):
    (tmp_path / "corpus").mkdir()
    with open(os.fsencode(tmp_path / "corpus") + b"/caf\xe9.txt", "w") as handle:
        handle.write("texte")
    got = read(tmp_path / "corpus")
    assert got.ids == ["caf\\xe9"] and got.lines == [["texte"]]


def test_a_file_and_a_folder_that_may_not_be_read_stop_or_are_listed(corpus, monkeypatch):
    """The system's refusal is planted, because the tests may run as root, who may read all."""
    (corpus / "c.txt").write_text("trois")
    whole = ReadLog.open

    def refuse(log, path):
        if str(path).endswith("a.txt"):
            raise PermissionError(13, "Permission denied", str(path))
        return whole(log, path)

    monkeypatch.setattr(ReadLog, "open", refuse)
    with pytest.raises(PermissionError):
        read(corpus)
    scandir = os.scandir

    def refuse_folder(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(folders.os, "scandir", refuse_folder)
    got = read(corpus, on_error="skip")
    assert got.lines == [["trois"]]
    assert got.counts == {
        "skipped: a folder that cannot be read": 1, "skipped: a whole file": 1, "files without a document": 1,
    }  # fmt: skip
    assert [os.path.basename(skipped.file) for skipped in got.skipped] == ["b", "a.txt"]
    assert "check the permissions" in got.skipped[1].reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_file_without_permission(corpus):
    (corpus / "a.txt").chmod(0)
    assert not (corpus / "a.txt").stat().st_mode & stat.S_IRUSR
    assert read(corpus, on_error="skip").counts["skipped: a whole file"] == 1


@pytest.mark.parametrize(
    "name, settings, words",
    [
        ("absent.txt", {}, "no such file"),
        ("x.bin", {}, r"no reader for '.bin' files; say what it holds with --format \(text, jsonl,"),
        ("x.parquet.gz", {}, "no reader for '.parquet' files"),
        ("vide", {}, "no file of a known format in this directory"),
        ("vide", {"format": "pubmed"}, r"no pubmed file \(.xml\) in this directory"),
    ],
)
def test_paths_that_cannot_be_read_are_named(tmp_path, name, settings, words):
    (tmp_path / "vide").mkdir()
    for file in ("x.bin", "x.parquet.gz"):
        (tmp_path / file).touch()
    with pytest.raises(InputError, match=f"{name}: {words}"):
        read(tmp_path / name, **settings)


def test_the_list_of_files_can_be_sent_to_other_processes(corpus):
    import pickle

    found = list(files_of(corpus, ReadOptions(licence="CC0"), ReadLog()))
    assert pickle.loads(pickle.dumps(found)) == found
    assert [(one.file.name, one.options.name, one.options.default_source, one.options.format) for one in found] == [
        ("a.txt", "a", "corpus", "text"), ("note.txt", "b/note", "corpus", "text"),
    ]  # fmt: skip
