"""Readers of labelled texts that have a format of their own: Hallmarks of Cancer, PubMedQA."""

import json

import pytest
from item_helpers import read_items, refused

from downstream.data.annotated_text import Labels
from downstream.data.examples import LabelledText
from downstream.data.readers import TEXTS

HALLMARKS = Labels(("Invading", "Dying"), {}, ("Growing",))
ANSWERS = Labels(("yes", "no"), {"maybe": "no"}, ("unsure",))


def hallmarks(folder, text="Un .\nDeux .\n", labels="< Invading--Far< ", name="7"):
    for part, content in (("text", text), ("labels", labels)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / part / f"{name}.txt").write_text(content, encoding="utf-8")
    return folder


def test_hallmarks_are_the_first_level_of_each_sentence(tmp_path):
    labels = "<Invading--Far--Later ANDDying--Fast AND Invading--Near<  < NULL<Growing"
    items, counts = read_items(
        TEXTS["hoc"], hallmarks(tmp_path, "Un .\nDeux .\nTrois .\nQuatre .\n", labels), HALLMARKS
    )
    assert items == [
        LabelledText("7-1", "Un .", ("Invading", "Dying"), group="7"),
        LabelledText("7-2", "Deux .", (), group="7"),
        LabelledText("7-3", "Trois .", (), group="7"),
        LabelledText("7-4", "Quatre .", (), group="7"),
    ]
    assert (counts["sentences labelled NULL"], counts["texts of an ignored type"]) == (1, 1)


def test_hallmarks_with_byte_order_marks_and_the_line_ends_of_windows_are_the_same(tmp_path):
    plain, _ = read_items(TEXTS["hoc"], hallmarks(tmp_path / "a"), HALLMARKS)
    folder = hallmarks(tmp_path / "b")
    for part, content in (("text", "\ufeffUn .\r\nDeux .\r\n"), ("labels", "\ufeff< Invading--Far< \r\n")):
        (folder / part / "7.txt").write_bytes(content.encode())
    assert read_items(TEXTS["hoc"], folder, HALLMARKS)[0] == plain
    (folder / "text" / "7.txt").write_bytes(b"Un .\r\nDeux .")
    assert read_items(TEXTS["hoc"], folder, HALLMARKS)[0] == plain


def test_hallmarks_of_another_number_of_sentences_are_refused(tmp_path):
    assert "labels of 1 sentences" in refused(TEXTS["hoc"], hallmarks(tmp_path, labels="<Dying"), HALLMARKS)
    assert "labels of 3 sentences" in refused(TEXTS["hoc"], hallmarks(tmp_path, labels="<Dying< <"), HALLMARKS)
    sentence = refused(TEXTS["hoc"], hallmarks(tmp_path, labels="Dying< < "), HALLMARKS)
    assert "7.txt, line 1: labels of 2 sentences, each after a <" in sentence


def test_hallmarks_unknown_or_without_their_text_are_refused(tmp_path):
    sentence = refused(TEXTS["hoc"], hallmarks(tmp_path, labels="< <Sleeping--Long"), HALLMARKS)
    assert "7.txt, line 1, sentence 2: 'Sleeping' is not known" in sentence
    (tmp_path / "text" / "7.txt").unlink()
    assert "7.txt is in text/ or in labels/ but not in both" in refused(TEXTS["hoc"], tmp_path, HALLMARKS)


def test_hallmarks_in_mixed_encodings_are_refused(tmp_path):
    hallmarks(tmp_path)
    (tmp_path / "text" / "7.txt").write_bytes("Début\n".encode() + "Début\n".encode("latin-1"))
    assert "7.txt, line 2: byte" in refused(TEXTS["hoc"], tmp_path, HALLMARKS)


def question(answer="yes", **changes):
    return {"QUESTION": "Est-ce ?", "CONTEXTS": ["Un.", "Deux."], "final_decision": answer} | changes


def pubmedqa(folder, questions, test=None, name="ori_pqal.json"):
    (folder / name).write_text(json.dumps(questions), encoding="utf-8")
    if test is not None:
        (folder / "test_ground_truth.json").write_text(json.dumps(test), encoding="utf-8")
    return folder / name


def test_pubmedqa_question_with_the_parts_of_the_abstract(tmp_path):
    questions = {"1": question(), "2": question("maybe", CONTEXTS=[]), "3": question("unsure")}
    items, counts = read_items(TEXTS["pubmedqa"], pubmedqa(tmp_path, questions), ANSWERS)
    assert items == [
        LabelledText("1", "Est-ce ?", ("yes",), "Un.\nDeux."),
        LabelledText("2", "Est-ce ?", ("no",), ""),
    ]
    assert counts["texts of an ignored type"] == 1


def test_pubmedqa_test_questions_are_those_of_the_file_of_answers(tmp_path):
    questions = {"1": question(), "2": question("no"), "3": question("no")}
    path = pubmedqa(tmp_path, questions, {"3": "no", "1": "yes"})
    items, counts = read_items(TEXTS["pubmedqa"], path, ANSWERS)
    assert [item.id for item in items] == ["2"] and counts["questions that are the official test"] == 2
    items, _ = read_items(TEXTS["pubmedqa"], tmp_path / "test_ground_truth.json", ANSWERS)
    assert [(item.id, item.labels) for item in items] == [("3", ("no",)), ("1", ("yes",))]
    items, _ = read_items(TEXTS["pubmedqa"], pubmedqa(tmp_path, questions, name="train_set.json"), ANSWERS)
    assert len(items) == 3


@pytest.mark.parametrize(
    "test, complaint", [({"1": "no"}, "the answer is 'no' but 'yes' in"), ({"9": "no"}, "key '9'")]
)
def test_pubmedqa_answers_that_do_not_fit_the_questions_are_refused(tmp_path, test, complaint):
    pubmedqa(tmp_path, {"1": question()}, test)
    assert complaint in refused(TEXTS["pubmedqa"], tmp_path / "test_ground_truth.json", ANSWERS)


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("[]", "not an object of PMID"),
        ('{"1": {}}', "key '1': the key 'final_decision' is missing or not a text"),
        (json.dumps({"1": question("peut-être")}), "key '1': 'peut-être' is not known"),
        (json.dumps({"1": question(CONTEXTS="Un.")}), "key '1': the key 'CONTEXTS' is missing or not a list"),
        (json.dumps({"1": question(CONTEXTS=[1])}), "key '1': the key 'CONTEXTS' holds something other than texts"),
        (json.dumps({"1": question(QUESTION=None)}), "key '1': the key 'QUESTION' is missing"),
        ('{"1": {},\n "1": {}}', "the key '1' stands 2 times"),
        ('{"1": {},\n', "line 2: not JSON"),
        ("[" * 100_000, "thousands of nested brackets"),
        ('{"1": ' + "1" * 5000 + "}", "a number of thousands of digits"),
    ],
)
def test_pubmedqa_names_file_and_key_of_a_bad_question(tmp_path, content, complaint):
    (tmp_path / "q.json").write_text(content, encoding="utf-8")
    sentence = refused(TEXTS["pubmedqa"], tmp_path / "q.json", ANSWERS)
    assert "q.json" in sentence and complaint in sentence
