"""Every source becomes documents that say where they come from; nothing disappears unseen."""

import json

import pytest
from corpus_helpers import one_sentence, run

from preprocess.documents import read_documents
from preprocess.files import InputError
from preprocess.ingest import ingest


@pytest.fixture
def brat(tmp_path):
    folder = tmp_path / "cas"
    (folder / "dev").mkdir(parents=True)
    (folder / "b.txt").write_text("Motif :\n\nfièvre\n", encoding="utf-8")
    (folder / "a.txt").write_text("Toux.", encoding="utf-8")
    (folder / "dev" / "a.txt").write_text("Œdème.\r\n", encoding="utf-8")
    (folder / "a.ann").write_text("T1\tsymptom 0 4\tToux\n")
    return folder


def test_in_a_directory_every_file_is_one_document(brat, tmp_path):
    report = ingest([brat], tmp_path / "out.jsonl", source=None, licence="CC0")
    documents = {document.id: document.lines for document in read_documents([tmp_path / "out.jsonl"])}
    assert documents == {"a": ["Toux."], "b": ["Motif :", "fièvre"], "dev/a": ["Œdème."]}
    assert report.kept.documents == 3 and report.kept.lines == 4 and len(report.inputs) == 3


def test_files_without_text_and_files_that_are_not_read_are_counted(brat, tmp_path):
    (brat / "vide.txt").write_text("\n \n")
    (brat / "dev" / "c.TXT").write_text("Toux.")
    dropped = ingest([brat], tmp_path / "out.jsonl", None, None).dropped
    assert dropped == {
        "files that are not .txt (.ann)": 1,
        "files that are not .txt (.TXT)": 1,
        "files without text": 1,
    }


def test_what_the_user_says_replaces_what_the_files_say(tmp_path):
    record = {"id": "1", "source": "ici", "licence": "CC0", "text": "a", "date": "2020", "n": 1}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "in.txt").write_text("b\n\nc\n")
    ingest([tmp_path / "in.jsonl", tmp_path / "in.txt"], tmp_path / "kept.jsonl", None, None)
    ingest([tmp_path / "in.jsonl"], tmp_path / "said.jsonl", "hôpital", "privée")
    kept, said = list(read_documents([tmp_path / "kept.jsonl"])), list(read_documents([tmp_path / "said.jsonl"]))
    assert [(d.id, d.source, d.licence) for d in kept] == [("1", "ici", "CC0"), ("in-1", "in", ""), ("in-2", "in", "")]
    assert [(d.source, d.licence, d.date, d.metadata) for d in said] == [("hôpital", "privée", "2020", {"n": 1})]


def test_a_format_without_a_reader_and_a_folder_without_text_are_refused(tmp_path):
    (tmp_path / "export.csv").write_text("a;b\n")
    with pytest.raises(InputError, match="no reader for '.csv' files"):
        ingest([tmp_path / "export.csv"], tmp_path / "out.jsonl", None, None)
    with pytest.raises(InputError, match="no .txt file with text"):
        ingest([tmp_path], tmp_path / "out.jsonl", None, None)


def test_the_command_prints_and_writes_what_it_read_and_kept(brat, tmp_path):
    result = run("preprocess.ingest", brat, "--output", tmp_path / "out.jsonl", "--source", "sample")
    assert result.returncode == 0, result.stderr
    assert "kept  3 documents, 4 lines, 5 words" in result.stdout
    report = json.loads((tmp_path / "out.jsonl.report.json").read_text())
    assert report["kept"]["words"] == 5 and report["settings"]["source"] == "sample"


def test_the_command_refuses_bad_input_in_one_sentence_and_leaves_the_older_output(tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("avant")
    (tmp_path / "latin.txt").write_bytes("déjà\n".encode("latin-1"))
    (tmp_path / "empty.txt").touch()
    faults = {"latin.txt": "line 1, byte 2", "empty.txt": "no document", "absent.txt": "no such file"}
    for name, words in faults.items():
        sentence = one_sentence(run("preprocess.ingest", tmp_path / name, "--output", output))
        assert name in sentence and words in sentence
    assert output.read_text() == "avant"
    assert {path.name for path in tmp_path.iterdir()} == {"out.jsonl", "latin.txt", "empty.txt"}
