"""Every source becomes documents that say where they come from; nothing disappears unseen; a core can be chosen."""

import gzip
import json

import pytest
from corpus_helpers import one_sentence, run
from reader_helpers import FIXTURES

from preprocess.documents import read_documents
from preprocess.files import InputError
from preprocess.ingest import ingest
from preprocess.readers import How
from preprocess.where import Where


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
    report = ingest([brat], tmp_path / "out.jsonl", How(licence="CC0"))
    documents = {document.id: document.lines for document in read_documents([tmp_path / "out.jsonl"])}
    assert documents == {"a": ["Toux."], "b": ["Motif :", "fièvre"], "dev/a": ["Œdème."]}
    assert report.kept.documents == 3 and report.kept.lines == 4 and len(report.inputs) == 3
    assert report.dropped == {"files of no known format (.ann)": 1} and report.formats == {"text": 3}


def test_what_the_user_says_replaces_what_the_files_say(tmp_path):
    record = {"id": "1", "source": "ici", "licence": "CC0", "text": "a", "date": "2020", "n": 1}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "in.txt").write_text("b\n\nc\n")
    ingest([tmp_path / "in.jsonl", tmp_path / "in.txt"], tmp_path / "kept.jsonl")
    ingest([tmp_path / "in.jsonl"], tmp_path / "said.jsonl", How(source="hôpital", licence="privée"))
    kept, said = list(read_documents([tmp_path / "kept.jsonl"])), list(read_documents([tmp_path / "said.jsonl"]))
    assert [(d.id, d.source, d.licence) for d in kept] == [("1", "ici", "CC0"), ("in-1", "in", ""), ("in-2", "in", "")]
    assert [(d.source, d.licence, d.date, d.metadata) for d in said] == [("hôpital", "privée", "2020", {"n": 1})]


def test_what_is_written_is_read_again_as_it_was(tmp_path):
    """Its own output, ingested again, is the same file."""
    ingest([FIXTURES / "article.nxml", FIXTURES / "bdpm", FIXTURES / "page.html"], tmp_path / "a.jsonl")
    ingest([tmp_path / "a.jsonl"], tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    assert len(list(read_documents([tmp_path / "a.jsonl"]))) == 6


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_output_may_be_compressed_and_is_the_same_every_time(tmp_path, suffix):
    first, second = tmp_path / f"a.jsonl{suffix}", tmp_path / f"b.jsonl{suffix}"
    for output in (first, second):
        ingest([FIXTURES / "brat"], output)
    assert first.read_bytes() == second.read_bytes()
    assert [document.id for document in read_documents([first])] == ["cas 1 é"]
    if suffix == ".gz":
        assert json.loads(gzip.decompress(first.read_bytes()))["text"] == "Motif : fièvre.\nExamen : toux."


def test_a_core_is_chosen_by_metadata_and_the_others_are_counted(tmp_path):
    how = How("csv", text=("résumé",), id="pmid", metadata={"specialty": "spécialité"})
    conditions = [Where.of("specialty=cardiologie"), Where.of("date~^2021")]
    report = ingest([FIXTURES / "resumes.csv"], tmp_path / "out.jsonl", how, conditions)
    assert [document.id for document in read_documents([tmp_path / "out.jsonl"])] == ["102"]
    assert (report.read.documents, report.kept.documents) == (3, 1)
    assert report.dropped == {
        "documents not chosen (specialty=cardiologie)": 1,
        "documents not chosen (date~^2021)": 1,
        "ids met before, to which a number was added": 1,
    }


def test_oubioberts_way_to_choose_a_core_by_mesh_tree_numbers(tmp_path):
    how = How("pubmed", language="en", mesh_descriptors=str(FIXTURES / "desc.xml"))
    for field, ids in (("mesh_tree~^C04", ["90000001"]), ("mesh_tree~^C0[18]", ["90000001", "90000002"])):
        ingest([FIXTURES / "pubmed.xml"], tmp_path / "out.jsonl", how, [Where.of(field)])
        assert [document.id for document in read_documents([tmp_path / "out.jsonl"])] == ids
    with pytest.raises(InputError, match="no document of 2 is chosen by --where"):
        ingest([FIXTURES / "pubmed.xml"], tmp_path / "out.jsonl", how, [Where.of("mesh_tree~^E")])


def test_an_id_met_again_in_a_source_gets_a_number_whatever_is_chosen(tmp_path):
    how = How("csv", text=("résumé",), id="pmid", metadata={"specialty": "spécialité"})
    for conditions in ([], [Where.of("specialty=cardiologie")]):
        ingest([FIXTURES / "resumes.csv"], tmp_path / "out.jsonl", how, conditions)
        assert [document.id for document in read_documents([tmp_path / "out.jsonl"])][-2:] == ["102", "101-2"]


def test_what_is_skipped_is_listed_beside_the_output(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "a"}\nnon\n{"text": "d\xe9j\xe0"}\n')
    (tmp_path / "vide.txt").touch()
    output = tmp_path / "out.jsonl"
    report = ingest([tmp_path / "in.jsonl", tmp_path / "vide.txt"], output, How(on_error="skip"))
    listed = (tmp_path / "out.jsonl.skipped.tsv").read_text(encoding="utf-8").splitlines()
    assert listed[0].split("\t") == ["file", "place", "reason"] and len(listed) == 3
    assert [line.split("\t")[1] for line in listed[1:]] == ["line 2", "line 3"]
    assert report.kept.documents == 1
    assert report.dropped == {"skipped: not JSON": 1, "skipped: not UTF-8": 1, "files without a document": 1}
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    ingest([tmp_path / "in.jsonl"], output, How(on_error="skip"))
    assert not (tmp_path / "out.jsonl.skipped.tsv").exists()  # the older list is none of this output


def test_names_and_reasons_with_tabs_and_line_breaks_stay_one_row(tmp_path):
    import csv

    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a\tb\nc.jsonl").write_text("non\n")
    (folder / "d.txt").write_text("texte")
    ingest([folder], tmp_path / "out.jsonl", How(on_error="skip"))
    with open(tmp_path / "out.jsonl.skipped.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle, delimiter="\t"))
    assert rows[1][:2] == [str(folder / "a\tb\nc.jsonl"), "line 1"] and len(rows) == 2


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_refusal_in_the_middle_leaves_the_older_output_and_nothing_else(tmp_path, suffix):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' * 5000 + "non\n")
    output = tmp_path / f"out.jsonl{suffix}"
    output.write_text("avant")
    with pytest.raises(InputError, match="line 5001: not JSON"):
        ingest([tmp_path / "in.jsonl"], output)
    assert output.read_text() == "avant"
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", output.name}


def test_the_command_prints_and_writes_what_it_read_and_kept(brat, tmp_path):
    result = run("preprocess.ingest", brat, "--output", tmp_path / "out.jsonl", "--source", "sample")
    assert result.returncode == 0, result.stderr
    assert "kept  3 documents, 4 lines, 5 words" in result.stdout and "format  text: 3 documents" in result.stdout
    report = json.loads((tmp_path / "out.jsonl.report.json").read_text())
    assert report["kept"]["words"] == 5 and report["settings"] == {"source": "sample", "where": []}
    assert report["formats"] == {"text": 3}


def test_the_command_reads_a_table_and_chooses_from_it(tmp_path):
    result = run(
        "preprocess.ingest", FIXTURES / "resumes.csv", "--text-field", "titre", "--text-field", "résumé", "--id-field",
        "pmid", "--metadata", "specialty=spécialité", "--where", "specialty=pneumologie", "--licence", "CC0",
        "--output", tmp_path / "out.jsonl.zst",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (document,) = read_documents([tmp_path / "out.jsonl.zst"])
    assert document.lines == ["Fièvre; un cas", "Un homme tousse.", 'Il a "froid".'] and document.licence == "CC0"
    assert "2 documents not chosen (specialty=pneumologie)" in result.stdout


def test_the_command_refuses_bad_input_in_one_sentence_and_leaves_the_older_output(tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("avant")
    (tmp_path / "latin.txt").write_bytes("déjà\n".encode("latin-1"))
    (tmp_path / "empty.txt").touch()
    (tmp_path / "x.docx").touch()
    faults = {
        "latin.txt": "line 1: not UTF-8 (byte 2 is 0xe9)", "empty.txt": "no document", "absent.txt": "no such file",
        "x.docx": "no reader for '.docx' files",
    }  # fmt: skip
    for name, words in faults.items():
        sentence = one_sentence(run("preprocess.ingest", tmp_path / name, "--output", output))
        assert name in sentence and words in sentence
    assert output.read_text() == "avant"
    assert {path.name for path in tmp_path.iterdir()} == {"out.jsonl", "latin.txt", "empty.txt", "x.docx"}
