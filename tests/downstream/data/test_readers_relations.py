"""Readers of relations: two mentions at the offsets of the text, and one sentence for what cannot be read."""

import json

import pytest
from item_helpers import read_items, refused

from downstream.data.annotated_text import Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers import RELATIONS

LABELS = Labels(("false", "effect", "none", "positive"), {"negative": "none"}, ("true",))


def quoted(item):
    return tuple(item.text[one.start : one.end] for one in item.mentions)


def chemprot(folder, *texts, label="effect"):
    lines = [json.dumps({"text": text, "label": label, "metadata": []}) for text in texts]
    (folder / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder / "a.txt"


def test_chemprot_mentions_are_offsets_without_the_signs(tmp_path):
    texts = ("La [[ codéine ]] et <<le>> << foie gras >>.", "<< A >>[[ [b]c ]] >> D", "[[ A ]] [[(b)] << C >>")
    items, _ = read_items(RELATIONS["chemprot"], chemprot(tmp_path, *texts), LABELS)
    assert [item.text for item in items] == ["La codéine et <<le>> foie gras.", "A[b]c >> D", "A [[(b)] C"]
    assert [quoted(item) for item in items] == [("foie gras", "codéine"), ("A", "[b]c"), ("C", "A")]
    assert items[0] == Relation(
        "a-1", items[0].text, "effect", (Mention(21, 30, "ENTITY"), Mention(3, 10, "ENTITY")), items[0].text
    )


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("A << B >>", "one << mention >> and one [[ mention ]]"),
        ("<< A >> [[ B", "one << mention >> and one [[ mention ]]"),
        ("<< A >> << B >> [[ C ]]", "one << mention >> and one [[ mention ]]"),
        ("<< A [[ B ]] >>", "overlap"),
    ],
)
def test_chemprot_sentences_with_other_signs_are_refused(tmp_path, text, complaint):
    sentence = refused(RELATIONS["chemprot"], chemprot(tmp_path, "<< A >> [[ B ]]", text), LABELS)
    assert "a.txt, line 2" in sentence and complaint in sentence


def test_chemprot_labels(tmp_path):
    file = chemprot(tmp_path, "<< A >> [[ B ]]", label="effect")
    file.write_text(file.read_text() + "\n" + file.read_text().replace("effect", "true"))
    items, counts = read_items(RELATIONS["chemprot"], file, LABELS)
    assert len(items) == counts["relations of an ignored type"] == 1
    sentence = refused(RELATIONS["chemprot"], chemprot(tmp_path, "<< A >> [[ B ]]", label="x"), LABELS)
    assert "line 1: 'x' is not known to the recipe, whose types of relations are" in sentence
    (tmp_path / "a.txt").write_text('{"text": "<< A >> [[ B ]]"}')
    assert "line 1: the key 'label' is missing" in refused(RELATIONS["chemprot"], tmp_path / "a.txt", LABELS)
    (tmp_path / "a.txt").write_text('{"label": "effect"}')
    assert "line 1: the key 'text' is missing" in refused(RELATIONS["chemprot"], tmp_path / "a.txt", LABELS)
    (tmp_path / "a.txt").write_bytes('{"label": "é"}\n'.encode() + '{"label": "é"}\n'.encode("latin-1"))
    assert "a.txt, line 2: byte" in refused(RELATIONS["chemprot"], tmp_path / "a.txt", Labels(("é",), {}, ()))


ENTITY = '<entity id="{}" charOffset="{}" type="drug" text="{}"/>'
AB = ENTITY.format("e0", "0-6", "Aspirin") + ENTITY.format("e1", "12-17;24-25", "insulin B")
PAIR = '<pair id="p{}" e1="e1" e2="e0" {}/>'


def ddi(folder, inside, text="Aspirin and insulin A or B.", name="a"):
    folder.mkdir(exist_ok=True)
    sentence = f'<sentence id="d1.s0" text="{text}">{inside}</sentence>'
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n<document id="d1">\n{sentence}\n</document>'
    (folder / f"{name}.xml").write_text(content, encoding="utf-8")
    return folder


def test_ddi_pairs_with_types_and_hulls_in_the_order_of_the_arguments(tmp_path):
    pairs = ['ddi="true" type="effect"', 'ddi="false"', 'ddi="true"']
    inside = AB + "".join(PAIR.format(number, pair) for number, pair in enumerate(pairs))
    items, counts = read_items(RELATIONS["ddi"], ddi(tmp_path / "x", inside), LABELS)
    assert [(item.id, item.label, item.group) for item in items] == [("p0", "effect", "d1"), ("p1", "false", "d1")]
    assert items[0].mentions == (Mention(12, 26, "drug"), Mention(0, 7, "drug"))
    assert quoted(items[0]) == ("insulin A or B", "Aspirin")
    assert (counts["discontinuous mentions (hull)"], counts["relations of an ignored type"]) == (1, 1)


@pytest.mark.parametrize(
    "inside, complaint",
    [
        (AB + PAIR.format(0, 'ddi="true" type="x"'), "a.xml, line 3: 'x' is not known"),
        (AB + '<pair id="p0" e1="e1" e2="e7" ddi="false"/>', "a.xml, line 3: the pair 'p0' has an entity"),
        (AB + '<pair id="p0" e1="e1" e2="e0"/>', "a.xml, line 3: a <pair> has no ddi"),
        (AB + PAIR.format(0, 'ddi="false"') + PAIR.format(0, 'ddi="true" type="effect"'), "the id 'p0' is that of"),
        (AB.replace(' type="drug"', ""), "a.xml, line 3: a <entity> has no type"),
        (AB.replace(' id="e0"', ""), "a.xml, line 3: a <entity> has no id"),
        (ENTITY.format("e0", "20-26;30-90", "A"), "a.xml, line 3: offsets 30-90 lie outside the 27 characters"),
        (ENTITY.format("e0", "0:7", "Aspirin"), "a.xml, line 3: not offsets of the form"),
        ("</sentence>", "a.xml, line 3: not XML"),
    ],
)
def test_ddi_names_file_and_place_of_what_is_bad(tmp_path, inside, complaint):
    assert complaint in refused(RELATIONS["ddi"], ddi(tmp_path / "x", inside), LABELS)


def test_ddi_mentions_whose_text_is_elsewhere_are_counted_and_their_pairs_kept_at_the_offsets(tmp_path):
    inside = AB.replace('"Aspirin"', '"Insulin"').replace('"insulin B"', '"insulin  C"') + PAIR.format(0, 'ddi="false"')
    [item], counts = read_items(RELATIONS["ddi"], ddi(tmp_path / "x", inside), LABELS)
    assert quoted(item) == ("insulin A or B", "Aspirin")
    assert counts["mentions whose text is not at their offsets"] == 2


def test_ddi_in_mixed_encodings_is_refused_and_a_declared_one_is_kept(tmp_path):
    folder = ddi(tmp_path / "x", AB)
    (folder / "a.xml").write_bytes("<document>\né\n".encode() + "é</document>".encode("latin-1"))
    assert "a.xml, line 3: not XML (" in refused(RELATIONS["ddi"], folder, LABELS)
    ddi(tmp_path / "x", AB + PAIR.format(0, 'ddi="false"'), "Aspirin and insuliné or B.")
    content = (folder / "a.xml").read_text().replace("UTF-8", "ISO-8859-1")
    (folder / "a.xml").write_bytes(content.encode("latin-1"))
    [item], _ = read_items(RELATIONS["ddi"], folder, LABELS)
    assert item.text == "Aspirin and insuliné or B."


def test_ddi_folder_whose_pairs_are_not_annotated_is_refused(tmp_path):
    inside = AB + PAIR.format(0, 'ddi="false"')
    folder = ddi(tmp_path / "Test for DrugNER task", inside)
    for path in (tmp_path, folder, folder / "a.xml"):
        assert "give 'Test for DDI Extraction task'" in refused(RELATIONS["ddi"], path, LABELS)


def test_ddi_pairs_of_one_file(tmp_path):
    folder = ddi(tmp_path / "x", AB + PAIR.format(0, 'ddi="false"'))
    assert len(read_items(RELATIONS["ddi"], folder / "a.xml", LABELS)[0]) == 1


def euadr(folder, *relations):
    record = {
        "id": "train_0_0",
        "text": "@GENE$ et @DISEASE$",
        "relation": [{"relation_type": one} for one in relations],
    }
    (folder / "train_0.json").write_text(json.dumps(record) + "\n")
    return folder / "train_0.json"


def test_euadr_sentences_have_their_mentions_replaced(tmp_path):
    items, _ = read_items(RELATIONS["euadr"], euadr(tmp_path, "negative"), LABELS)
    assert items == [Relation("train_0_0", "@GENE$ et @DISEASE$", "none")]


@pytest.mark.parametrize(
    "relations, complaint",
    [
        ((), "0 relations"),
        (("positive", "positive"), "2 relations"),
        (("x",), "'x' is not known"),
        ((1,), "relation_type"),
    ],
)
def test_euadr_names_file_and_line_of_a_bad_sentence(tmp_path, relations, complaint):
    sentence = refused(RELATIONS["euadr"], euadr(tmp_path, *relations), LABELS)
    assert "train_0.json, line 1" in sentence and complaint in sentence


def test_euadr_ids_of_two_sentences_are_refused(tmp_path):
    file = euadr(tmp_path, "positive")
    file.write_text(file.read_text() + file.read_text().replace(" et ", " ou "))
    assert "train_0.json, line 2: the id 'train_0_0'" in refused(RELATIONS["euadr"], file, LABELS)


def test_biobert_files_with_and_without_names_of_columns(tmp_path):
    labels = Labels(("0", "1"))
    (tmp_path / "train.tsv").write_text('"@GENE$ un @DISEASE$\t1\n@GENE$ deux @DISEASE$\t0\n')
    items, _ = read_items(RELATIONS["biobert"], tmp_path / "train.tsv", labels)
    assert [(item.id, item.text[:8], item.label) for item in items] == [
        ("train-1", '"@GENE$ ', "1"),
        ("train-2", "@GENE$ d", "0"),
    ]
    (tmp_path / "test.tsv").write_text("index\tsentence\tlabel\r\n0\t@GENE$ un @DISEASE$\t1\r\n")
    items, _ = read_items(RELATIONS["biobert"], tmp_path / "test.tsv", labels)
    assert items == [Relation("0", "@GENE$ un @DISEASE$", "1")]
    (tmp_path / "test.tsv").write_bytes("\ufeffindex\tsentence\tlabel\n0\t@GENE$ un @DISEASE$\t1\n".encode())
    assert read_items(RELATIONS["biobert"], tmp_path / "test.tsv", labels)[0] == items
    (tmp_path / "test.tsv").write_text("index\tsentence\tlabel\n0\tUn\n")
    assert "test.tsv, line 2: 2 columns" in refused(RELATIONS["biobert"], tmp_path / "test.tsv", labels)


def brat(folder, text, *lines):
    (folder / "a.txt").write_text(text, encoding="utf-8")
    (folder / "a.ann").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


TEXT = "Le zinc et le fer.\nFer, foie.\n"
ENTITIES = ("T1\tCHEM 3 7\tzinc", "T2\tCHEM 14 17\tfer", "T3\tCHEM 19 22\tFer", "T4\tORGAN 24 28\tfoie")


def pairs(folder, *wanted, labels=LABELS):
    return read_items(RELATIONS["brat"], folder, labels, pairs=list(wanted))


def test_brat_pairs_of_the_given_types_within_a_line(tmp_path):
    lines = (*ENTITIES, "R1\teffect Arg1:T4 Arg2:T3\t", "#1\tAnnotatorNotes R1\tsûr")
    items, counts = pairs(brat(tmp_path, TEXT, *lines), "ORGAN CHEM")
    assert items == [Relation("a:T4-T3", "Fer, foie.", "effect", (Mention(5, 9, "ORGAN"), Mention(0, 3, "CHEM")), "a")]
    assert counts["annotation lines that are neither entities nor relations"] == 1
    items, counts = pairs(brat(tmp_path, TEXT, *lines), "CHEM ORGAN", "CHEM CHEM")
    assert [(item.id, item.label, quoted(item)) for item in items] == [
        ("a:T1-T2", "none", ("zinc", "fer")),
        ("a:T3-T4", "none", ("Fer", "foie")),
    ]
    assert counts["relations across lines, or not of a pair of types"] == 1


def test_brat_relations_of_equal_types_say_when_they_go_backwards(tmp_path):
    labels = Labels(("effect", "none"), {"effect-reversed": "effect"})
    items, _ = pairs(brat(tmp_path, TEXT, *ENTITIES, "R1\teffect Arg1:T2 Arg2:T1"), "CHEM CHEM", labels=labels)
    assert [(item.id, item.label) for item in items] == [("a:T1-T2", "effect")]
    assert "a.ann, line 5: 'effect-reversed' is not known" in refused(
        RELATIONS["brat"], tmp_path, LABELS, pairs=["CHEM CHEM"]
    )


def test_brat_pairs_of_equal_types_are_in_the_order_of_the_text_not_of_the_annotations(tmp_path):
    items, _ = pairs(brat(tmp_path, TEXT, "T1\tCHEM 14 17\tfer", "T2\tCHEM 3 7\tzinc"), "CHEM CHEM")
    assert [(item.id, quoted(item)) for item in items] == [("a:T2-T1", ("zinc", "fer"))]


def test_brat_relations_that_are_left_out_are_counted(tmp_path):
    relations = (
        "R1\teffect Arg1:T1 Arg2:T2",
        "R2\tfalse Arg1:T1 Arg2:T2",
        "R3\teffect Arg1:T1 Arg2:T3",
        "R4\ttrue a:T3 b:T4",
    )
    items, counts = pairs(brat(tmp_path, TEXT, *ENTITIES, *relations), "CHEM CHEM", "CHEM ORGAN")
    assert [(item.id, item.label) for item in items] == [("a:T1-T2", "effect")]
    assert counts["second relations of one pair left out"] == 1
    assert counts["relations across lines, or not of a pair of types"] == 1
    assert counts["relations of an ignored type"] == 1


def test_brat_annotations_may_begin_with_a_byte_order_mark(tmp_path):
    folder = brat(tmp_path, TEXT, "\ufeffT1\tCHEM 3 7\tzinc", "T2\tCHEM 14 17\tfer")
    assert len(pairs(folder, "CHEM CHEM")[0]) == 1


def test_brat_mentions_in_pieces_and_texts_never_annotated(tmp_path):
    folder = brat(tmp_path, TEXT, "T1\tCHEM 3 7;14 17\tzinc fer", "T2\tORGAN 8 10\tet")
    (folder / "b.txt").write_text("Rien.")
    [item], counts = pairs(folder, "CHEM ORGAN")
    assert quoted(item) == ("zinc et le fer", "et")
    assert (counts["discontinuous mentions (hull)"], counts["documents without .ann left out"]) == (1, 1)
    assert [item.group for item in pairs(folder / "a.txt", "CHEM ORGAN")[0]] == ["a"]


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("R1\teffect Arg1:T1", "line 5: not a relation line of brat"),
        ("R1\teffect T1 T2", "line 5: not a relation line of brat"),
        ("R1 effect Arg1:T1 Arg2:T2", "line 5: not a relation line of brat"),
        ("R1\teffect Arg1:T1 Arg2:T9", "line 5: the entity T1 or T9 has no T line"),
        ("R1\tcause Arg1:T1 Arg2:T2", "line 5: 'cause' is not known"),
        ("T1\tCHEM 14 17\tfer", "line 5: T1 names another entity too"),
        ("T5\tCHEM 3 7\tfer", "line 5: the offsets point to 'zinc'"),
    ],
)
def test_brat_names_file_and_line_of_a_bad_relation(tmp_path, line, complaint):
    sentence = refused(RELATIONS["brat"], brat(tmp_path, TEXT, *ENTITIES, line), LABELS, pairs=["CHEM CHEM"])
    assert "a.ann" in sentence and complaint in sentence


def test_brat_pairs_that_are_not_two_types_and_annotations_without_text_are_refused(tmp_path):
    brat(tmp_path, TEXT, *ENTITIES)
    assert "'CHEM' under pairs is not two types" in refused(RELATIONS["brat"], tmp_path, LABELS, pairs=["CHEM"])
    (tmp_path / "a.txt").unlink()
    assert "no a.txt beside it" in refused(RELATIONS["brat"], tmp_path, LABELS, pairs=["CHEM CHEM"])
