"""HL7 messages and FHIR resources: which documents are in them, what is counted, what is refused."""

import base64
import gzip
import json
import sys

import pytest
import zstandard
from reader_helpers import read

from alibert_common.errors import InputError
from preprocess.readers.content import Content
from preprocess.readers.conversion.hl7_message import read_hl7_message
from preprocess.readers.exchange import hl7 as hl7_v2
from preprocess.readers.formats import also_reads
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import CommandError

pytest.importorskip("hl7")
HEAD = r"MSH|^~\&|DPI|CHU|EDC|CHU|20230214083000||{kind}|{name}|P|2.5|||||FRA|{charset}"
PATIENT = "PID|1||8001234567^^^CHU^PI~191||DUPONT^Jean||19500101|M"
RTF = base64.b64encode(rb"{\rtf1\ansi\ansicpg1252 Le patient va mieux apr\'e8s le traitement.\par}").decode()


def message(*segments, kind="MDM^T02", name="M1", charset="UNICODE UTF-8"):
    return "\r".join([HEAD.format(kind=kind, name=name, charset=charset), PATIENT, *segments]) + "\r"


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_the_text_of_a_message_with_its_id_date_and_patient(tmp_path):
    text = message(
        "TXA|1|CR|TX|20230213101500||||||||DOC42",
        r"OBX|1|FT|11502-2^CR||Motif : toux \T\ fièvre.\.br\Évolution simple.||||||F",
        "OBX|2|TX|11502-2^CR||Premier~Second||||||F",
        "NTE|1||Revu le lendemain.",
    )
    (document,) = read(write(tmp_path / "a.hl7", text)).documents
    assert document.lines == [
        "Motif : toux & fièvre.", "Évolution simple.", "Premier", "Second", "Revu le lendemain.",
    ]  # fmt: skip
    assert (document.id, document.date, document.metadata) == ("DOC42", "2023-02-13", {"patient": "8001234567"})


def test_results_are_rows_with_their_unit_and_range(tmp_path):
    text = message(
        "OBR|1||77|NFS^Numération|||20230101",
        "OBX|1|NM|718-7^Hémoglobine||13.2|g/dL|12-16|||F",
        "OBX|2|CE|600-7^Hémoculture||112283007^Escherichia coli^SCT||||||F",
        "OBX|3|SN|1^CRP||<^5|mg/L||||F",
        "OBX|4|ST|2^Aspect||Limpide||||||F",
        r"OBX|6|CWE|4^Germe||EC^E. coli~SA^S. aureus||||||F",
        r"OBX|7|FT|5^CR||\H\Conclusion\N\ : sain||||||F",
        "OBX|5|NM|3^Fer||||||F",
        kind="ORU^R01",
    )
    (document,) = read(write(tmp_path / "a.hl7", text)).documents
    assert document.lines == [
        "Numération", "Hémoglobine | 13.2 | g/dL | 12-16", "Hémoculture | Escherichia coli", "CRP | < 5 | mg/L",
        "Aspect | Limpide", "Germe | E. coli, S. aureus", "Conclusion : sain",
    ]  # fmt: skip
    assert (document.id, document.date) == ("M1", "2023-01-01")


def test_a_file_inside_a_message_is_read(tmp_path):
    text = message(f"OBX|1|ED|CR^CR||DPI^application^rtf^Base64^{RTF}||||||F")
    assert read(write(tmp_path / "a.hl7", text)).lines == [["Le patient va mieux après le traitement."]]


@pytest.mark.parametrize(
    "segment, reason",
    [
        ("OBX|1|ED|x||^application^rtf^Base64^é||||||F", "a file inside a message that is no base 64"),
        (f"OBX|1|ED|x||^image^png^Base64^{base64.b64encode(b'PNG').decode()}", "a file of no known format inside"),
        ("OBX|1|RP|x||serveur/42||||||F", "a document that lies elsewhere (serveur/42)"),
    ],
)
def test_a_file_inside_a_message_that_cannot_be_read_is_listed(tmp_path, segment, reason):
    path = write(tmp_path / "a.hl7", message(segment) + message("OBX|1|TX|x||Toux.", name="M2"))
    with pytest.raises(InputError, match="a.hl7, message 1"):
        read(path)
    got = read(path, on_error="skip")
    assert got.lines == [["Toux."]] and [one.place for one in got.skipped] == ["message 1"]
    assert got.skipped[0].reason.startswith(reason)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("frame", [("", ""), ("\x0b", "\x1c\r")])
def test_a_batch_is_a_document_for_each_message(tmp_path, monkeypatch, end, frame):
    monkeypatch.setattr(hl7_v2, "CHUNK", 7)  # messages that no chunk holds
    bodies = [message(f"OBX|1|TX|x||Texte {number}.", name=f"M{number}") for number in range(3)]
    batch = "FHS|^~\\&\rBHS|^~\\&\r" + "".join(frame[0] + body + frame[1] for body in bodies) + "BTS|3\rFTS|1\r"
    got = read(write(tmp_path / "lot.dat", batch.replace("\r", end)))
    assert got.ids == ["M0", "M1", "M2"] and got.lines == [["Texte 0."], ["Texte 1."], ["Texte 2."]]


def test_a_line_without_a_segment_belongs_to_the_text_above(tmp_path):
    got = read(write(tmp_path / "a.hl7", message("OBX|1|TX|x||Toux\net fièvre.")))
    assert got.lines == [["Toux", "et fièvre."]]


@pytest.mark.parametrize("charset, encoding", [("8859/1", "latin-1"), ("", "cp1252"), ("", "utf-8")])
def test_the_character_set_is_what_the_message_says_or_is_found(tmp_path, charset, encoding):
    path = write(tmp_path / "a.hl7", message("OBX|1|TX|x||Fièvre à 38°.", charset=charset), encoding)
    assert read(path).lines == [["Fièvre à 38°."]]


def test_a_message_that_says_another_character_set_is_refused(tmp_path):
    path = write(tmp_path / "a.hl7", message("OBX|1|TX|x||Fièvre."), "latin-1")
    with pytest.raises(InputError, match="a.hl7, message 1: an HL7 message in another encoding .*--encoding"):
        read(path)
    assert read(path, encoding="windows-1252").lines == [["Fièvre."]]


def test_a_message_that_is_too_long_is_listed_and_the_next_one_read(tmp_path, monkeypatch):
    monkeypatch.setattr(hl7_v2, "CHUNK", 100)
    monkeypatch.setattr(hl7_v2, "LARGEST", 1000)
    long = message("OBX|1|TX|x||" + "toux " * 2000)
    got = read(write(tmp_path / "a.hl7", long + message("OBX|1|TX|x||Fin.")), on_error="skip")
    assert got.lines == [["Fin."]] and len(got.skipped) == 1 and "more than" in got.skipped[0].reason


def test_a_file_without_a_message_is_refused(tmp_path):
    for name, text in (("a.hl7", "PID|1||7\r"), ("b.hl7", "Toux.")):
        with pytest.raises(InputError, match=f"{name}: a file without an HL7 message"):
            read(write(tmp_path / name, text))
    assert read(write(tmp_path / "vide.hl7", "")).documents == []


def test_without_the_library_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hl7", None)
    with pytest.raises(CommandError, match=r"install it with `pip install 'alibert_fairseq\[hl7\]'`"):
        read_hl7_message(b"MSH|", lambda data, name: None)


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def reference(name, *attachments, **more):
    content = [{"attachment": attachment} for attachment in attachments]
    subject = {"reference": "Patient/7"}
    return {"resourceType": "DocumentReference", "id": name, "subject": subject, "content": content} | more


BINARY = {"resourceType": "Binary", "id": "b1", "contentType": "text/plain", "data": encoded("Toux.\nFièvre.")}
COMPOSITION = {
    "resourceType": "Composition", "id": "c1", "title": "Compte rendu", "date": "2023-02-14T10:00:00+01:00",
    "subject": {"reference": "urn:uuid:9"}, "type": {"coding": [{"display": "CRH"}]},
    "section": [
        {"title": "Motif", "text": {"div": "<div><p>Toux <b>sèche</b>.</p></div>"},
         "section": [{"title": "Détail", "text": {"div": "<div>Depuis 3 jours.</div>"}}]},
        {"title": "Conclusion", "text": {"div": "<div><ul><li>Repos</li><li>Eau</li></ul></div>"}},
    ],
}  # fmt: skip
REPORT = {
    "resourceType": "DiagnosticReport", "id": "r1", "effectiveDateTime": "2022-01-02", "conclusion": "Pas d'anomalie.",
    "text": {"div": "<div>Radiographie normale.</div>"},
}  # fmt: skip


def test_a_bundle_holds_documents_and_the_files_they_name(tmp_path):
    entries = [
        {"fullUrl": "urn:uuid:1", "resource": reference("d1", {"url": "urn:uuid:1b"}, date="2023-01-05")},
        {"fullUrl": "urn:uuid:1b", "resource": BINARY}, {"resource": COMPOSITION}, {"resource": REPORT},
        {"resource": {"resourceType": "Patient", "id": "7"}}, {"resource": reference("d2", status="entered-in-error")},
    ]  # fmt: skip
    path = write(tmp_path / "lot.json", json.dumps({"resourceType": "Bundle", "entry": entries}))
    got = read(path)
    assert got.ids == ["d1", "c1", "r1"] and [one.date for one in got.documents] == [
        "2023-01-05", "2023-02-14", "2022-01-02",
    ]  # fmt: skip
    assert got.lines == [
        ["Toux.", "Fièvre."],
        ["Compte rendu", "Motif", "Toux sèche.", "Détail", "Depuis 3 jours.", "Conclusion", "Repos", "Eau"],
        ["Radiographie normale.", "Pas d'anomalie."],
    ]
    assert [one.metadata for one in got.documents] == [{"patient": "7"}, {"type": "CRH", "patient": "9"}, {}]
    assert got.counts == {
        "FHIR resources that are no document (Binary)": 1, "FHIR resources that are no document (Patient)": 1,
        "FHIR documents entered in error": 1,
    }  # fmt: skip


def test_an_export_in_lines_finds_its_files_in_the_same_folder(tmp_path):
    names = [reference("d1", {"url": "https://ehr.example/fhir/Binary/b1"}), reference("d2", {"url": "Binary/b2"})]
    write(tmp_path / "DocumentReference.ndjson", "\n".join(map(json.dumps, names)))
    write(tmp_path / "Binary.ndjson", json.dumps({"resourceType": "Binary", "id": "a"}) + "\n" + json.dumps(BINARY))
    got = read(tmp_path, on_error="skip")
    assert got.ids == ["d1"] and got.lines == [["Toux.", "Fièvre."]]
    ((_, place, reason),) = got.skipped
    assert place == "line 2, DocumentReference d2" and reason.startswith(
        "an attachment that lies elsewhere (Binary/b2)"
    )


def test_of_several_forms_the_most_exact_is_read(tmp_path):
    rtf, page = (
        {"contentType": "application/rtf", "data": RTF},
        {"contentType": "text/html", "data": encoded("<p>A</p>")},
    )
    empty = {"contentType": "text/plain", "data": encoded(" ")}
    for attachments, lines in (([rtf, page], ["A"]), ([rtf, empty], ["Le patient va mieux après le traitement."])):
        path = write(tmp_path / "a.json", json.dumps(reference("d", *attachments)))
        assert read(path).lines == [lines]


def test_an_attachment_that_cannot_be_read_is_named(tmp_path):
    path = write(tmp_path / "a.json", json.dumps(reference("d", {"contentType": "text/plain", "data": "é"})))
    with pytest.raises(InputError, match="a.json, record 1, DocumentReference d: an attachment that is no base 64"):
        read(path)


def test_json_with_named_fields_is_no_fhir(tmp_path):
    path = write(tmp_path / "a.json", json.dumps(REPORT))
    assert read(path, text="conclusion").lines == [["Pas d'anomalie."]]


def test_the_files_that_a_resource_names_are_inputs_too(tmp_path):
    write(tmp_path / "DocumentReference.ndjson", json.dumps(reference("d", {"url": "Binary/b1"})))
    write(tmp_path / "Binary.ndjson", json.dumps(BINARY))
    path = tmp_path / "DocumentReference.ndjson"
    assert also_reads(path, ReadOptions(format="jsonl")) == [tmp_path / "Binary.ndjson"]
    assert also_reads(tmp_path / "Binary.ndjson", ReadOptions(format="jsonl")) == []


def test_a_patient_may_be_told_by_an_identifier(tmp_path):
    path = write(tmp_path / "a.json", json.dumps(REPORT | {"subject": {"identifier": {"value": "8001"}}}))
    assert read(path).documents[0].metadata == {"patient": "8001"}


def test_a_patient_of_a_bundle_has_the_same_name_in_the_next_one(tmp_path):
    for number in "12":
        patient = {"resourceType": "Patient", "id": number, "identifier": [{"value": "8001"}]}
        report = REPORT | {"id": f"r{number}", "subject": {"reference": f"urn:uuid:{number}"}}
        entries = [{"fullUrl": f"urn:uuid:{number}", "resource": patient}, {"resource": report}]
        write(tmp_path / f"{number}.json", json.dumps({"resourceType": "Bundle", "entry": entries}))
    assert [one.metadata for one in read(tmp_path).documents] == [{"patient": "8001"}, {"patient": "8001"}]


def test_a_patient_is_the_same_in_every_form_of_a_reference(tmp_path):
    patient = {"resourceType": "Patient", "id": "p1", "identifier": [{"value": "8001"}]}
    entries = [{"fullUrl": "urn:uuid:1", "resource": patient}, {"resource": REPORT}]
    for number, said in enumerate(("urn:uuid:1", "Patient/p1", "Patient/p1/_history/3", "https://h/fhir/Patient/p1")):
        entries[1]["resource"] = REPORT | {"id": f"r{number}", "subject": {"reference": said}}
        outer = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Bundle", "entry": entries}}]}
        write(tmp_path / f"{number}.json", json.dumps(outer))
    assert [one.metadata["patient"] for one in read(tmp_path).documents] == ["p1"] * 4


@pytest.mark.parametrize("said, metadata", [("Group/7", {}), ("Patient?identifier=urn:ipp|8001", {"patient": "8001"})])
def test_a_group_is_no_patient_and_an_identifier_may_be_asked_for(tmp_path, said, metadata):
    path = write(tmp_path / "a.json", json.dumps(REPORT | {"subject": {"reference": said}}))
    assert read(path).documents[0].metadata == metadata


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_files_are_found_in_any_order_and_compression(tmp_path, ending):
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[ending]
    binaries = [BINARY | {"id": f"b{number}", "data": encoded(f"Texte {number}.")} for number in range(5)]
    (tmp_path / f"Binary.ndjson{ending}").write_bytes(pack("\n".join(map(json.dumps, binaries)).encode()))
    order = [3, 0, 4, 1, 2]
    names = [reference(f"d{n}", {"url": f"Binary/b{n}/_history/2"}) for n in order]
    write(tmp_path / "DocumentReference.ndjson", "\n".join(map(json.dumps, names)))
    assert read(tmp_path / "DocumentReference.ndjson").lines == [[f"Texte {n}."] for n in order]


def test_a_page_that_cannot_be_read_inside_a_message_is_listed(tmp_path, monkeypatch):
    content = Content(["Toux."], {"id": "M1", "date": "", "patient": ""}, unread=[("page 2", "a torn page", "glue it")])
    monkeypatch.setattr("preprocess.readers.conversion.reader.content_of", lambda *arguments: content)
    path = write(tmp_path / "a.hl7", message("OBX|1|TX|x||Toux."))
    with pytest.raises(InputError, match="a.hl7, message 1, page 2: a torn page; glue it"):
        read(path)
    got = read(path, on_error="skip")
    assert got.lines == [["Toux."]] and [one.place for one in got.skipped] == ["message 1, page 2"]


def test_a_line_of_capitals_is_no_segment(tmp_path):
    lines = ["INDICATION", "Bilan de dyspnée.", "TDM", "Pas d'embolie.", "CRP|12", "OBX", "Fin."]
    text = message("OBX|1|TX|x||" + "\n".join(lines) + "||||||F", "NTE|1||Revu.")
    assert read(write(tmp_path / "a.hl7", text)).lines == [[*lines, "Revu."]]


def test_several_files_and_numbers_of_a_patient(tmp_path):
    other = base64.b64encode(rb"{\rtf1 Suite.\par}").decode()
    text = message(f"OBX|1|ED|CR^CR||^application^rtf^Base64^{RTF}~^application^rtf^Base64^{other}||||||F")
    for numbers in ("2800101^^^INS^INS~8001^^^CHU^PI", "8001^^^CHU^PI~2800101^^^INS^INS"):
        got = read(write(tmp_path / "a.hl7", text.replace("8001234567^^^CHU^PI~191", numbers)))
        assert got.lines == [["Le patient va mieux après le traitement.", "Suite."]]
        assert got.documents[0].metadata == {"patient": "8001"}
    again = message("OBX|1|TX|x||Toux.", PATIENT, "OBX|1|TX|x||Fièvre.")
    assert read(write(tmp_path / "a.hl7", again)).lines == [["Toux.", "Fièvre."]]
    with pytest.raises(InputError, match="a message of several patients"):
        read(write(tmp_path / "a.hl7", again.replace("8001234567", "9", 1)))


@pytest.mark.parametrize("numbers, metadata", [('|""', {}), ('7|""', {"patient": "7"}), ("", {})])
def test_a_number_that_is_none_is_no_patient(tmp_path, numbers, metadata):
    text = message("OBX|1|TX|x||Toux.").replace(PATIENT, f"PID|1|{numbers}")
    assert read(write(tmp_path / "a.hl7", text)).documents[0].metadata == metadata


def test_a_file_that_has_changed_is_read_anew(tmp_path):
    write(tmp_path / "DocumentReference.ndjson", json.dumps(reference("d", {"url": "Binary/b1"})))
    for text in ("Avant.", "Après cela."):
        write(tmp_path / "Binary.ndjson", json.dumps(BINARY | {"data": encoded(text)}))
        assert read(tmp_path / "DocumentReference.ndjson").lines == [[text]]


@pytest.mark.parametrize("identifier, metadata", [([{"value": "8001"}], {"patient": "8001"}), ([], {})])
def test_a_document_may_contain_its_file_and_its_patient(tmp_path, identifier, metadata):
    patient = {"resourceType": "Patient", "id": "p", "identifier": identifier}
    own = reference("d", {"url": "#b1"}, contained=[BINARY, patient], subject={"reference": "#p"})
    got = read(write(tmp_path / "a.json", json.dumps(own)))
    assert got.lines == [["Toux.", "Fièvre."]] and got.documents[0].metadata == metadata


def test_a_file_is_found_by_its_own_id(tmp_path):
    write(tmp_path / "DocumentReference.ndjson", json.dumps(reference("d", {"url": "Binary/b1"})))
    other = {"resourceType": "Binary", "meta": {"tag": [{"id": "b1"}]}, "id": "b0", "data": encoded("Autre.")}
    own = {"resourceType": "Binary", "meta": {"tag": [{"id": "m"}]}} | BINARY
    write(tmp_path / "Binary.ndjson", "\n".join(map(json.dumps, (other, own))))
    assert read(tmp_path / "DocumentReference.ndjson").lines == [["Toux.", "Fièvre."]]


def test_a_byte_order_mark_hides_no_message(tmp_path):
    text = message("OBX|1|TX|x||Toux.") + message("OBX|1|TX|x||Fin.", name="M2")
    for name in ("a.hl7", "b.txt"):
        assert read(write(tmp_path / name, text, "utf-8-sig")).lines == [["Toux."], ["Fin."]]


def test_a_binary_resource_that_is_broken_costs_its_document(tmp_path):
    write(tmp_path / "DocumentReference.ndjson", json.dumps(reference("d", {"url": "Binary/b1"})))
    write(tmp_path / "Binary.ndjson", '{"resourceType": "Binary", "id": "b1", "data": ')
    got = read(tmp_path / "DocumentReference.ndjson", on_error="skip")
    assert not got.documents and got.skipped[0].reason.startswith("a Binary resource that is no JSON object")
