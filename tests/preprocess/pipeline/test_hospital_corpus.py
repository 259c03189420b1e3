"""A hospital's corpus: notes of a database and letters of a folder, pseudonymised, with patients kept apart."""

import sqlite3
import sys

import pytest
from identified_letters import letters
from office_files import docx, paragraph, written

from alibert_common.errors import InputError
from preprocess import corpus
from preprocess.documents.document import patient_of, read_documents
from preprocess.pipeline.config import CorpusFile
from preprocess.pipeline.steps import Steps

pytest.importorskip("sqlalchemy")
FILE = """
sources:
  notes:
    ingest: {{database: 'sqlite:///{folder}/omop.db'}}
  letters:
    paths: letters
    ingest: {{patient-pattern: '^(\\w+)/', skip-unreadable: true}}
pseudonymise: {{key: hospital.key}}
mix: {{valid: 0.3}}
"""


@pytest.fixture
def hospital(tmp_path, monkeypatch):
    """The folder of a hospital's file; the same patients are in the notes and in the letters."""
    with sqlite3.connect(tmp_path / "omop.db") as connection:
        connection.execute("CREATE TABLE note (note_id INTEGER, person_id TEXT, note_date DATE, note_text TEXT)")
        for number, letter in enumerate(letters(30, 1)):
            row = (number, f"p{number % 12}", "2023-01-02", letter.text)
            connection.execute("INSERT INTO note VALUES (?, ?, ?, ?)", row)
            file = tmp_path / "letters" / f"p{number % 12}" / f"{number}.docx"
            file.parent.mkdir(parents=True, exist_ok=True)
            written(
                file,
                docx(
                    "".join(
                        paragraph(f"{line.replace('<', '').replace('&', '')} Bis.") for line in letter.text.split("\n")
                    )
                ),
            )
    connection.close()
    written(tmp_path / "letters" / "scan.png", b"\x89PNG")
    (tmp_path / "corpus.yaml").write_text(FILE.format(folder=tmp_path), encoding="utf-8")
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "corpus",
            str(tmp_path / "corpus.yaml"),
            "--output",
            str(tmp_path / "out"),
            "--workers",
            "1",
            "--until",
            "mix",
        ],
    )
    return tmp_path


def test_from_the_warehouse_to_the_mix(hospital, capsys):
    corpus.main()
    train = [
        document for name in ("notes", "letters") for document in read_documents([hospital / "out/mixed/train" / name])
    ]
    valid = list(read_documents([hospital / "out/mixed/valid"]))
    assert len(train) + len(valid) > 30 and all(document.metadata["pseudonymised"] for document in train + valid)
    patients = [{patient_of(document) for document in side} for side in (train, valid)]
    assert patients[0] and patients[1] and not patients[0] & patients[1] and len(patients[0] | patients[1]) == 12
    assert (hospital / "hospital.key").exists() and (hospital / "out/pseudonymised/notes.check.html").exists()
    assert "p3" not in {patient for side in patients for patient in side}
    assert "files that cannot be read" not in capsys.readouterr().err


@pytest.mark.parametrize("options", ["{tags: true}", "{}", "", "{key: ''}"])
def test_a_file_without_a_key_is_refused(hospital, options):
    file = hospital / "corpus.yaml"
    file.write_text(file.read_text().replace("{key: hospital.key}", options))
    with pytest.raises(InputError, match="corpus.yaml: pseudonymise: give `key:`, the file of the secret key"):
        corpus.main()


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("{key: hospital.key}", "{key: hospital.key, ipp: '('}", "--ipp .*cannot be read"),
        ("{database: ", "{table: a, query: b, database: ", "notes: `table:` and `query:` name the notes twice"),
        ("{key: hospital.key}", "{key: [a.key, b.key]}", "pseudonymise: key: give one path"),
        ("{database: ", "{query: ", "notes: `table:` and `query:` are for a database"),
        ("  letters:\n", "  letters:\n    pseudonymise: {key: other.key}\n", "two keys make two patients of one"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work(hospital, old, new, words):
    file = hospital / "corpus.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        corpus.main()
    assert not (hospital / "out").exists()


def test_patients_of_which_only_some_are_pseudonymised_are_refused(hospital):
    file = hospital / "corpus.yaml"
    text = file.read_text().replace("\npseudonymise: {key: hospital.key}", "")
    file.write_text(text.replace("  letters:\n", "  letters:\n    pseudonymise: {key: hospital.key}\n"))
    with pytest.raises(InputError, match="30 of 60 documents with a patient are not pseudonymised"):
        corpus.main()
    assert not (hospital / "out/mixed").exists()


def test_one_key_may_have_two_names(hospital):
    file = hospital / "corpus.yaml"
    text = file.read_text().replace("  letters:\n", "  letters:\n    pseudonymise: {key: letters/../hospital.key}\n")
    file.write_text(text)
    corpus.main()


def test_the_shipped_file_of_a_hospital_can_be_meant(repository, tmp_path):
    file = CorpusFile(repository / "recipes" / "corpus" / "hospital.yaml")
    steps = list(Steps(file, tmp_path, corpus.command_line().parse_args(["x", "--output", "y"]), corpus.command_of))
    assert [step.stage for step in steps].count("pseudonymise") == 2
    first = steps[0].options
    assert first.database.startswith("postgresql+psycopg://") and "omop.note" in first.query and first.paths == []
