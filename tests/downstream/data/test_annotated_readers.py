"""Readers: every entity with the offsets of the file, and one sentence for what cannot be read."""

import json
from collections import Counter

import pytest

from alibert_common.errors import InputError
from downstream.data.annotated_text import Entity, Labels
from downstream.data.readers import ENTITIES

TYPES = Labels(("anatomy", "symptom"))


def read_split(format, path, labels):
    """The documents, and counts of what was read past."""
    counts = Counter()
    documents = ENTITIES[format](path, labels, counts)
    labels.refuse_unknown()
    return documents, counts


def brat(folder, text, *lines, name="one"):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def refused(format, path, labels=TYPES):
    with pytest.raises(InputError) as error:
        read_split(format, path, labels)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def test_brat_keeps_raw_offsets_fragments_and_order(tmp_path):
    text = "\ufeffŒdème du foie\r\net de la rate 🫀"
    lines = ["T1\tsymptom 1 6\tŒdème", "#1\tAnnotatorNotes T1\tC00", "T2\tanatomy 25 29;10 14\trate foie"]
    [document], counts = read_split("brat", brat(tmp_path / "a", text, *lines), TYPES)
    assert document.text == text
    assert document.entities == [Entity("symptom", ((1, 6),)), Entity("anatomy", ((10, 14), (25, 29)))]
    assert counts["annotation lines that are not entities"] == 1


def test_brat_writes_a_line_break_inside_an_entity_as_a_space(tmp_path):
    [document], _ = read_split("brat", brat(tmp_path / "a", "le\nfoie", "T1\tanatomy 0 7\tle foie"), TYPES)
    assert document.entities == [Entity("anatomy", ((0, 7),))]


def test_brat_reads_subfolders_in_order_and_counts_texts_never_annotated(tmp_path):
    brat(tmp_path / "b", "foie")
    brat(tmp_path / "a", "rate")
    (tmp_path / "c.txt").write_text("jamais annoté")
    documents, counts = read_split("brat", tmp_path, TYPES)
    assert [document.id for document in documents] == ["a/one", "b/one"]
    assert counts["documents without .ann left out"] == 1


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("T1\tanatomy 0 4\trate", "'foie' but the line says 'rate'"),
        ("T1\tanatomy 0 9\tfoie gras", "lie outside the 4 characters"),
        ("T1\tanatomy 2 2\t", "lie outside"),
        ("T1\tanatomy 0\tfoie", "not an entity line"),
        ("T1 anatomy 0 4 foie", "not an entity line"),
        ("T1\tpathology 0 4\tfoie", "'pathology' is not known to the recipe"),
    ],
)
def test_brat_names_file_and_line_of_a_bad_entity(tmp_path, line, complaint):
    sentence = refused("brat", brat(tmp_path / "a", "foie", "T0\tanatomy 0 4\tfoie", line))
    assert "one.ann, line 2" in sentence and complaint in sentence


def test_brat_reads_a_single_text_and_wants_its_name(tmp_path):
    folder = brat(tmp_path / "a", "foie", "T1\tanatomy 0 4\tfoie")
    [document], _ = read_split("brat", folder / "one.txt", TYPES)
    assert document.id == "one" and document.entities == [Entity("anatomy", ((0, 4),))]
    assert "given as its .txt" in refused("brat", folder / "one.ann")


def test_brat_annotations_without_their_text_are_refused(tmp_path):
    folder = brat(tmp_path / "a", "foie")
    (folder / "two.ann").write_text("")
    assert "no two.txt beside it" in refused("brat", folder)


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    folder = brat(tmp_path / "a", "foie")
    (folder / "one.txt").write_bytes("foie\nfièvre".encode("latin-1"))
    assert "one.txt, line 2: byte 3 (0xe8) is not UTF-8" in refused("brat", folder)


def test_types_are_renamed_and_ignored_by_the_recipe_and_counted(tmp_path):
    labels = Labels(("anatomy",), {"ANAT": "anatomy"}, ("CHEM",))
    folder = brat(tmp_path / "a", "foie zinc", "T1\tANAT 0 4\tfoie", "T2\tCHEM 5 9\tzinc")
    [document], counts = read_split("brat", folder, labels)
    assert document.entities == [Entity("anatomy", ((0, 4),))]
    assert counts["entities of an ignored type"] == 1


COLUMNS = {  # "le [foie droit]anatomy [foie]anatomy [toux]symptom ." in each scheme
    "IOB2": "O B-anatomy I-anatomy B-anatomy B-symptom O",
    "IOB1": "O I-anatomy I-anatomy B-anatomy I-symptom O",
    "IOBES": "O B-anatomy E-anatomy S-anatomy S-symptom O",
    "IOE2": "O I-anatomy E-anatomy E-anatomy E-symptom O",
    "BILOU": "O B-anatomy L-anatomy U-anatomy U-symptom O",
}


@pytest.mark.parametrize("scheme", COLUMNS)
@pytest.mark.parametrize("separator", [" ", "\t", " POS _ "])
def test_columns_of_every_scheme_give_the_same_entities(tmp_path, scheme, separator):
    rows = zip("le foie droit foie toux .".split(), COLUMNS[scheme].split(), strict=True)
    (tmp_path / "a.conll").write_text("\n".join(token + separator + tag for token, tag in rows) + "\n")
    [document], counts = read_split("iob", tmp_path, TYPES)
    assert document.text == "le foie droit foie toux.\n"
    found = [(document.text[one.start : one.end], one.label) for one in document.entities]
    assert found == [("foie droit", "anatomy"), ("foie", "anatomy"), ("toux", "symptom")]
    assert counts["entities opened by an I"] == {"IOB1": 2, "IOE2": 3}.get(scheme, 0)


def test_columns_without_b_split_only_at_another_type(tmp_path):
    (tmp_path / "a.iob").write_text("foie I-anatomy\nrate I-anatomy\ntoux I-symptom\n\nfoie I-anatomy\n")
    documents, _ = read_split("iob", tmp_path / "a.iob", TYPES)
    found = [document.text[one.start : one.end] for document in documents for one in document.entities]
    assert found == ["foie rate", "toux", "foie"]


def test_columns_sentences_are_lines_and_docstart_begins_a_document(tmp_path):
    (tmp_path / "a.tsv").write_text(
        "-DOCSTART-\tO\n\nfoie\tB-anatomy\r\n\n\nrate\tB-anatomy\n-DOCSTART-\tO\n\ntoux\tO\n"
    )
    documents, _ = read_split("iob", tmp_path, TYPES)
    assert [document.text for document in documents] == ["foie\nrate\n", "toux\n"]


def test_columns_of_an_ignored_type_are_counted_once_an_entity(tmp_path):
    (tmp_path / "a.iob").write_text("a B-x\nb I-x\nc B-x\n")
    [document], counts = read_split("iob", tmp_path, Labels(("anatomy",), {}, ("x",)))
    assert document.entities == [] and counts["entities of an ignored type"] == 2


@pytest.mark.parametrize(
    "row, complaint",
    [
        ("seul", "a token and a label are needed"),
        ("\tO", "a token and a label are needed"),
        ("foie X-anatomy", "'X-anatomy' is not a label"),
        ("foie B-", "'B-' is not a label"),
        ("foie anatomy", "'anatomy' is not a label"),
        ("foie B-pathology", "'pathology' is not known"),
    ],
)
def test_columns_name_file_and_line_of_a_bad_row(tmp_path, row, complaint):
    (tmp_path / "a.iob").write_text(f"le O\n{row}\n")
    sentence = refused("iob", tmp_path)
    assert "a.iob, line 2" in sentence and complaint in sentence


def test_json_lines(tmp_path):
    record = {"id": "n1", "text": "Le foie.", "entities": [{"start": 3, "end": 7, "label": "anatomy"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n\n" + json.dumps({"text": "Rien.", "entities": []}))
    documents, _ = read_split("jsonl", tmp_path, TYPES)
    assert [document.id for document in documents] == ["n1", "a-3"]
    assert documents[0].entities == [Entity("anatomy", ((3, 7),))]


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("{", "not JSON"),
        ('"foie"', "not an object"),
        ("[" * 100_000, "nested brackets"),
        ('{"text": "foie", "entities": [], "id": ' + "1" * 5000 + "}", "a number of thousands of digits"),
        (r'{"text": "\udc00foie", "entities": []}', r"half of a character (\ud800 to \udfff)"),
        ('{"text": "foie"}', "not a document"),
        ('{"text": 3, "entities": []}', "not a document"),
        ('{"text": "foie", "entities": [{"start": "0", "end": 4, "label": "anatomy"}]}', "not a document"),
        ('{"text": "foie", "entities": [{"start": 0, "end": 4, "label": ["anatomy"]}]}', "not a document"),
        ('{"text": "foie", "entities": [{"start": 0, "end": 4, "label": {}}]}', "not a document"),
        ('{"text": "foie", "entities": [{"start": 0, "end": 5, "label": "anatomy"}]}', "lie outside"),
        ('{"text": "foie", "entities": [{"start": 0, "end": 4, "label": "x"}]}', "'x' is not known"),
    ],
)
def test_json_lines_name_file_and_line_of_a_bad_record(tmp_path, line, complaint):
    (tmp_path / "a.jsonl").write_text('{"text": "", "entities": []}\n' + line)
    sentence = refused("jsonl", tmp_path)
    assert "a.jsonl, line 2" in sentence and complaint in sentence


def test_quaero_counts_are_those_of_its_authors(shared_data):
    folder = shared_data / "fr_ner" / "quaero"
    labels = Labels(tuple("ANAT CHEM DEVI DISO GEOG LIVB OBJC PHEN PHYS PROC".split()))
    documents, _ = read_split("brat", folder, labels)
    entities = [entity for document in documents for entity in document.entities]
    assert (len(documents), len(entities)) == (11 + 12 + 15 + 833 + 832 + 833, 16233)
    assert sum(len(entity.fragments) > 1 for entity in entities) == 141
    assert sum(len(document.text.split()) for document in documents) == 72183
