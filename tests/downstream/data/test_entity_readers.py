"""Entity sets in their own formats, made up: columns, tagged JSON lines, DDI's XML, brat with texts apart, DEFT."""

import json
from collections import Counter

import pytest
from task_helpers import ner_task

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.readers import brat, ddi, iob, jsonl
from downstream.data.spans import spans_of, words_of

TYPES = Labels(("anatomy", "symptom"))
ONE = Labels(("Chemical",))


def refused(read, path, labels=TYPES, **more):
    with pytest.raises(InputError) as error:
        read(path, labels, Counter(), **more)
        labels.refuse_unknown()
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def found(documents):
    return [(document.text[one.start : one.end], one.label) for document in documents for one in document.entities]


# Columns


def test_documents_are_marks_or_sentences_or_so_many_sentences_in_a_row(tmp_path):
    marked = "-DOCSTART- -X- O\n\nun x O\n\ndeux x O\n\n-DOCSTART- -X- O\n\ntrois x O\n"
    (tmp_path / "a.conll").write_text(marked)

    def texts(**settings) -> list:
        counts: Counter = Counter()
        return [one.text for one in iob.read(tmp_path, TYPES, counts, **settings)] + [*counts.values()]

    assert texts() == ["un\ndeux\n", "trois\n"]
    assert texts(documents="sentence") == ["un\n", "deux\n", "trois\n"]
    assert texts(documents=2) == ["un\ndeux\n", "trois\n"]
    (tmp_path / "a.conll").write_text(marked.replace("-DOCSTART- -X- O\n\n", ""))
    assert texts() == ["un\n", "deux\n", "trois\n", 3] and texts(documents=3) == ["un\ndeux\ntrois\n"]
    for wrong in ("all", 0):
        assert f"documents is {wrong!r}; give docstart" in refused(iob.read, tmp_path, documents=wrong)


@pytest.mark.parametrize(
    "tokens, text",
    [
        ("l' observation d' un foie ( droit ) .", "l'observation d'un foie (droit)."),
        ("L ’ OMS , qu ' il voit : a-t-il ?", "L’OMS, qu'il voit : a-t-il ?"),
        ("a -t-il mal , celui -ci ; « oui » 5 % …", "a-t-il mal, celui-ci ; « oui » 5 %…"),
        ("IL - 2 de ' mots cités '", "IL - 2 de ' mots cités '"),
    ],
)
def test_tokens_are_joined_as_french_is_written(tmp_path, tokens, text):
    lines = [f"{token}\tB-anatomy\n" for token in tokens.split()]
    (tmp_path / "a.tsv").write_text("".join(lines))
    [french] = iob.read(tmp_path, TYPES, Counter())
    [spaces] = iob.read(tmp_path, TYPES, Counter(), spacing="spaces")
    assert french.text == f"{text}\n" and spaces.text == f"{tokens}\n"
    for document in (french, spaces):
        assert [one for one, _ in found([document])] == tokens.split()
    words = [[one.text[start:end] for start, end in words_of(one.text)] for one in (french, spaces)]
    assert words[0] == words[1]  # so scores are of the same units
    assert "spacing is 'none'; choose french or spaces" in refused(iob.read, tmp_path, spacing="none")


def test_all_types_that_the_recipe_lacks_are_named_with_their_counts(tmp_path):
    (tmp_path / "a.tsv").write_text("foie\tB-organ\nrate\tB-organ\ntoux\tB-sign\n")
    sentence = refused(iob.read, tmp_path)
    assert "a.tsv, line 1: 'organ', 'sign' are not known to the recipe, whose types of entities are" in sentence
    assert "correct the annotations (2 organ, 1 sign), or add to types, rename or ignore there." in sentence


def test_a_type_with_a_space_goes_to_tags_and_back(tmp_path):
    """It was refused."""
    task = ner_task("body part")
    task.recipe.check(tmp_path / "recipe.yaml")
    (tmp_path / "a.tsv").write_text("foie\tB-body part\ndroit\tI-body part\n")
    (tmp_path / "b.txt").write_text("foie droit")
    (tmp_path / "b.ann").write_text("T1\tbody part 0 4;5 10\tfoie droit\n")
    for read, path in ((iob.read, tmp_path / "a.tsv"), (brat.read, tmp_path / "b.txt")):
        [document] = read(path, task.recipe.kept(), Counter())
        tags = task.example(document, Counter()).tags()
        assert tags[0] == "B-body part" and spans_of(tags)[0].label == "body part"


def test_sentences_of_a_file_that_marks_no_documents_are_documents(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "train.tsv").write_text("foie\tB-anatomy\n\n\nrate\tO\nici\tO\n")
    documents = iob.read(tmp_path, TYPES, Counter())
    assert [(one.id, one.text) for one in documents] == [("part/train-1", "foie\n"), ("part/train-2", "rate ici\n")]


def test_jnlpbas_lines_of_documents_name_them(tmp_path):
    (tmp_path / "a.iob2").write_text(
        "###MEDLINE:951\n\nfoie\tB-anatomy\n\nrate\tO\n\n###MEDLINE:952\n\ntoux\tB-symptom\n"
    )
    documents = iob.read(tmp_path, TYPES, Counter())
    assert [(one.id, one.text) for one in documents] == [("MEDLINE:951", "foie\nrate\n"), ("MEDLINE:952", "toux\n")]


def test_biobert_and_blue_leave_out_the_type_and_blue_has_offsets(tmp_path):
    (tmp_path / "biobert.tsv").write_text("zinc\tB\noxyde\tI\net\tO\n\ncuivre\tB\n")
    (tmp_path / "blue.tsv").write_text(
        "zinc\t2275.txt\t0\tB\noxyde\t-\t5\tI\net\t-\t11\tO\n\ncuivre\t2275.txt\t14\tB\n"
    )
    for name in ("biobert", "blue"):
        documents = iob.read(tmp_path / f"{name}.tsv", ONE, Counter())
        assert found(documents) == [("zinc oxyde", "Chemical"), ("cuivre", "Chemical")]


def test_a_type_left_out_among_several_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("foie\tB\n")
    sentence = refused(iob.read, tmp_path / "a.tsv")
    assert "a.tsv, line 1: 'B' is not a label" in sentence and "only where the recipe has just one" in sentence


def test_cas_joins_letter_and_type_by_an_underscore(tmp_path):
    (tmp_path / "a.tsv").write_text("pas\tB_scope_neg\nde\tI_scope_neg\nfièvre\tO\n", encoding="utf-8")
    assert found(iob.read(tmp_path, Labels(("scope_neg",)), Counter())) == [("pas de", "scope_neg")]


def test_a_no_break_space_in_a_token_is_no_column(tmp_path):
    (tmp_path / "a.conll").write_text("5\u00a0mg O\nfoie B-anatomy\n", encoding="utf-8")
    [document] = iob.read(tmp_path, TYPES, Counter())
    assert document.text == "5\u00a0mg foie\n"


@pytest.mark.parametrize("row", ["foie\tNOM\tB-anatomy", "foie\tB-anatomy\t", "foie B-anatomy O"])
def test_a_row_of_more_columns_than_the_ones_before_is_refused(tmp_path, row):
    (tmp_path / "a.tsv").write_text(f"-DOCSTART-\nle\tO\n\n{row}\n")
    assert "a.tsv, line 4: 3 columns after lines of 2" in refused(iob.read, tmp_path)


def test_one_latin1_file_among_others_is_named(tmp_path):
    (tmp_path / "a.tsv").write_text("fièvre\tB-symptom\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_bytes("toux\tO\nfièvre\tB-symptom\n".encode("latin-1"))
    assert "b.tsv, line 2: byte 3 (0xe8) is not UTF-8" in refused(iob.read, tmp_path)


def test_a_byte_order_mark_is_no_part_of_the_first_token_or_line(tmp_path):
    (tmp_path / "a.tsv").write_bytes("\ufefffoie\tB-anatomy\r\n".encode())
    record = {"text": "foie", "entities": [{"start": 0, "end": 4, "label": "anatomy"}]}
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(record).encode() + b"\r\n")
    for read in (iob.read, jsonl.read):
        assert found(read(tmp_path, TYPES, Counter())) == [("foie", "anatomy")]


def test_an_empty_file_has_no_document(tmp_path):
    (tmp_path / "a.tsv").write_text("\n\n")
    assert iob.read(tmp_path, TYPES, Counter()) == []


# Tagged JSON lines


def tagged(folder, *records, names=None, feature="Sequence"):
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    (folder / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    if names is not None:
        inner = {"names": names, "_type": "ClassLabel"}
        info = {"features": {"ner_tags": [inner] if feature == "list" else {"feature": inner, "_type": feature}}}
        (folder / "dataset_info.json").write_text(json.dumps(info))
    return folder


def test_tagged_tokens_with_names(tmp_path):
    record = {"id": "n1", "tokens": ["le", "foie", "droit"], "ner_tags": ["O", "B-anatomy", "I-anatomy"]}
    [document] = jsonl.read(tagged(tmp_path, record), TYPES, Counter())
    assert (document.id, document.text) == ("n1", "le foie droit\n")
    assert document.entities == [Entity("anatomy", ((3, 13),))]


@pytest.mark.parametrize("feature", ["Sequence", "List", "list"])
def test_tags_that_are_numbers_are_named_by_the_file_beside(tmp_path, feature):
    record = {"tokens": ["toux", "du", "foie"], "ner_tags": [2, 0, 1]}
    folder = tagged(tmp_path, record, names=["O", "B-anatomy", "B-symptom"], feature=feature)
    assert found(jsonl.read(folder / "train.jsonl", TYPES, Counter())) == [("toux", "symptom"), ("foie", "anatomy")]


@pytest.mark.parametrize(
    "record, complaint",
    [
        ({"tokens": ["foie"], "ner_tags": []}, "1 tokens but 0 tags"),
        ({"tokens": ["foie"], "ner_tags": [3]}, "the tag 3 has no name"),
        ({"tokens": ["foie"], "ner_tags": [-1]}, "the tag -1 has no name"),
        ({"tokens": ["foie"], "ner_tags": [None]}, "the tag None has no name"),
        ({"tokens": ["foie"], "ner_tags": ["B-x"]}, "'x' is not known"),
        ({"tokens": ["foie"], "ner_tags": ["anatomy"]}, "'anatomy' is not a label"),
        ({"tokens": [" "], "ner_tags": ["O"]}, "a token that is empty"),
        ({"tokens": "foie", "ner_tags": ["O"]}, "not a document"),
        ({"ner_tags": ["O"]}, "not a document"),
    ],
)
def test_bad_tagged_lines_are_named(tmp_path, record, complaint):
    good = {"tokens": ["foie"], "ner_tags": [1]}
    sentence = refused(jsonl.read, tagged(tmp_path, good, record, names=["O", "B-anatomy"]))
    assert "train.jsonl, line 2" in sentence and complaint in sentence


@pytest.mark.parametrize("feature", ["[]", "{}", '["O"]', '{"feature": ["O"]}', '[{"names": 3}]', None])
def test_a_file_of_names_without_them_is_refused(tmp_path, feature):
    folder = tagged(tmp_path, {"tokens": ["foie"], "ner_tags": [1]})
    (folder / "dataset_info.json").write_text(f'{{"features": {{"ner_tags": {feature}}}}}' if feature else "{}")
    assert "dataset_info.json: no names of ner_tags" in refused(jsonl.read, folder)


def test_a_file_of_names_of_another_kind_does_not_hinder_tags_that_are_names(tmp_path):
    folder = tagged(tmp_path, {"tokens": ["foie"], "ner_tags": ["B-anatomy"]})
    (folder / "dataset_info.json").write_text('{"features": {"ner_tags": {"feature": {"dtype": "string"}}}}')
    assert found(jsonl.read(folder, TYPES, Counter())) == [("foie", "anatomy")]
    (folder / "dataset_info.json").write_text("[" * 100_000)
    assert "dataset_info.json: thousands of nested brackets" in refused(jsonl.read, folder)


# DDI


def drugs(folder, *entities, text="Take zinc, or &lt;zinc&gt; and iron oxides."):
    (folder / "a.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<document id="D1"><sentence id="D1.s0" text="First."/>\n'
        f'<sentence id="D1.s1" text="{text}">' + "\n".join(entities) + "</sentence></document>",
        encoding="utf-8",
    )
    return folder


def test_ddi_offsets_include_the_end_and_names_may_be_in_pieces(tmp_path):
    folder = drugs(
        tmp_path,
        '<entity charOffset="0-8" type="drug" text="Take  zinc"/>',
        '<entity charOffset="30-35;14-19" type="group" text="&lt;zinc&gt;  oxides"/>',
        '<pair e1="D1.s1.e0" e2="D1.s1.e1" ddi="false"/>',
    )
    [document] = ddi.read(folder, Labels(("drug", "group")), Counter())
    assert (document.id, document.text) == ("D1", "First.\nTake zinc, or <zinc> and iron oxides.\n")
    pieces = [[document.text[start:end] for start, end in one.fragments] for one in document.entities]
    assert pieces == [["Take zinc"], ["<zinc>", "oxides"]]


def test_a_line_break_in_a_ddi_sentence_is_a_space(tmp_path):
    folder = drugs(tmp_path, '<entity charOffset="5-8" type="drug" text="zinc"/>', text="Take&#10;zinc.")
    [document] = ddi.read(folder, Labels(("drug",)), Counter())
    assert document.text == "First.\nTake zinc.\n" and found([document]) == [("zinc", "drug")]


def test_a_drug_that_is_elsewhere_and_one_of_an_ignored_type_are_counted(tmp_path):
    folder = drugs(
        tmp_path,
        '<entity charOffset="4-7" type="drug" text="zinc"/>',
        '<entity charOffset="5-8" type="brand" text="zinc"/>',
    )
    counts = Counter()
    [document] = ddi.read(folder, Labels(("drug",), {}, ("brand",)), counts)
    assert document.entities == []
    assert counts == {"entities whose text is not at their offsets": 1, "entities of an ignored type": 1}


@pytest.mark.parametrize(
    "entity, complaint",
    [
        ('<entity charOffset="5-80" type="drug" text="zinc"/>', "a.xml, line 3: offsets 5-80 lie outside"),
        ('<entity charOffset="8-5" type="drug" text="zinc"/>', "offsets 8-5 lie outside"),
        ('<entity charOffset="5" type="drug" text="zinc"/>', "not offsets of the form"),
        ('<entity type="drug" text="zinc"/>', "not offsets of the form"),
        ('<entity charOffset="5-8" text="zinc"/>', "a.xml, line 3: a <entity> has no type"),
        ('<entity charOffset="5-8" type="food" text="zinc"/>', "'food' is not known"),
        ("<entity", "a.xml, line 3: not XML"),
    ],
)
def test_bad_ddi_files_are_named(tmp_path, entity, complaint):
    assert complaint in refused(ddi.read, drugs(tmp_path, entity), Labels(("drug",)))


def test_other_xml_and_other_encodings_are_refused_as_ddi(tmp_path):
    (tmp_path / "a.xml").touch()
    assert "a.xml, line 1: not XML (Document is empty" in refused(ddi.read, tmp_path)
    (tmp_path / "a.xml").write_text("<collection/>")
    assert "its root is <collection>" in refused(ddi.read, tmp_path)
    (tmp_path / "a.xml").write_bytes('<document>\n<sentence text="é"/></document>'.encode("latin-1"))
    assert "a.xml, line 2: not XML (" in refused(ddi.read, tmp_path)
    (tmp_path / "a.xml").write_text('<document id="D1">\n<sentence id="s"/></document>')
    assert "a.xml, line 2: a <sentence> has no text" in refused(ddi.read, tmp_path)
    (tmp_path / "a.xml").write_text("<document><sentence text='Zinc.'/></document>")
    assert "a.xml, line 1: a <document> has no id" in refused(ddi.read, tmp_path)


def test_the_encoding_that_ddis_xml_declares_is_kept(tmp_path):
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><document id="D1"><sentence id="s" text="Épo."/></document>'
    (tmp_path / "a.xml").write_bytes(text.encode("latin-1"))
    [document] = ddi.read(tmp_path, TYPES, Counter())
    assert document.text == "Épo.\n"


# brat


def test_brat_names_documents_by_their_folders_and_refuses_an_ann_without_its_text(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.txt").write_text("foie")
    (tmp_path / "x" / "a.ann").write_text("T1\tanatomy 0 4\tfoie\n")
    [document] = brat.read(tmp_path, TYPES, Counter())
    assert document == AnnotatedText("x/a", "foie", [Entity("anatomy", ((0, 4),))])
    (tmp_path / "b.ann").write_text("")
    assert "b.ann: there is no b.txt beside it" in refused(brat.read, tmp_path)


def test_deft_writes_attributes_relations_and_notes_between_the_entities(tmp_path):
    text = "Patient de 45 ans,\r\nsans fièvre ni toux.\r\n"
    lines = [
        "T1\tage 11 17\t45 ans",
        "T2\tsosy 25 31\tfièvre",
        "A1\tassertion T2 absent",
        "T3\tsosy 35 39\ttoux",
        "R1\tlien Arg1:T2 Arg2:T3",
        "#1\tAnnotatorNotes T2\ttempérature",
    ]
    (tmp_path / "filepdf-1-cas.txt").write_bytes(text.encode())
    (tmp_path / "filepdf-1-cas.ann").write_bytes("\r\n".join(lines).encode())
    counts = Counter()
    documents = brat.read(tmp_path, Labels(("sosy",), {}, ("age",)), counts)
    assert [one.id for one in documents] == ["filepdf-1-cas"]
    assert found(documents) == [("fièvre", "sosy"), ("toux", "sosy")]
    assert counts == {"annotation lines that are not entities": 3, "entities of an ignored type": 1}


def test_brat_says_what_may_have_happened_to_line_ends(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"le\r\nfoie")
    (tmp_path / "a.ann").write_text("T1\tanatomy 3 7\tfoie\n")
    assert "other line ends" in refused(brat.read, tmp_path)


def test_a_byte_order_mark_hides_no_entity_of_brat(tmp_path):
    (tmp_path / "a.txt").write_text("foie")
    (tmp_path / "a.ann").write_bytes("\ufeffT1\tanatomy 0 4\tfoie\n".encode())
    assert found(brat.read(tmp_path, TYPES, Counter())) == [("foie", "anatomy")]


def test_an_empty_text_is_a_document_without_entities(tmp_path):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "a.ann").write_text("")
    assert brat.read(tmp_path, TYPES, Counter()) == [AnnotatedText("a", "", [])]


def test_written_as_brat_and_read_again(tmp_path):
    text = "\ufeffle foie\r\ndroit et\tgauche 🫀"
    entities = [
        Entity("symptom", ((4, 15),)),
        Entity("anatomy", ((4, 8), (19, 25))),
        Entity("anatomy", ((16, 25),)),
    ]
    documents = [AnnotatedText("b", "rien", []), AnnotatedText("x/a.1", text, entities)]
    folder = tmp_path / "brat"
    folder.mkdir()
    brat.write(documents, folder)
    assert brat.read(folder, TYPES, Counter()) == documents
    assert (folder / "x" / "a.1.ann").read_text(encoding="utf-8") == (
        "T1\tsymptom 4 15\tfoie  droit\nT2\tanatomy 4 8;19 25\tfoie gauche\nT3\tanatomy 16 25\tet\tgauche\n"
    )
    assert "[entities]\n\nanatomy\nsymptom\n\n[relations]" in (folder / "annotation.conf").read_text()


@pytest.mark.parametrize(
    "documents, complaint",
    [
        ([AnnotatedText("a", "", []), AnnotatedText("a", "", [])], "the id 'a'"),
        ([AnnotatedText("../a", "", [])], "the id '../a'"),
        ([AnnotatedText("/a", "", [])], "the id '/a'"),
        ([AnnotatedText("", "", [])], "the id ''"),
        ([AnnotatedText("a", "foie", [Entity("two words", ((0, 4),))])], "type 'two words' has a space"),
    ],
)
def test_what_cannot_be_written_as_brat_leaves_no_folder(tmp_path, documents, complaint):
    with pytest.raises(InputError, match=complaint):
        brat.write(documents, tmp_path / "brat")
    assert list(tmp_path.iterdir()) == []


def test_brat_is_not_written_over_anything(tmp_path):
    (tmp_path / "a.txt").write_text("foie")
    for target in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(InputError, match="there is something already"):
            brat.write([AnnotatedText("b", "", [])], target)
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
