"""Documents are read as they were written, and what cannot be read is named by file, line and byte."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alibert_common.errors import InputError
from preprocess.documents.document import OTHER_FORMS, Document, Size, read_documents, read_lines, write_document
from preprocess.readers import FORMATS


def read(path, content):
    path.write_bytes(content)
    return [document.lines for document in read_documents([path])]


@pytest.mark.parametrize(
    "content",
    ["a\nb\n\nc\n", "a\r\nb\r\n\r\nc\r\n", "a\nb\n\n\n \t\nc", "\n\na\nb\n\nc\n\n\n", "\ufeffa\nb\n\nc\n"],
    ids=["plain", "CRLF", "no last newline", "empty lines at both ends", "byte order mark"],
)
def test_empty_lines_stand_between_documents(tmp_path, content):
    assert read(tmp_path / "in.txt", content.encode()) == [["a", "b"], ["c"]]


def test_only_line_ends_end_a_line(tmp_path):
    line = "a\x0cb\u2028c\x85d\re\x1cf"
    assert read(tmp_path / "in.txt", f"{line}\nzwei\n".encode()) == [[line, "zwei"]]


@pytest.mark.parametrize("block", [1, 4, 9, 1 << 18])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_the_same_in_blocks_of_any_size(tmp_path, monkeypatch, block, end):
    monkeypatch.setattr("preprocess.documents.document.BLOCK", block)
    lines = ["été", "", "deux\x0cmots", "  ", "\u2028", "dernière"]
    for last in ("", end):
        (tmp_path / "in.txt").write_bytes(("\ufeff" + end.join(lines) + last).encode())
        assert list(read_lines(tmp_path / "in.txt")) == list(enumerate(lines, 1))


@pytest.mark.parametrize("block", [1, 1 << 18])
def test_the_line_that_is_not_utf8_is_named_in_blocks_of_any_size(tmp_path, monkeypatch, block):
    monkeypatch.setattr("preprocess.documents.document.BLOCK", block)
    with pytest.raises(InputError, match=r"in.txt, line 3, byte 2: not UTF-8 \(byte 0xe9\)"):
        read(tmp_path / "in.txt", "été\n\n".encode() + b"t\xe9\nfin\n")


def test_documents_of_plain_text_are_numbered(tmp_path):
    (tmp_path / "notes.txt").write_text("a\n\nb\n\nc")
    documents = list(read_documents([tmp_path / "notes.txt"]))
    assert [(document.id, document.source) for document in documents] == [
        ("notes-1", "notes"), ("notes-2", "notes"), ("notes-3", "notes"),
    ]  # fmt: skip


words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1).filter(str.strip)


metadata_of = st.dictionaries(st.just("mesh"), words)


@given(st.text(st.characters(codec="utf-8")), words, st.lists(words, min_size=1), st.just("") | words, metadata_of)
def test_what_is_written_is_read(tmp_path_factory, name, source, lines, date, metadata):
    document = Document(name, source, lines, "CC BY 4.0", date, metadata)
    path = tmp_path_factory.getbasetemp() / "written.jsonl"
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        write_document(handle, document)
        write_document(handle, document)
    assert list(read_documents([path])) == [document, document]


CHANGES = {"id": "b", "source": "t", "lines": ["Toux."], "licence": "MIT", "date": "2020", "metadata": {"b": 1}}


@pytest.mark.parametrize("changed", [*CHANGES, None])
def test_a_document_of_a_stage_is_written_as_it_was_stored_unless_it_changes(tmp_path, changed):
    stored = '{"id": "a",  "source": "s", "licence": "", "text": "Toux.\\nFièvre."}'  # two spaces: no stage wrote it
    (tmp_path / "a.jsonl").write_text(stored + "\n", encoding="utf-8")
    (tmp_path / "manifest.json").write_text('{"command": "clean"}')
    [document] = read_documents([tmp_path / "a.jsonl"])
    if changed:
        document = replace(document, **{changed: CHANGES[changed]})
    assert document.text == "\n".join(document.lines)
    with open(tmp_path / "b.jsonl", "w", encoding="utf-8") as handle:
        write_document(handle, document)
    assert ((tmp_path / "b.jsonl").read_text(encoding="utf-8") == stored + "\n") == (changed is None)
    assert list(read_documents([tmp_path / "b.jsonl"])) == [document]


@pytest.mark.parametrize(
    "command, text", [("mix", "Toux."), ("clean", "Toux.\\n\\nFièvre."), ("clean", "Toux\\r\\nFin")]
)
def test_a_line_that_no_stage_would_write_is_written_anew(tmp_path, command, text):
    stored = f'{{"id": "a",  "source": "s", "licence": "", "text": "{text}"}}'
    (tmp_path / "a.jsonl").write_text(stored, encoding="utf-8")
    (tmp_path / "manifest.json").write_text(f'{{"command": "{command}"}}')
    [document] = read_documents([tmp_path / "a.jsonl"])
    assert document.stored_line == "" and document.text == "\n".join(document.lines)


def test_a_carriage_return_of_json_ends_a_line_only_before_a_newline(tmp_path):
    content = b'{"id": 7, "source": "s", "text": "un\\r\\n\\r\\ndeux\\rtrois"}\n\n'
    assert read(tmp_path / "in.jsonl", content) == [["un", "deux\rtrois"]]


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl"])
def test_bytes_that_are_not_utf8_are_named(tmp_path, name):
    good = '{"id": "1", "source": "s", "text": "été"}\n' if name.endswith("jsonl") else "été\n"
    with pytest.raises(InputError, match=rf"{name}, line 2, byte 3: not UTF-8 \(byte 0xe9\)"):
        read(tmp_path / name, good.encode() + b"t\xc3\xe9t\xe9\n".replace(b"\xc3", b"h"))


@pytest.mark.parametrize(
    "record",
    [
        "pas du JSON",
        "[]",
        '{"id": "1", "source": "s"}',
        '{"id": "1", "text": "a"}',
        '{"id": "1", "source": "s", "text": 5}',
        '{"id": "1", "source": "s", "text": "\\ud800"}',
        '{"id": "1", "source": "s", "text": "a", "note": "\\ud800"}',
        '{"id": null, "source": "s", "text": "a"}',
    ],
)
def test_a_line_that_is_no_document_is_named(tmp_path, record):
    with pytest.raises(InputError, match=r"in.jsonl, line 3: not a document"):
        read(tmp_path / "in.jsonl", b'{"id": "0", "source": "s", "text": "a"}\n\n' + record.encode() + b"\n")


def test_fields_that_are_null_are_empty(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": 1, "source": "s", "licence": null, "date": null, "text": "a"}\n')
    (document,) = read_documents([tmp_path / "in.jsonl"])
    assert (document.licence, document.date) == ("", "")


def test_a_name_that_is_no_utf8_is_written_as_it_can_be(tmp_path):
    file = os.fsencode(tmp_path) + b"/not\xe9.txt"
    with open(file, "w") as handle:
        handle.write("a\n")
    (document,) = read_documents([Path(os.fsdecode(file))])
    assert (document.id, document.source) == ("not\\xe9-1", "not\\xe9")


@pytest.mark.parametrize("name, content", [("in.txt", b" \n\n"), ("in.txt", b""), ("in.jsonl", b"\n")])
def test_a_file_without_a_document_is_refused(tmp_path, name, content):
    with pytest.raises(InputError, match=f"{name}: no document in this file"):
        read(tmp_path / name, content)


@pytest.mark.parametrize("name", ["in.csv", "in.CSV", "in.html.gz", "in.ndjson"])
def test_a_file_of_another_form_is_not_taken_for_plain_text(tmp_path, name):
    (tmp_path / name).write_text("id;texte\n1;Une toux\n")
    with pytest.raises(InputError, match=rf"{name}: its ending says that it is not plain text; .*preprocess\.ingest"):
        list(read_documents([tmp_path / name]))


def test_the_other_forms_are_those_that_ingest_reads():
    assert {suffix for one in FORMATS.values() for suffix in one.suffixes} == OTHER_FORMS | {".txt", ".jsonl"}


def test_the_ending_may_have_capitals(tmp_path):
    assert read(tmp_path / "IN.JSONL", b'{"id": 7, "source": "s", "text": "un"}\n') == [["un"]]


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="absent.txt: no such file"):
        list(read_documents([tmp_path / "absent.txt"]))


def test_size_counts_what_the_file_holds():
    size = Size()
    for document in (Document("1", "s", ["Âge : 54 ans", "fièvre"]), Document("2", "s", ["a"])):
        size.add(document)
    text = "Âge : 54 ans\nfièvre\na\n"
    assert size == Size(documents=2, lines=3, words=6, bytes=len(text.encode()))
    assert str(size) == "2 documents, 3 lines, 6 words, 24 bytes"
