"""Plain text, brat folders and JSON lines become documents, in every encoding that French text comes in."""

import codecs
import gzip

import pytest
import zstandard
from corpus_helpers import one_sentence, run
from reader_helpers import FIXTURES, read

from alibert_common.errors import InputError
from preprocess.readers import text as text_module
from preprocess.readers.records import json_lines

SENTENCE = "L’œdème est apparu à 38 °C."


def test_blank_lines_stand_between_documents(tmp_path):
    (tmp_path / "notes.txt").write_bytes("\ufeffMotif\r\ntoux\r\n\r\n \r\nFièvre\x0cet\u2028toux".encode())
    got = read(tmp_path / "notes.txt")
    assert got.lines == [["Motif", "toux"], ["Fièvre\x0cet\u2028toux"]]
    assert got.ids == ["notes-1", "notes-2"] and {d.source for d in got.documents} == {"notes"}


def test_of_a_brat_folder_each_text_is_a_document():
    got = read(FIXTURES / "brat")
    assert [(d.id, d.source, d.lines) for d in got.documents] == [
        ("cas 1 é", "brat", ["Motif : fièvre.", "Examen : toux."])
    ]
    assert got.counts == {"files beside the texts (.ann)": 1}


def test_one_document_per_file_of_a_file_and_of_a_folder_of_compressed_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "lettre.txt.gz").write_bytes(gzip.compress(b"un\n\ndeux\n"))
    assert read(tmp_path / "a").lines == [["un", "deux"]]
    assert read(tmp_path / "a" / "lettre.txt.gz").lines == [["un"], ["deux"]]
    got = read(tmp_path / "a" / "lettre.txt.gz", one_document_per_file=True)
    assert got.lines == [["un", "deux"]] and got.ids == ["lettre"]


@pytest.mark.parametrize(
    "encoding, python_name",
    [("utf-8", "utf-8"), ("windows-1252", "cp1252"), ("utf-16", "utf-16"), ("auto", "utf-8"), ("auto", "cp1252")],
)
def test_every_encoding_gives_the_same_text(tmp_path, encoding, python_name):
    (tmp_path / "note.txt").write_bytes(f"{SENTENCE}\n\nDeux\n".encode(python_name))
    assert read(tmp_path / "note.txt", encoding=encoding).lines == [[SENTENCE], ["Deux"]]


def test_auto_tells_utf16_by_its_mark_and_counts_what_it_took_each_file_for(tmp_path):
    contents = {"a": "é".encode(), "b": "é".encode("cp1252"), "c": "é".encode("utf-16"), "d": b"e"}
    for name, content in contents.items():
        (tmp_path / f"{name}.txt").write_bytes(content)
    got = read(tmp_path, encoding="auto")
    assert got.lines == [["é"], ["é"], ["é"], ["e"]]
    assert got.notes == {"files read as UTF-8": 2, "files read as Windows-1252": 1, "files read as UTF-16": 1}


def test_auto_looks_at_the_whole_file(tmp_path):
    """A character of two bytes that lies across two of its pieces is still one; a stray byte at the end is none."""
    (tmp_path / "long.txt").write_bytes(b"a" * ((1 << 20) - 1) + "é".encode() + b"\n")
    (tmp_path / "late.txt").write_bytes(b"a" * (1 << 20) + b"\nd\xe9j\xe0")
    (tmp_path / "half.txt").write_bytes(b"a\xc3")
    assert read(tmp_path / "long.txt", encoding="auto").lines[0][0].endswith("aé")
    assert read(tmp_path / "late.txt", encoding="auto").lines[0][1] == "déjà"
    assert read(tmp_path / "half.txt", encoding="auto").lines == [["aÃ"]]


def test_latin_1_keeps_the_control_characters_that_windows_1252_reads_as_signs(tmp_path):
    (tmp_path / "note.txt").write_bytes(b"l\x92oed\xe8me")
    assert read(tmp_path / "note.txt", encoding="latin-1").lines == [["l\x92oedème"]]


@pytest.mark.parametrize(
    "content, encoding, words",
    [
        (b"ok\n\nd\xe9j\xe0\n", "utf-8", r"line 3: not UTF-8 \(byte 2 is 0xe9\); say which encoding .*--encoding"),
        (b"ok\n\nd\x81\n", "windows-1252", r"line 3: not Windows-1252 \(byte 2 is 0x81\)"),
        (codecs.BOM_UTF16_LE + b"a\0\n\0b", "utf-16", "line 2: not UTF-16"),
    ],
)
def test_what_cannot_be_decoded_stops_with_file_line_and_byte(tmp_path, content, encoding, words):
    (tmp_path / "note.txt").write_bytes(content)
    with pytest.raises(InputError, match=f"note.txt, {words}"):
        read(tmp_path / "note.txt", encoding=encoding)


def test_a_document_with_an_undecodable_line_is_skipped_whole_and_listed_once(tmp_path):
    (tmp_path / "note.txt").write_bytes(b"un\n\ndeux\nd\xe9\n\xe9\xe9\ntrois\n\nquatre\n")
    got = read(tmp_path / "note.txt", on_error="skip")
    assert got.lines == [["un"], ["quatre"]] and got.ids == ["note-1", "note-3"]
    remedy = "say which encoding it is with --encoding (windows-1252, latin-1, utf-16, auto)"
    assert got.skipped == [(str(tmp_path / "note.txt"), "line 4", f"not UTF-8 (byte 2 is 0xe9); {remedy}")]
    assert got.counts == {"skipped: not UTF-8": 1}


def test_a_document_without_end_is_not_gathered_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "LONGEST", 10)
    (tmp_path / "note.txt").write_bytes(b"12345\n12345\n1\n\n12345\n12345\n\n1\n")
    got = read(tmp_path / "note.txt", on_error="skip")
    assert got.lines == [["12345", "12345"], ["1"]] and [skipped.place for skipped in got.skipped] == ["line 3"]


@pytest.mark.parametrize("suffix, pack", [("", bytes), (".gz", gzip.compress), (".zst", zstandard.compress)])
def test_json_lines_of_our_own_form_need_no_settings(tmp_path, suffix, pack):
    record = '{"id": 1, "source": "s", "licence": "CC0", "date": "14/02/2023", "text": "a\\n\\nb", "mesh": ["C04"]}\n'
    path = tmp_path / f"in.jsonl{suffix}"
    path.write_bytes(pack(f'{record}\n{{"text": "c"}}\n'.encode()))
    first, second = read(path).documents
    assert (first.id, first.source, first.licence, first.date) == ("1", "s", "CC0", "2023-02-14")
    assert first.lines == ["a", "b"] and first.metadata == {"mesh": ["C04"]}
    assert (second.id, second.source, second.lines) == ("in-3", "in", ["c"])


def test_a_file_of_json_is_a_record_or_an_array_of_them(tmp_path):
    """E3C has a file for each document, with what our own form has: id, source, licence, text."""
    (tmp_path / "FR1.json").write_text(
        '{\n "publication_date": "2013-04-09",\n "id": "FR1",\n "source": "PAMJ", "licence": "CC BY 4.0",\n'
        ' "language": "fr",\n "text": "Un homme\\ntousse."\n}', encoding="utf-8"
    )  # fmt: skip
    (document,) = read(tmp_path / "FR1.json", date="publication_date").documents
    assert (document.id, document.source, document.licence, document.date) == ("FR1", "PAMJ", "CC BY 4.0", "2013-04-09")
    assert document.lines == ["Un homme", "tousse."] and document.metadata == {"language": "fr"}
    (tmp_path / "x.json").write_text('[{"text": "a"}, 5, {"text": "b"}]')
    got = read(tmp_path / "x.json", on_error="skip")
    assert got.lines == [["a"], ["b"]] and got.ids == ["x-1", "x-3"]
    assert [(one.place, one.reason.partition(";")[0]) for one in got.skipped] == [("record 2", "not a JSON object")]


@pytest.mark.parametrize(
    "content, words",
    [
        (b"[1,", r"x.json: not JSON \(Expecting value"),
        (b'{"text":\n"\xe9"}', "x.json, line 2: not UTF-8"),
        (b"[" * 5000 + b"]" * 5000, "x.json: more than 100 levels of brackets"),
        (b'{"text": "a"}\n{"text": "b"}', "x.json: not JSON .Extra data"),
    ],
)
def test_a_file_that_is_no_json_is_refused_or_listed_whole(tmp_path, content, words):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "x.json")
    assert read(tmp_path / "x.json", on_error="skip").counts == {
        "skipped: a whole file": 1,
        "files without a document": 1,
    }


def test_a_file_of_json_has_a_size(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "LONGEST", 10)
    (tmp_path / "x.json").write_text('[{"text": "a"},\n{"text": "b"}]')
    with pytest.raises(InputError, match=r"line 1: a file of more than .* MB; write an object a line, as `jq -c"):
        read(tmp_path / "x.json")


def test_the_fields_of_foreign_json_lines_are_named():
    got = read(FIXTURES / "cas.jsonl", text=["titre", "corps.parties.texte"], id="pmid", date="année")
    assert got.lines == [["Un cas", "Motif : toux.", "Examen normal.", "Sortie."], ["Autre cas"]]
    assert [(d.id, d.source, d.date) for d in got.documents] == [("7", "revue", "2020"), ("cas-2", "cas", "")]
    assert [d.metadata for d in got.documents] == [{"mots": ["toux"]}, {}]
    named = read(FIXTURES / "cas.jsonl", text="titre", metadata={"year": "année", "first": "corps.parties.texte"})
    assert named.documents[0].metadata == {"year": 2020, "first": ["Motif : toux.", "Examen normal.\nSortie."]}


def test_of_several_text_fields_a_record_may_lack_some_which_is_counted(tmp_path):
    """HAL leaves out what is not there."""
    (tmp_path / "in.jsonl").write_text('{"titre": "a", "corps": "b", "n": 1}\n{"titre": "c", "n": null}\n{"n": 3}\n')
    got = read(tmp_path / "in.jsonl", text=["titre", "corps"], id="n", date="jour", on_error="skip")
    assert got.lines == [["a", "b"], ["c"]] and got.ids == ["1", "in-2"]
    assert got.counts == {"skipped: no field 'titre' and no field 'corps'": 1}
    assert got.notes == {"records that lack 'corps'": 1, "records that lack 'jour'": 2}


def test_a_field_of_the_source_never_takes_the_place_of_a_documents_own(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": "a", "pmid": "b", "body": "t", "text": "u"}\n')
    (document,) = read(tmp_path / "in.jsonl", id="pmid", text="body").documents
    assert document.id == "b" and document.metadata == {"other_id": "a", "other_text": "u"}


@pytest.mark.parametrize(
    "line, reason",
    [
        ("pas du JSON", "not JSON"),
        ('{"text": "a"', "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"titre": "a"}', "no field 'text'"),
        ('{"text": 5}', "field 'text' is not text"),
        ('{"text": [["a"]]}', "field 'text' is not text"),
        ('{"text": "\\ud800"}', "half a character"),
        ('{"text": "a", "note": "\\uDfff"}', "half a character"),
        ('{"text": "a", "x": ' + "[" * 5000 + "]" * 5000 + "}", "more than 100 levels of brackets"),
        ("[" * 100_000, "more than 100 levels of brackets"),
        ('{"text": "a", "x": ' + "[" * 100 + "]" * 100 + "}", "more than 100 levels of brackets"),
    ],
)
def test_a_line_that_is_no_record_is_named_or_listed(tmp_path, line, reason):
    (tmp_path / "in.jsonl").write_text(f'{{"text": "a"}}\n{line}\n{{"text": "b"}}\n')
    with pytest.raises(InputError, match=rf"in.jsonl, line 2: {reason}.*--on-error skip\.$"):
        read(tmp_path / "in.jsonl")
    got = read(tmp_path / "in.jsonl", on_error="skip")
    assert got.lines == [["a"], ["b"]] and got.counts == {f"skipped: {reason}": 1}
    assert [(skipped.place, skipped.reason.startswith(reason)) for skipped in got.skipped] == [("line 2", True)]


def test_whole_pairs_of_surrogates_are_a_character_and_texts_may_hold_brackets(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "\\ud83d\\ude00"}\n{"text": "' + "[]" * 500 + '"}\n')
    assert read(tmp_path / "in.jsonl").lines == [["😀"], ["[]" * 500]]


def test_of_a_file_with_a_wrong_checksum_nothing_is_kept_of_one_cut_short_what_is_there(tmp_path):
    lines = "".join(f'{{"text": "fievre {n}"}}\n' for n in range(1000)).encode()
    stored = gzip.compress(lines, 0)  # not packed at all, so that another letter is another letter
    (tmp_path / "a.jsonl.gz").write_bytes(stored.replace(b"fievre 3", b"lievre 3", 1))
    got = read(tmp_path / "a.jsonl.gz", on_error="skip")
    assert not got.documents and got.counts == {"skipped: a whole file": 1, "files without a document": 1}
    (tmp_path / "a.jsonl.gz").write_bytes(stored[:-1000])
    got = read(tmp_path / "a.jsonl.gz", on_error="skip")
    assert 900 < len(got.documents) < 1000 and got.lines[-1] == [f"fievre {len(got.documents) - 1}"]
    assert got.counts == {"skipped: the rest of a file": 1} and got.skipped[0].place.startswith("after record 9")


def test_nul_characters_stay_for_clean_and_empty_texts_are_counted(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "para\\u0000c\\u00e9tamol"}\n{"text": " \\n"}\n{"text": null}\n')
    (tmp_path / "in.txt").write_bytes(b"para\0c")
    got = read(tmp_path / "in.jsonl")
    assert got.lines == [["para\0cétamol"]] and got.counts == {"records without text (jsonl)": 2}
    assert read(tmp_path / "in.txt").lines == [["para\0c"]]


def test_a_refusal_in_utf_16_is_one_sentence(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "un"}\nnon\n' + '{"text": "deux"}\n' * 20, encoding="utf-16")
    words = ("--output", tmp_path / "out", "--workers", "1", "--encoding", "utf-16")
    assert "line 2: not JSON" in one_sentence(run("preprocess.ingest", tmp_path / "a.jsonl", *words))
