"""Notes in a database: OMOP's columns, chunks, kills, and a password that no file, message or error tells."""

import os
import sqlite3
import subprocess
import sys

import pytest
from corpus_helpers import one_sentence, run

import preprocess.ingestion.read_group as read_group
from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.documents.document import document_files, read_documents
from preprocess.ingest import ingest
from preprocess.readers import ReadOptions
from preprocess.readers.records import database as module
from preprocess.readers.records.database import PASSWORD, USER, Database

pytest.importorskip("sqlalchemy")


@pytest.fixture
def omop(tmp_path):
    """A database with 95 notes of 20 patients."""
    with sqlite3.connect(tmp_path / "omop.db") as connection:
        connection.execute(
            "CREATE TABLE note (note_id INTEGER, person_id INTEGER, note_date DATE, note_text TEXT, kind TEXT)"
        )
        rows = [
            (3 * n, n % 20, f"2023-01-{n % 28 + 1:02}", f"Note {n}.\nSuite.", "CR" if n % 2 else "LT")
            for n in range(95)
        ]
        connection.executemany("INSERT INTO note VALUES (?, ?, ?, ?, ?)", sorted(rows, key=lambda row: row[0] * 7 % 95))
    connection.close()
    return f"sqlite:///{tmp_path}/omop.db"


def shards(directory):
    return {path.name: path.read_bytes() for path in document_files([directory])}


@pytest.mark.parametrize("rows, engine", [(7, Engine(2)), (1000, Engine(1))])
def test_a_table_of_notes_is_read_in_the_order_of_its_ids(omop, tmp_path, monkeypatch, rows, engine):
    monkeypatch.setattr(module.write_chunks, "__defaults__", (rows,))
    manifest = ingest([], tmp_path / "out", engine=engine, database=Database(omop))
    documents = list(read_documents([tmp_path / "out"]))
    assert [int(document.id) for document in documents] == [3 * n for n in range(95)]
    first = documents[0]
    assert (first.source, first.date, first.lines, first.metadata) == (
        "note", "2023-01-01", ["Note 0.", "Suite."], {"patient": "0"},
    )  # fmt: skip
    assert manifest["database"] == {"name": f"{omop} (note)", "rows": 95, "smallest": "0", "largest": "282"}
    assert manifest["formats"] == {"database": 95} and len(document_files([tmp_path / "out"])) == -(-95 // rows)


def test_a_query_and_other_columns(omop, tmp_path):
    options = ReadOptions(id="cle", text=("texte",), metadata={"kind": "kind"})
    query = "SELECT note_id AS cle, note_text AS texte, kind FROM note WHERE kind = 'CR';"
    ingest([], tmp_path / "out", options, database=Database(omop, query=query))
    documents = list(read_documents([tmp_path / "out"]))
    assert len(documents) == 47 and {document.metadata["kind"] for document in documents} == {"CR"}


def test_rows_of_one_id_have_a_fixed_order(tmp_path):
    texts = ["Bronchite.", "Angine.", "Toux."]
    found = []
    for name in ("one", "two"):
        with sqlite3.connect(tmp_path / f"{name}.db") as connection:
            connection.execute("CREATE TABLE note (note_id, note_text)")
            connection.executemany("INSERT INTO note VALUES (7, ?)", [(text,) for text in texts])
        connection.close()
        texts.reverse()
        ingest([], tmp_path / name, database=Database(f"sqlite:///{tmp_path}/{name}.db"))
        found.append([document.lines for document in read_documents([tmp_path / name])])
    assert found == [[["Angine."], ["Bronchite."], ["Toux."]]] * 2


def test_killed_between_chunks_it_resumes_to_the_same_bytes(omop, tmp_path, monkeypatch):
    monkeypatch.setattr(module.write_chunks, "__defaults__", (7,))
    ingest([], tmp_path / "whole", database=Database(omop))
    read = []
    true = read_group.read_file

    def read_and_die(file, options, log):
        if len(read) % 4 == 3:
            read.append("killed")
            raise KeyboardInterrupt
        read.append(file.name)
        return true(file, options, log)

    monkeypatch.setattr(read_group, "read_file", read_and_die)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            ingest([], tmp_path / "out", database=Database(omop))
    ingest([], tmp_path / "out", database=Database(omop))
    assert shards(tmp_path / "out") == shards(tmp_path / "whole")
    chunks = [name for name in read if name != "killed"]
    assert len(chunks) == len(set(chunks)) == 14  # none was read twice


def test_a_table_that_changes_is_refused_and_read_anew(omop, tmp_path, monkeypatch):
    true = read_group.read_groups

    def read_and_insert(*arguments):
        records = true(*arguments)
        with sqlite3.connect(tmp_path / "omop.db") as connection:
            connection.execute("INSERT INTO note VALUES (9999, 1, '2023-02-01', 'Nouvelle.', 'CR')")
        connection.close()
        return records

    with monkeypatch.context() as patch:
        patch.setattr("preprocess.ingest.read_groups", read_and_insert)
        with pytest.raises(InputError, match="changed while it was read; run the same command again"):
            ingest([], tmp_path / "out", database=Database(omop))
    ingest([], tmp_path / "out", database=Database(omop))
    assert len(list(read_documents([tmp_path / "out"]))) == 96


def test_a_note_of_sqlite_that_was_corrected_is_read_anew(omop, tmp_path):
    for text in ("Avant.", "Après."):
        with sqlite3.connect(tmp_path / "omop.db") as connection:
            connection.execute("UPDATE note SET note_text = ?", (text,))
        connection.close()
        manifest = ingest([], tmp_path / "out", database=Database(omop))
        assert {line for document in read_documents([tmp_path / "out"]) for line in document.lines} == {text}
    assert manifest["database"].keys() == {"name", "rows", "smallest", "largest"}


def test_columns_may_have_a_dot_in_their_names(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute('CREATE TABLE note (note_id, note_text, "Patient.Id")')
        connection.execute("INSERT INTO note VALUES (1, 'Toux.', 8001)")
    connection.close()
    ingest([], tmp_path / "out", ReadOptions(patient="Patient.Id"), database=Database(f"sqlite:///{tmp_path}/a.db"))
    assert [document.metadata for document in read_documents([tmp_path / "out"])] == [{"patient": "8001"}]


@pytest.mark.parametrize(
    "change, options, words",
    [
        ("UPDATE note SET note_id = NULL WHERE note_id < 9", {}, "3 rows have no note_id; name another --id-field"),
        (
            "ALTER TABLE note RENAME COLUMN note_text TO corps",
            {},
            "no column 'text'; the columns are note_id, person_id",
        ),
        ("ALTER TABLE note RENAME COLUMN note_id TO n", {}, "say which of n, person_id, .* is the id of a row"),
        ("DROP TABLE note", {}, "no such table: note; check the database"),
        ("DELETE FROM note", {}, "has no row; check --table or --query"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_sentence(omop, tmp_path, change, options, words):
    with sqlite3.connect(tmp_path / "omop.db") as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(InputError, match=words):
        ingest([], tmp_path / "out", ReadOptions(**options), database=Database(omop))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "url, words",
    [
        ("sqlite:////absent/omop.db", "/absent/omop.db: no such file"),
        ("postgresql+psycopg://me:{secret}@localhost/omop", f"holds a password; .* in the variable {PASSWORD}"),
        ("postgresql+psycopg://localhost/omop?password={secret}", "holds a password"),
        ("mssql+pyodbc:///?odbc_connect=DRIVER%3DX%3BPWD%3D{secret}", "holds a password"),
        ("no url {secret}", "is no URL of SQLAlchemy"),
        ("unknown://localhost/{secret}", "Can't load plugin"),
    ],
)
def test_a_url_that_is_none_or_tells_a_password_is_refused(tmp_path, url, words):
    with pytest.raises(InputError, match=words) as raised:
        ingest([], tmp_path / "out", database=Database(url.format(secret="Hunter2")))
    assert "Hunter2" not in str(raised.value) or url.startswith("unknown")


def test_certificates_are_no_passwords_and_no_part_of_a_name():
    database = Database("postgresql+psycopg://h/omop?sslmode=require&sslpassword_file=x&sslkey=/etc/k.pem&passfile=/p")
    module.check_database(database)
    assert database.name == "postgresql+psycopg://h/omop (note)"


def test_a_table_and_a_query_are_one_too_many(omop, tmp_path):
    command = ["--database", omop, "--table", "note", "--query", "SELECT 1", "--output", tmp_path / "out"]
    assert "--table and --query name the notes twice" in one_sentence(run("preprocess.ingest", *command))


def test_nothing_to_read_is_one_sentence(tmp_path):
    assert "give files, folders or a --database" in one_sentence(run("preprocess.ingest", "--output", tmp_path / "out"))


def test_the_password_is_in_no_file_and_no_message(omop, tmp_path):
    """Also after a refused connection, whose error is that of the driver."""
    environment = {**os.environ, USER: "lecteur", PASSWORD: "Hunter2"}
    said = ""
    for url in (omop, "postgresql+psycopg://127.0.0.1:1/omop"):
        command = [sys.executable, "-m", "preprocess.ingest", "--database", url, "--output", str(tmp_path / "out")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        said += done.stdout + done.stderr
    assert "95 documents" in said and "error: postgresql+psycopg://127.0.0.1:1/omop (note): " in said
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "Hunter2" not in said and b"Hunter2" not in written and b"lecteur" not in written


def test_omop_notes_in_a_table_need_no_option(tmp_path):
    (tmp_path / "note.csv").write_text("NOTE_ID,PERSON_ID,NOTE_DATE,NOTE_TEXT\n7,3,2023-01-02,Le patient tousse.\n")
    ingest([tmp_path / "note.csv"], tmp_path / "out")
    (document,) = read_documents([tmp_path / "out"])
    assert (document.id, document.date, document.lines, document.metadata) == (
        "7", "2023-01-02", ["Le patient tousse."], {"patient": "3"},
    )  # fmt: skip


def test_without_sqlalchemy_the_command_says_what_to_install(omop, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sqlalchemy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(InputError, match=r"install it with `pip install 'alibert_fairseq\[sql\]'`"):
        ingest([], tmp_path / "out", database=Database(omop))


def test_text_that_is_no_utf8_costs_its_row_and_is_not_told(omop, tmp_path):
    with sqlite3.connect(tmp_path / "omop.db") as connection:
        connection.execute("UPDATE note SET note_text = CAST(x'53c9434552' AS TEXT) WHERE note_id = 3")
    connection.close()
    with pytest.raises(InputError, match="note_id 3: not UTF-8") as raised:
        ingest([], tmp_path / "out", database=Database(omop))
    assert "CER" not in str(raised.value)
    ingest([], tmp_path / "out", ReadOptions(on_error="skip"), database=Database(omop))
    assert len(list(read_documents([tmp_path / "out"]))) == 94


def test_a_connection_that_is_lost_always_stops(omop, tmp_path, monkeypatch):
    """Also where unreadable records are left out: what follows would be lost."""
    from sqlalchemy.exc import OperationalError

    def lose(*_arguments):
        raise OperationalError("SELECT", {}, Exception("server closed the connection"))

    monkeypatch.setattr(module, "document_of", lose)
    with pytest.raises(InputError, match="server closed the connection; check the database"):
        ingest([], tmp_path / "out", ReadOptions(on_error="skip"), database=Database(omop))
    assert not (tmp_path / "out").exists()


def test_a_query_may_hold_colons_and_a_comment(omop, tmp_path):
    query = "SELECT * FROM note WHERE note_text <> ':fin' -- tout"
    ingest([], tmp_path / "out", database=Database(omop, query=query))
    assert len(list(read_documents([tmp_path / "out"]))) == 95


def test_a_database_is_not_written_to(omop, tmp_path):
    with pytest.raises(InputError, match="readonly|attempt to write|near"):
        ingest([], tmp_path / "out", database=Database(omop, query="DELETE FROM note RETURNING note_id, note_text"))


def test_options_of_a_database_without_one_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("Toux.")
    sentence = one_sentence(
        run("preprocess.ingest", tmp_path / "a.txt", "--output", tmp_path / "out", "--query", "SELECT 1")
    )
    assert "--table and --query are for --database" in sentence
