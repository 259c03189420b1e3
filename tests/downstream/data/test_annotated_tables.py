"""Tables and JSON lines: every cell in its place, and one sentence for what cannot be read."""

import json

import pytest
from item_helpers import read_items, refused

from alibert_common.errors import InputError
from downstream.data.annotated_text import Labels
from downstream.data.examples import Candidates, LabelledText, Relation, ScoredPair
from downstream.data.readers import CANDIDATES, ENTITIES, PAIRS, RELATIONS, TEXTS, check_settings

LABELS = Labels(("foie", "coeur"), {"heart": "coeur"}, ("autre",))
TEXT = {"text": "texte", "label": "avis"}


def written(folder, name, content):
    file = folder / name
    file.write_bytes(content.encode())
    return file


def texts(path, **settings):
    return read_items(TEXTS["table"], path, LABELS, **settings)


def test_columns_by_name_in_any_order_with_several_labels(tmp_path):
    rows = "avis\tid\ttexte\nfoie | heart|foie\t a\t Un foie. \n \tb\tRien.\r\nautre\tc\tMoi.\n\n"
    items, counts = texts(written(tmp_path, "a.tsv", "\ufeff" + rows), **TEXT, id="id", separator="|")
    assert items == [
        LabelledText("a", " Un foie. ", ("foie", "coeur")),
        LabelledText("b", "Rien.", ()),
        LabelledText("c", "Moi.", ()),
    ]
    assert counts["texts of an ignored type"] == 1


def test_columns_by_number_have_no_row_of_names(tmp_path):
    items, _ = texts(written(tmp_path, "a.tsv", "x\tfoie\tUn.\ny\tcoeur\tDeux.\n"), text=3, label=2, group=1)
    assert items == [
        LabelledText("a-1", "Un.", ("foie",), group="x"),
        LabelledText("a-2", "Deux.", ("coeur",), group="y"),
    ]


def test_a_text_whose_one_label_is_ignored_goes_with_it(tmp_path):
    items, counts = texts(written(tmp_path, "a.tsv", "Un.\tfoie\nDeux.\tautre\n"), text=1, label=2)
    assert [item.text for item in items] == ["Un."] and counts["texts of an ignored type"] == 1


def test_csv_is_quoted_and_tsv_is_not_unless_it_is_said(tmp_path):
    rows = 'texte{0}avis\n"Le ""bon""{0}foie\nsain"{0}foie\nMoi{0}coeur\n'
    for name, settings in [("a.csv", {}), ("a.tsv", {"quoted": True}), ("b.csv", {"delimiter": ";"})]:
        divided = rows.format({"a.csv": ",", "a.tsv": "\t", "b.csv": ";"}[name])
        items, counts = texts(written(tmp_path, name, divided), **TEXT, **settings)
        assert items[0].text.replace(";", ",").replace("\t", ",") == 'Le "bon",foie\nsain'
        assert [item.id for item in items] == [f"{name[0]}-2", f"{name[0]}-4"]  # the line where the row begins
        assert not counts["cells that keep their quotes"]
    items, _ = texts(written(tmp_path, "d.csv", 'texte,avis\r\n"un\r\ndeux",foie\r\n'), **TEXT)
    assert [item.text for item in items] == ["un\r\ndeux"]
    items, counts = texts(written(tmp_path, "c.tsv", 'texte\tavis\n"Le" foie"\tfoie\n"\tfoie\n'), **TEXT)
    assert [item.text for item in items] == ['"Le" foie"', '"'] and counts["cells that keep their quotes"] == 1


def test_cells_longer_than_the_csv_module_allows(tmp_path):
    items, _ = texts(written(tmp_path, "a.csv", f'texte,avis\n"{"foie " * 40000}",foie\n'), **TEXT)
    assert len(items[0].text) == 200000


def test_keys_of_json_lines_with_lists_numbers_and_truth_values(tmp_path):
    labels = Labels(("0", "1", "true"))
    records = [{"t": "Un.", "l": [0, 1], "i": 7}, {"t": "Deux.", "l": True, "i": "b"}, {"t": "", "l": [], "i": "c"}]
    lines = "\n".join(map(json.dumps, records))
    settings = {"text": "t", "label": "l", "id": "i", "separator": ","}
    items, counts = read_items(TEXTS["table"], written(tmp_path, "a.jsonl", lines), labels, **settings)
    assert [(item.id, item.labels) for item in items] == [("7", ("0", "1")), ("b", ("true",)), ("c", ())]


def test_inference_is_a_pair_of_texts(tmp_path):
    line = {"pairID": "p", "sentence1": "Il tousse.", "sentence2": "Il dort.", "gold_label": "neutral", "parse": "x"}
    path = written(tmp_path, "a.jsonl", json.dumps(line))
    settings = {"text": "sentence1", "second": "sentence2", "label": "gold_label", "id": "pairID"}
    items, _ = read_items(TEXTS["table"], path, Labels(("neutral",)), **settings)
    assert items == [LabelledText("p", "Il tousse.", ("neutral",), "Il dort.")]


def test_files_of_a_folder_follow_each_other(tmp_path):
    for name in ("b.tsv", "a.tsv"):
        written(tmp_path, name, f"texte\tavis\n{name}\tfoie\n")
    assert [item.id for item in texts(tmp_path, **TEXT)[0]] == ["a-2", "b-2"]


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("texte\tavis\nUn.\tfoie\nDeux.\n", "line 3: 1 columns where the first line has 2"),
        ("texte\tavis\nUn.\tfoie\nDeux.\tfoie\tx\n", "line 3: 3 columns where the first line has 2"),
        ("texte\tavis\nUn.\trate\n", "line 2: 'rate' is not known to the recipe, whose types of texts are foie, coeur"),
        ("texte\tavis\nUn.\t \n", "line 2: the label is ' '; a word"),
        ("texte\tlabel\nUn.\tfoie\n", "line 1: 0 columns are named 'avis'"),
        ("texte\tavis\tavis\nUn.\tfoie\tfoie\n", "line 1: 2 columns are named 'avis'"),
        ("", "line 1: 0 columns are named 'texte'"),
    ],
)
def test_tables_name_file_and_line_of_a_bad_row(tmp_path, content, complaint):
    sentence = refused(TEXTS["table"], written(tmp_path, "a.tsv", content), LABELS, **TEXT)
    assert "a.tsv" in sentence and complaint in sentence


@pytest.mark.parametrize(
    "content, complaint",
    [
        ('{"texte": "Un.", "avis": "foie"}\n{', "line 2: not JSON"),
        ('\n["Un."]', "line 2: not an object"),
        ('{"texte": "Un."}', "line 1: there is no key 'avis'; it has texte"),
        ('{"texte": 3, "avis": "foie"}', "line 1: the text is 3; text is needed"),
        ('{"texte": "Un.", "avis": ["foie"]}', "line 1: the label is ['foie']; a word"),
        ('{"texte": "Un.", "avis": null}', "line 1: the label is None; a word"),
        ('{"texte": "Un.", "texte": "Deux.", "avis": "foie"}', "line 1: the key 'texte' stands 2 times"),
    ],
)
def test_json_lines_name_file_and_line_of_a_bad_record(tmp_path, content, complaint):
    sentence = refused(TEXTS["table"], written(tmp_path, "a.jsonl", content), LABELS, **TEXT)
    assert "a.jsonl" in sentence and complaint in sentence


def test_bad_labels_in_a_list_are_refused(tmp_path):
    file = written(tmp_path, "a.tsv", "texte\tavis\nUn.\tfoie||coeur\n")
    assert "line 2: one label is ''" in refused(TEXTS["table"], file, LABELS, **TEXT, separator="|")


def test_broken_quotes_and_mixed_encodings_are_named(tmp_path):
    file = written(tmp_path, "a.csv", 'texte,avis\nUn.,foie\n"Deux.,foie\n')
    assert "a.csv, line 3: not a row of quoted cells" in refused(TEXTS["table"], file, LABELS, **TEXT)
    file.write_bytes("texte,avis\nLe cœur.,foie\n".encode() + "Fièvre.,foie\n".encode("latin-1"))
    assert "a.csv, line 3: byte" in refused(TEXTS["table"], file, LABELS, **TEXT)


def test_an_id_of_two_items_is_refused_and_an_item_that_comes_twice_is_kept_and_counted(tmp_path):
    settings = {"id": 1, "text": 2, "label": 3}
    items, counts = texts(written(tmp_path, "a.tsv", "x\tUn.\tfoie\n" * 3), **settings)
    assert [(item.id, item.group) for item in items] == [("x", ""), ("x (2)", "x"), ("x (3)", "x")]
    assert {item.text for item in items} == {"Un."} and counts["items that stand in the files twice"] == 2
    sentence = refused(TEXTS["table"], written(tmp_path, "a.tsv", "x\tUn.\tfoie\nx\tUn.\tcoeur\n"), LABELS, **settings)
    assert "a.tsv, line 2: the id 'x' is that of another item" in sentence and "a.tsv, line 1)" in sentence


def test_the_second_of_two_equal_items_keeps_their_document_and_takes_nobodys_id(tmp_path):
    settings = {"id": 1, "text": 2, "label": 3, "group": 4}
    items, _ = texts(written(tmp_path, "a.tsv", "x (2)\tZ.\tfoie\td1\n" + "x\tUn.\tfoie\td7\n" * 2), **settings)
    assert [(item.id, item.group) for item in items] == [("x (2)", "d1"), ("x", "d7"), ("x (3)", "d7")]


@pytest.mark.parametrize("columns", [{"text": 1, "label": "avis"}, {"text": [1], "label": [2]}])
def test_columns_are_all_names_or_all_numbers(tmp_path, columns):
    assert "all by name, or all by number" in refused(TEXTS["table"], written(tmp_path, "a.tsv", ""), LABELS, **columns)


@pytest.mark.parametrize("column", [0, 3])
def test_numbers_of_columns_begin_at_one(tmp_path, column):
    file = written(tmp_path, "a.tsv", "Un.\tfoie\n")
    assert f"line 1: there is no column {column}" in refused(TEXTS["table"], file, LABELS, text=column, label=2)


def test_relations_in_a_table(tmp_path):
    file = written(tmp_path, "a.tsv", "d1\t@GENE$ cause @DISEASE$.\t1\nd1\t@GENE$ et @DISEASE$.\t0\n")
    items, _ = read_items(RELATIONS["table"], file, Labels(("1",), {}, ("0",)), text=2, label=3, group=1)
    assert items == [Relation("a-1", "@GENE$ cause @DISEASE$.", "1", None, "d1")]


def test_similarity(tmp_path):
    items, _ = read_items(
        PAIRS["table"], written(tmp_path, "a.tsv", "Un.\tUne.\t3.5\n\tDeux.\t0\n"), first=1, second=2, score=3
    )
    assert items == [ScoredPair("a-1", "Un.", "Une.", 3.5), ScoredPair("a-2", "", "Deux.", 0.0)]
    line = json.dumps({"a": "Un.", "b": "Une.", "n": 2, "id": 0})
    items, _ = read_items(PAIRS["table"], written(tmp_path, "a.jsonl", line), first="a", second="b", score="n", id="id")
    assert items == [ScoredPair("0", "Un.", "Une.", 2.0)]


@pytest.mark.parametrize("score", ["3,5", "", "haut", "nan", "inf"])
def test_scores_that_are_no_numbers_are_refused(tmp_path, score):
    file = written(tmp_path, "a.tsv", f"Un.\tUne.\t1\nUn.\tUne.\t{score}\n")
    assert f"line 2: the score is {score!r}" in refused(PAIRS["table"], file, first=1, second=2, score=3)


@pytest.mark.parametrize("score", [None, True, [1]])
def test_scores_of_another_kind_in_json_are_refused(tmp_path, score):
    file = written(tmp_path, "a.jsonl", json.dumps({"a": "Un.", "s": score}))
    assert f"line 1: the score is {score!r}" in refused(PAIRS["table"], file, first="a", second="a", score="s")


OPTIONS = {"question": 1, "options": {"1": 2, "2": 3, "3": 4}, "right": 5}


def test_options_in_columns_of_their_own(tmp_path):
    file = written(tmp_path, "a.tsv", "Quel organe ?\tfoie\trate\tnez\t3,1\nOù ?\ta\tb\tc\t2\n")
    items, _ = read_items(CANDIDATES["options"], file, **OPTIONS)
    assert items == [
        Candidates("a-1", "Quel organe ?", ("foie", "rate", "nez"), (0, 2)),
        Candidates("a-2", "Où ?", ("a", "b", "c"), (1,)),
    ]


@pytest.mark.parametrize("right", ["4", "1,4", "foie", ""])
def test_a_right_answer_that_is_no_option_is_refused(tmp_path, right):
    file = written(tmp_path, "a.tsv", f"Où ?\ta\tb\tc\t{right}\n")
    assert "line 1: right is [" in refused(CANDIDATES["options"], file, **OPTIONS)


RANKING = {"question": "q", "candidate": "c", "right": "r"}


def test_candidates_of_a_question_are_gathered(tmp_path):
    rows = "q\tc\tr\nOù ?\tIci.\t0\nQui ?\tMoi.\t0\nOù ?\tLà.\t1\n"
    items, counts = read_items(CANDIDATES["ranking"], written(tmp_path, "a.tsv", rows), **RANKING)
    assert items == [
        Candidates("a-2", "Où ?", ("Ici.", "Là."), (1,)),
        Candidates("a-3", "Qui ?", ("Moi.",), ()),
    ]
    assert counts["questions without a right candidate"] == 1


def test_candidates_are_gathered_by_id_where_there_is_one(tmp_path):
    lines = [{"i": one, "q": "Où ?", "c": "Ici.", "r": right} for one, right in [(1, 1), (2, 0), (1, 0)]]
    file = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    items, _ = read_items(CANDIDATES["ranking"], file, **RANKING, id="i")
    assert [(item.id, item.candidates, item.right) for item in items] == [
        ("1", ("Ici.", "Ici."), (0,)),
        ("2", ("Ici.",), ()),
    ]


def test_bad_rankings_are_refused(tmp_path):
    file = written(tmp_path, "a.tsv", "q\tc\tr\nOù ?\tIci.\toui\n")
    assert "line 2: right is 'oui'; write 1" in refused(CANDIDATES["ranking"], file, **RANKING)
    file = written(tmp_path, "a.tsv", "i\tq\tc\tr\n1\tOù ?\tIci.\t0\n1\tQui ?\tMoi.\t1\n")
    assert "line 3: the id '1' is that of another question" in refused(CANDIDATES["ranking"], file, **RANKING, id="i")


def test_settings_are_checked_before_any_file_is_read():
    check_settings(TEXTS["table"], TEXT, "recipe.yaml")
    check_settings(TEXTS["hoc"], {}, "recipe.yaml")
    with pytest.raises(InputError, match="^recipe.yaml: unknown setting 'texte' of the format; it has text, label"):
        check_settings(TEXTS["table"], TEXT | {"texte": 1}, "recipe.yaml")
    with pytest.raises(InputError, match="unknown setting 'text' of the format; it has none"):
        check_settings(TEXTS["hoc"], {"text": 1}, "recipe.yaml")
    with pytest.raises(InputError, match="the format needs the setting 'label'"):
        check_settings(TEXTS["table"], {"text": 1}, "recipe.yaml")
    check_settings(ENTITIES["jsonl"], {}, "recipe.yaml")
    check_settings(TEXTS["table"], {"text": 1, "label": "avis", "separator": "|", "quoted": True, "delimiter": " "}, "")
    check_settings(CANDIDATES["options"], {"question": "q", "right": 4, "options": {"a": "A", "b": 3}}, "")


@pytest.mark.parametrize(
    "read, changes, sentence",
    [
        (TEXTS["table"], {"label": None}, "label is None; str or int is needed."),
        (TEXTS["table"], {"label": True}, "label is True; str or int is needed."),
        (TEXTS["table"], {"separator": 5}, "separator is 5; str or null is needed."),
        (TEXTS["table"], {"separator": ""}, "separator is ''; give the characters that divide the words of a cell."),
        (TEXTS["table"], {"quoted": "yes"}, "quoted is 'yes'; bool or null is needed."),
        (TEXTS["table"], {"delimiter": "||"}, "delimiter is '||'; give the one character that divides cells."),
        (TEXTS["table"], {"delimiter": ""}, "delimiter is ''; give the one character that divides cells."),
        (CANDIDATES["options"], {"options": ["a", "b"]}, "options is ['a', 'b']; dict is needed."),
        (CANDIDATES["options"], {"options": {"a": 2.5}}, "options holds something other than words; put quotes around"),
        (CANDIDATES["options"], {"options": {1: "a"}}, "options holds something other than words; put quotes around"),
        (RELATIONS["brat"], {"pairs": 5}, "pairs is 5; list is needed."),
        (RELATIONS["brat"], {"pairs": [5]}, "pairs holds something other than words; put quotes around"),
    ],
)
def test_settings_of_another_type_are_refused_before_any_file_is_read(read, changes, sentence):
    whole = {TEXTS["table"]: TEXT, CANDIDATES["options"]: {"question": "q", "right": "r"}, RELATIONS["brat"]: {}}
    with pytest.raises(InputError) as caught:
        check_settings(read, whole[read] | changes, "recipe.yaml: reader")
    assert str(caught.value).startswith(f"recipe.yaml: reader: {sentence}")
