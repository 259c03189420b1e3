"""Files that are not the text they are taken for are refused in one sentence; every encoding and line end is read."""

import io
import os
import zipfile
from pathlib import Path

import pytest
from corpus_helpers import one_sentence, run
from reader_helpers import read

from alibert_common.errors import InputError
from alibert_common.json_value import DEEPEST
from preprocess.documents.document import read_documents
from preprocess.documents.first_bytes import wide_encoding

TEXT = "L’œdème est apparu à 38 °C.\nToux.\n\nFièvre depuis trois jours.\n"
LINES = [["L’œdème est apparu à 38 °C.", "Toux."], ["Fièvre depuis trois jours."]]


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8-sig", "cp1252"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_auto_reads_every_encoding_and_line_end(tmp_path, encoding, end):
    (tmp_path / "note.txt").write_bytes(TEXT.replace("\n", end).encode(encoding))
    got = read(tmp_path / "note.txt", encoding="auto")
    assert got.lines == LINES
    assert got.notes.get("files whose lines end with CR alone", 0) == (end == "\r")
    wide = encoding[:6] if encoding.startswith(("utf-16", "utf-32")) else ""
    assert not wide or got.notes[f"files read as {wide.upper()}"] == 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-32"])
def test_a_page_without_a_byte_order_mark_is_read(tmp_path, encoding):
    (tmp_path / "page.html").write_bytes("<html><body><p>L’œdème, à 38 °C.</p></body></html>".encode(encoding))
    assert read(tmp_path / "page.html").lines == [["L’œdème, à 38 °C."]]


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-32-le"])
def test_xml_without_a_byte_order_mark_is_read(tmp_path, encoding):
    (tmp_path / "a.xml").write_bytes("<x><r><t>L’œdème, à 38 °C.</t></r></x>".encode(encoding))
    assert read(tmp_path / "a.xml", format="xml", record="r", text="t", encoding="auto").lines == [
        ["L’œdème, à 38 °C."]
    ]


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le"])
def test_utf16_is_read_in_either_order_of_bytes(tmp_path, encoding):
    (tmp_path / "note.txt").write_bytes(TEXT.encode(encoding))
    assert read(tmp_path / "note.txt", encoding="utf-16").lines == LINES


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_stages_than_ingest_refuse_wide_encodings_and_name_ingest(tmp_path, encoding):
    (tmp_path / "note.txt").write_bytes(("Toux grasse depuis hier.\n\nTout va bien.\n" * 5).encode(encoding))
    with pytest.raises(InputError, match="note.txt: UTF-16 or UTF-32, not UTF-8; .*ingest --encoding auto"):
        list(read_documents([tmp_path / "note.txt"]))


def test_a_text_about_the_receptor_par1_is_no_parquet_file(tmp_path):
    """Parquet begins with the same letters; it was refused."""
    (tmp_path / "note.txt").write_text("PAR1 est un récepteur de la thrombine.\n", encoding="utf-8")
    assert read(tmp_path / "note.txt").lines == [["PAR1 est un récepteur de la thrombine."]]


@pytest.mark.parametrize("given", ["", "windows-1252", "latin-1"])
def test_utf16_that_is_named_otherwise_is_refused(tmp_path, given):
    (tmp_path / "note.txt").write_bytes("Le patient tousse beaucoup.\n".encode("utf-16-le"))
    with pytest.raises(InputError, match="note.txt: not .* but UTF-16; give --encoding auto"):
        read(tmp_path / "note.txt", encoding=given)


def test_few_nuls_are_no_sign_of_utf16():
    assert wide_encoding(b"para\0c\xc3\xa9tamol\0 500 mg") == "" and wide_encoding(b"\0" * 4096) == ""
    assert wide_encoding(b"") == wide_encoding(b"\0") == ""


def test_plain_text_whose_lines_end_with_cr_alone_is_read_by_every_stage(tmp_path):
    (tmp_path / "note.txt").write_bytes(TEXT.replace("\n", "\r").encode())
    assert [document.lines for document in read_documents([tmp_path / "note.txt"])] == LINES


def test_one_lf_in_a_file_of_cr_does_not_join_its_lines(tmp_path):
    (tmp_path / "note.txt").write_bytes("Toux.\rFièvre.\rDyspnée.\nŒdème.\r\r".encode())
    assert read(tmp_path / "note.txt").lines == [["Toux.", "Fièvre.", "Dyspnée.", "Œdème."]]


def test_two_crs_before_each_lf_are_one_end(tmp_path):
    """A file that was converted twice, with a CR of its own."""
    (tmp_path / "note.txt").write_bytes("Toux\rsèche.\r\r\nFièvre.\r\r\nDyspnée.\r\r\n".encode())
    assert read(tmp_path / "note.txt").lines == [["Toux\rsèche.", "Fièvre.", "Dyspnée."]]


def test_a_lone_cr_ends_no_line_of_a_file_of_lf(tmp_path):
    (tmp_path / "note.txt").write_bytes("Toux\rsèche.\nFièvre.\r\nDyspnée.\n".encode())
    assert read(tmp_path / "note.txt").lines == [["Toux\rsèche.", "Fièvre.", "Dyspnée."]]


def zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("word/document.xml", "<w:t>Le patient tousse.</w:t>" * 100)
    return content.getvalue()


BINARY = {
    "zip archive or an office file": zipped(),
    "is an RTF file": b"\xef\xbb\xbf\r\n" + rb"{\rtf1\ansi Le patient tousse.\par}",  # after a blank line
    "RTF file": rb"{\rtf1\ansi Le patient tousse.\par}",
    "PDF file": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "older Microsoft Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000),
    "binary data": bytes(range(32)) * 100,
    "gzip file": b"\x1f\x8b\x08\x00 Le patient",
}


@pytest.mark.parametrize("kind", BINARY)
def test_a_binary_file_is_no_text(tmp_path, kind):
    (tmp_path / "note.txt").write_bytes(BINARY[kind])
    for encoding in ("", "windows-1252", "auto"):
        with pytest.raises(InputError, match=f"note.txt: .*{kind}.*not text"):
            read(tmp_path / "note.txt", format="text", encoding=encoding)
    if not kind.endswith(("PDF file", "RTF file", "an office file")):  # ingest reads those by their content
        with pytest.raises(InputError, match=f"note.txt: .*{kind}.*not text"):
            read(tmp_path)
    with pytest.raises(InputError, match=f"note.txt: .*{kind}.*not text"):
        list(read_documents([tmp_path / "note.txt"]))
    with pytest.raises(InputError, match=f"note.txt: .*{kind}.*not text"):
        read(tmp_path / "note.txt", format="html")


def test_a_binary_file_of_a_folder_is_skipped_when_asked_and_listed(tmp_path):
    (tmp_path / "a.txt").write_bytes(BINARY["older Microsoft Office file"])
    (tmp_path / "b.txt").write_text("Le patient tousse.\n")
    got = read(tmp_path, on_error="skip")
    assert got.lines == [["Le patient tousse."]]
    assert [(Path(one.file).name, "Office" in one.reason) for one in got.skipped] == [("a.txt", True)]


def test_a_device_or_a_pipe_is_refused_and_not_read_for_ever(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (Path("/dev/zero"), tmp_path / "pipe.txt"):
        refusal = f"{path}: is a device, pipe or socket; give a regular file"
        with pytest.raises(InputError, match=refusal):
            read(path, format="text")
        with pytest.raises(InputError, match=refusal):
            next(read_documents([path]))


@pytest.mark.parametrize("stage", ["clean", "mix"])
@pytest.mark.parametrize("depth", [DEEPEST, 500, 100_000])
def test_deeply_nested_json_is_refused_in_one_sentence(tmp_path, stage, depth):
    nested = f'{{"id": "1", "source": "a", "text": "Le patient tousse.", "more": {"[" * depth}{"]" * depth}}}'
    (tmp_path / "a.jsonl").write_text(nested + "\n")
    sentence = one_sentence(run(f"preprocess.{stage}", tmp_path / "a.jsonl", "--output", tmp_path / "out"))
    assert f"a.jsonl, line 1: not a document (more than {DEEPEST} levels of brackets)" in sentence
