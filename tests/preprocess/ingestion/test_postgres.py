"""A real PostgreSQL server gives the same documents as SQLite; a wrong password is one sentence without it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from alibert_common.errors import InputError
from preprocess.documents.document import read_documents
from preprocess.ingest import ingest
from preprocess.readers.records import database
from preprocess.readers.records.database import PASSWORD, USER, Database

sys.path.insert(0, str(Path(__file__).parents[2] / "campaigns"))
import omop_notes

for library in ("sqlalchemy", "psycopg"):
    pytest.importorskip(library)
if not (shutil.which("initdb") or Path("/usr/lib/postgresql/15/bin/initdb").exists()):
    pytest.skip("no PostgreSQL server is installed (Debian: postgresql)", allow_module_level=True)
if os.geteuid() == 0 and not shutil.which("runuser"):
    pytest.skip("PostgreSQL does not run as root, and there is no runuser", allow_module_level=True)

NOTES = 300


def test_a_server_gives_the_documents_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(omop_notes, "PORT", 20_000 + os.getpid() % 20_000)  # other tests may run beside it
    file = omop_notes.make_sqlite(tmp_path / "omop.db", NOTES, 1)
    ingest([], tmp_path / "file", database=Database(file))
    with omop_notes.postgres(tmp_path / "server") as url:
        omop_notes.fill_postgres(NOTES, 1)
        monkeypatch.setenv(USER, omop_notes.USER)
        monkeypatch.setenv(PASSWORD, "wrong-Hunter3")
        with pytest.raises(InputError, match=r"\(note\): .*password authentication failed") as raised:
            ingest([], tmp_path / "out", database=Database(url))
        assert "Hunter3" not in str(raised.value)
        monkeypatch.setenv(PASSWORD, omop_notes.PASSWORD)
        ingest([], tmp_path / "server-documents", database=Database(url))
        query = "SELECT note_id, person_id, note_text FROM note WHERE note_id < 100"
        ingest([], tmp_path / "query", database=Database(url, query=query))
        for kind in ("numeric", "uuid"):  # of ids
            cast = "lpad(to_hex(note_id), 32, '0')::uuid" if kind == "uuid" else "note_id::numeric"
            query = f"SELECT {cast} AS note_id, person_id, note_text FROM note WHERE note_id < 100"
            with monkeypatch.context() as patch:
                patch.setattr(database.write_chunks, "__defaults__", (7,))
                ingest([], tmp_path / kind, database=Database(url, query=query))
    names = ("file", "server-documents", "query", "numeric", "uuid")
    found = [list(read_documents([tmp_path / name])) for name in names]
    assert found[0] == found[1] and len(found[0]) == NOTES
    assert [document.lines for document in found[2]] == [document.lines for document in found[0][:33]]
    assert [one.lines for one in found[3]] == [one.lines for one in found[4]] == [one.lines for one in found[2]]
