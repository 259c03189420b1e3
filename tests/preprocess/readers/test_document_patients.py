"""The patient of a document: a column, a field, an XPath, or a part of its id."""

import pyarrow
import pyarrow.parquet
import pytest
from reader_helpers import read

from alibert_common.errors import InputError
from preprocess.documents.document import Document, patient_of
from preprocess.ingest import ingest
from preprocess.readers import ReadOptions

FILES = {
    "a.csv": "nip,text\n7,Toux.\n,Fièvre.\n",
    "a.jsonl": '{"nip": 7, "text": "Toux."}\n{"text": "Fièvre."}\n',
    "a.html": '<html><body><p class="nip">7</p><p>Toux.</p></body></html>',
    "a.xml": "<x><r><nip>7</nip><t>Toux.</t></r><r><t>Fièvre.</t></r></x>",
}
SETTINGS = {
    "a.html": {"patient": "//p[@class='nip']"},
    "a.xml": {"format": "xml", "record": "r", "text": "t", "patient": "nip"},
}


def patients(got):
    return [document.metadata.get("patient") for document in got.documents]


@pytest.mark.parametrize("name", FILES)
def test_a_field_says_the_patient(tmp_path, name):
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    got = read(tmp_path / name, **SETTINGS.get(name, {"patient": "nip"}))
    assert patients(got) == ["7", None][: len(got.documents)] and got.documents
    assert "nip" not in got.documents[0].metadata


def test_a_column_of_parquet_says_the_patient(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"nip": [7], "text": ["Toux."]}), tmp_path / "a.parquet")
    assert patients(read(tmp_path / "a.parquet", patient="nip")) == ["7"]


def test_a_part_of_the_id_says_the_patient(tmp_path):
    for name in ("7/a.txt", "7/2023/b.txt", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Toux.")
    got = read(tmp_path, patient_pattern="^([^/]+)/")
    assert patients(got) == ["7", "7", None]
    assert got.notes == {"documents in whose ids --patient-pattern finds no patient": 1}


@pytest.mark.parametrize("pattern", ["7", "(7)(8)", "("])
def test_a_pattern_has_one_group(tmp_path, pattern):
    with pytest.raises(InputError, match="give a regular expression with one group"):
        read(tmp_path, patient_pattern=pattern)


@pytest.mark.parametrize("name", ["7", " 7", "7.0", "7.00"])
def test_a_patient_has_one_name(name):
    assert patient_of(Document("1", "s", ["x"], metadata={"patient": name})) == "7"
    composed = [patient_of(Document("1", "s", ["x"], metadata={"patient": one})) for one in ("É", "E\u0301")]
    assert composed == ["É", "É"]


def test_a_document_that_says_its_patient_needs_no_pattern(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"id": "a", "text": "Toux.", "patient": "7"}\n{"id": "8/b", "text": "Fièvre."}\n'
    )
    got = read(tmp_path / "a.jsonl", patient_pattern="^([^/]+)/")
    assert [one.metadata["patient"] for one in got.documents] == ["7", "8"] and not got.notes


def test_a_patient_is_told_once():
    with pytest.raises(InputError, match="both say who the patient is"):
        ReadOptions(patient="nip", patient_pattern="^(.)")


def test_a_column_that_is_not_there_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("text\nToux.\n")
    with pytest.raises(InputError, match="no column 'nip'"):
        read(tmp_path / "a.csv", patient="nip")


def test_a_pattern_that_finds_no_patient_is_refused(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "a.txt").write_text("Toux.")
    with pytest.raises(InputError, match="finds no patient in the id of any document"):
        ingest([tmp_path], tmp_path.with_name("out"), ReadOptions(patient_pattern="^(zzz)"))


def test_a_column_with_an_empty_value_gives_the_same_patients(tmp_path):
    table = pyarrow.table({"nip": [7.0, None], "text": ["Toux.", "Fièvre."]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert patients(read(tmp_path / "a.parquet", patient="nip")) == ["7", None]
