"""Readers of questions: FrenchMedMCQA, RefoMed, SQuAD and BioASQ, in small files of their exact forms."""

import hashlib
import json
from dataclasses import replace

import pytest
from item_helpers import read_items, refused

from downstream.data.annotated_text import Labels
from downstream.data.examples import Candidates, LabelledText, ReadingQuestion
from downstream.data.readers import CANDIDATES, READING, TEXTS
from downstream.data.readers.candidates import fewer_candidates


def written(folder, content, name="q.json"):
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def exam(**changes):
    options = {"b": "Le foie", "a": "La rate", "c": "Le nez"}
    return {"id": "x", "question": "Lequel ?", "answers": options, "correct_answers": ["c", "a"]} | changes


def test_options_of_an_exam_are_in_the_order_of_their_letters(tmp_path):
    items, counts = read_items(
        CANDIDATES["frenchmedmcqa"], written(tmp_path, [exam(), exam(id="y", question=" "), exam()])
    )
    assert items[0] == Candidates("x", "Lequel ?", ("La rate", "Le foie", "Le nez"), (0, 2))
    assert [item.id for item in items] == ["x", "y", "x (2)"]
    assert counts["items that stand in the files twice"] == 1


@pytest.mark.parametrize(
    "content, complaint",
    [
        ({}, "not a list of questions"),
        (["x"], "question 1: the key 'answers' is missing"),
        ([exam(), exam(correct_answers=["e"])], "question 2: correct_answers is ['e']; one or several of a, b, c"),
        ([exam(correct_answers=[])], "question 1: correct_answers is []"),
        ([exam(correct_answers="a")], "question 1: the key 'correct_answers' is missing or not a list"),
        ([exam(answers={"a": 1}, correct_answers=["a"])], "question 1: the key 'a' is missing or not a text"),
        ([exam(id=3)], "question 1: the key 'id'"),
        ([exam(question=None)], "question 1: the key 'question'"),
        ([exam(), exam(question="Où ?")], "question 2: the id 'x' is that of another item"),
    ],
)
def test_bad_exams_are_refused(tmp_path, content, complaint):
    sentence = refused(CANDIDATES["frenchmedmcqa"], written(tmp_path, content))
    assert "q.json" in sentence and complaint in sentence


TERMS = (
    "term\tparaphrase\nasthme\tmaladie des bronches\nfièvre \tchaleur\nAsthme\tchaleur\nasthme\tgêne\nfièvre\tgêne\n"
)


def test_terms_are_ranked_against_all_paraphrases_of_the_file(tmp_path):
    items, counts = read_items(CANDIDATES["refomed"], written(tmp_path, TERMS, "t.csv"))
    candidates = ("maladie des bronches", "chaleur", "gêne")
    assert items == [
        Candidates("t-2", "asthme", candidates, (0, 1, 2)),
        Candidates("t-3", "fièvre", candidates, (1, 2)),
    ]
    assert counts["pairs of a term that has others"] == 3
    assert counts["pairs of a paraphrase that has others"] == 2


def test_bad_terms_are_refused(tmp_path):
    assert "t.csv, line 7: 1 columns" in refused(CANDIDATES["refomed"], written(tmp_path, TERMS + "toux\n", "t.csv"))
    assert "columns are named 'term'" in refused(CANDIDATES["refomed"], written(tmp_path, "toux\tbruit\n", "t.csv"))


def test_fewer_candidates_keep_the_right_ones_and_depend_on_the_seed_and_the_item_alone():
    names = tuple(f"c{number}" for number in range(50))
    items = [Candidates("a", "A ?", names, (3, 40)), Candidates("b", "B ?", names, (0,))]
    drawn = fewer_candidates(items, 9, seed=1)
    for item, fewer in zip(items, drawn, strict=True):
        assert {fewer.candidates[one] for one in fewer.right} == {item.candidates[one] for one in item.right}
        assert len(set(fewer.candidates)) == len(item.right) + 9
        assert sorted(fewer.candidates, key=names.index) == list(fewer.candidates)
    assert drawn[1:] == fewer_candidates(items[1:], 9, seed=1)
    assert drawn != fewer_candidates(items, 9, seed=2)
    renamed = replace(items[0], id="c")
    assert fewer_candidates([renamed], 9, seed=1)[0].candidates != drawn[0].candidates
    assert fewer_candidates(items, 100, seed=1) == items


CONTEXT = "Le foie est un organe. Le foie filtre."


def squad(folder, answers, *more, **changes):
    record = {"id": "q1", "question": "Quoi ?", "answers": [{"text": text, "answer_start": at} for text, at in answers]}
    paragraphs = [{"context": CONTEXT, "qas": [record | changes, *more]}]
    return written(folder, {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]})


def test_squad_answers_of_several_annotators_are_forms_of_one(tmp_path):
    items, counts = read_items(
        READING["squad"], squad(tmp_path, [("foie", 26), ("Le foie", 23), ("foie", 26), ("foie", 3)])
    )
    places = ((0, 26, 30), (0, 23, 30), (0, 3, 7))
    text = hashlib.sha256(CONTEXT.encode()).hexdigest()
    assert items == [ReadingQuestion("q1", "Quoi ?", (CONTEXT,), (("foie", "Le foie"),), places, group=text)]
    assert not counts["answers moved to where their text stands"]


def test_squad_questions_are_grouped_by_their_text_not_by_its_place(tmp_path):
    groups = []
    for name, context in (("a", CONTEXT), ("b", "Un foie."), ("c", CONTEXT)):
        paragraphs = [{"context": context, "qas": [{"id": "q", "question": "Quoi ?", "answers": []}]}]
        (tmp_path / name).mkdir()
        file = written(tmp_path / name, {"data": [{"paragraphs": paragraphs}]}, "train.json")
        [item], _ = read_items(READING["squad"], file)
        groups.append(item.group)
    assert groups[0] == groups[2] != groups[1]


def test_squad_questions_without_an_answer(tmp_path):
    extra = {"is_impossible": True, "plausible_answers": [{"text": "foie", "answer_start": 3}]}
    items, counts = read_items(READING["squad"], squad(tmp_path, [], **extra))
    assert items[0].answers == items[0].places == () and counts["questions without an answer"] == 1
    assert "question 'q1': is_impossible is true" in refused(READING["squad"], squad(tmp_path, [("foie", 3)], **extra))


@pytest.mark.parametrize("start, place", [(20, (26, 30)), (5, (3, 7)), (-9, (3, 7)), (900, (26, 30))])
def test_squad_answers_at_another_offset_are_moved_to_the_nearest_and_counted(tmp_path, start, place):
    [item], counts = read_items(READING["squad"], squad(tmp_path, [("foie", start)]))
    assert item.places == ((0, *place),) and counts["answers moved to where their text stands"] == 1


@pytest.mark.parametrize("text, start, place", [("ana", 6, 6), ("ana", 4, 4), ("ana", 7, 6), ("a b a", 25, 25)])
def test_squad_answers_stay_where_they_overlap_themselves(tmp_path, text, start, place):
    context = "Sa banana mûre, or a a b a b a."
    file = squad(tmp_path, [(text, start)])
    file.write_text(file.read_text().replace(CONTEXT, context), encoding="utf-8")
    [item], counts = read_items(READING["squad"], file)
    assert context[place:].startswith(text) and item.places == ((0, place, place + len(text)),)
    assert counts["answers moved to where their text stands"] == (start != place)


@pytest.mark.parametrize(
    "answer, complaint",
    [
        (("rate", 3), "question 'q1': the answer 'rate' does not stand in the context"),
        (("foie est.", 3), "question 'q1': the answer 'foie est.' does not stand"),
        (("", 3), "question 'q1': the answer '' does not stand"),
        (("foie", "3"), "question 'q1': the key 'answer_start' is missing or not a whole number"),
        (("foie", True), "question 'q1': the key 'answer_start'"),
        ((None, 3), "question 'q1': the key 'text' is missing"),
    ],
)
def test_squad_answers_that_cannot_be_placed_are_refused(tmp_path, answer, complaint):
    assert complaint in refused(READING["squad"], squad(tmp_path, [answer]))


def test_bad_squad_files_are_refused(tmp_path):
    assert "q.json: the key 'data' is missing" in refused(READING["squad"], written(tmp_path, []))
    assert "entry 1 of data: the key 'paragraphs'" in refused(READING["squad"], written(tmp_path, {"data": [{}]}))
    assert "question 'q1': the key 'question'" in refused(READING["squad"], squad(tmp_path, [], question=1))
    assert "question 'q1': the key 'answers'" in refused(READING["squad"], squad(tmp_path, [], {"id": "q1"}))
    assert "entry 1 of data: the key 'id'" in refused(READING["squad"], squad(tmp_path, [], id=1))
    other = {"id": "q1", "question": "Où ?", "answers": []}
    assert "the id 'q1' is that of another item" in refused(READING["squad"], squad(tmp_path, [], other))
    file = tmp_path / "q.json"
    file.write_bytes('{"data":\n"é",'.encode() + '\n"é"}'.encode("latin-1"))
    assert "q.json, line 3: byte" in refused(READING["squad"], file)


SNIPPETS = ["IL-6 et INSULINE. Insulines, insuline (IL-6).", "Proinsuline."]


def bioasq(folder, *questions):
    records = [
        {"id": f"b{number}", "body": "Quoi ?", "snippets": [{"text": text} for text in SNIPPETS]} | question
        for number, question in enumerate(questions)
    ]
    return written(folder, {"questions": records})


def test_bioasq_factoids_and_lists_are_found_in_the_snippets_as_whole_words(tmp_path):
    forms = ["insuline ", "", "hormone"]
    file = bioasq(
        tmp_path,
        {"type": "factoid", "exact_answer": forms},
        {"type": "factoid", "exact_answer": [forms]},
        {"type": "factoid", "exact_answer": "insuline"},
        {"type": "list", "exact_answer": [["insuline", "hormone"], "il-6"]},
        {"type": "factoid", "exact_answer": ["insul.ne"]},
        {"type": "yesno", "exact_answer": "yes"},
        {"type": "summary"},
    )
    items, counts = read_items(READING["bioasq"], file)
    insulin = ((0, 8, 16), (0, 29, 37))
    assert items[0] == ReadingQuestion("b0", "Quoi ?", tuple(SNIPPETS), (("insuline", "hormone"),), insulin)
    assert items[1].answers == items[0].answers and items[2].answers == (("insuline",),)
    assert items[3].answers == (("insuline", "hormone"), ("il-6",)) and items[3].is_list
    assert items[3].places == ((0, 0, 4), (0, 8, 16), (0, 29, 37), (0, 39, 43))
    assert items[4].places == () and items[4].answers == (("insul.ne",),)
    assert counts["questions whose answer is in no snippet"] == 1
    assert counts["questions of type yesno left out"] == counts["questions of type summary left out"] == 1


def test_bioasq_questions_may_have_no_snippets_at_all(tmp_path):
    file = written(tmp_path, {"questions": [{"id": "b", "body": "Quoi ?", "type": "factoid", "exact_answer": "x"}]})
    items, counts = read_items(READING["bioasq"], file)
    assert items == [ReadingQuestion("b", "Quoi ?", (), (("x",),), ())] and counts["questions without snippets"] == 1


YES_NO = Labels(("yes", "no"))


def test_bioasq_yes_or_no_with_snippets_or_ideal_answers(tmp_path):
    ideal = ["Yes, il guérit.", "YES. Oui.", "Yesterday."]
    questions = (
        {"type": "yesno", "exact_answer": "yes", "ideal_answer": ideal},
        {"type": "yesno", "exact_answer": "no", "ideal_answer": "No", "snippets": []},
        {"type": "list", "exact_answer": ["x"]},
    )
    items, counts = read_items(TEXTS["bioasq"], bioasq(tmp_path, *questions), YES_NO)
    assert items == [
        LabelledText("b0", "Quoi ?", ("yes",), "\n".join(SNIPPETS)),
        LabelledText("b1", "Quoi ?", ("no",), None),
    ]
    assert (counts["questions without snippets"], counts["questions of type list left out"]) == (1, 1)
    items, _ = read_items(TEXTS["bioasq"], tmp_path / "q.json", YES_NO, context="ideal_answer")
    assert [item.second for item in items] == ["il guérit.\nOui.\nYesterday.", None]
    sentence = refused(TEXTS["bioasq"], tmp_path / "q.json", YES_NO, context="documents")
    assert "the context 'documents' is not known; choose one of snippets, ideal_answer" in sentence


@pytest.mark.parametrize(
    "answer, left",
    [
        ("No evidence supports it.", "No evidence supports it."),
        ("No-one knows.", "No-one knows."),
        ("Yes-associated protein is.", "Yes-associated protein is."),
        ("Yes (1 of 3).", "Yes (1 of 3)."),
        ("Not yes, but no.", "Not yes, but no."),
        (" no; (never) ", "(never) "),
        ("YES!? It is: yes.", "It is: yes."),
        ("Yes \u2013 in mice.", "in mice."),
        ("No - in mice.", "in mice."),
        ("Yes\n", ""),
    ],
)
def test_bioasq_ideal_answers_lose_a_leading_yes_or_no_that_punctuation_parts_from_the_rest(tmp_path, answer, left):
    file = bioasq(tmp_path, {"type": "yesno", "exact_answer": "yes", "ideal_answer": ["x", answer]})
    [item], _ = read_items(TEXTS["bioasq"], file, YES_NO, context="ideal_answer")
    assert item.second == f"x\n{left}"


@pytest.mark.parametrize(
    "question, complaint",
    [
        ({"type": "factoid"}, "exact_answer is None"),
        ({"type": "factoid", "exact_answer": [[""]]}, "in which an answer is empty"),
        ({"type": "list", "exact_answer": []}, "in which an answer is empty"),
        ({"type": "list", "exact_answer": [["x"], []]}, "in which an answer is empty"),
        ({"type": "list", "exact_answer": [[["x"]]]}, "texts or lists of texts are needed"),
        ({"type": "factoid", "exact_answer": {"x": 1}}, "texts or lists of texts are needed"),
        ({"type": "why"}, "the type 'why' is none of factoid"),
        ({"type": "factoid", "exact_answer": "x", "snippets": ["x"]}, "the key 'text' is missing"),
        ({"type": "factoid", "exact_answer": "x", "body": 1}, "the key 'body' is missing"),
        ({}, "the key 'type' is missing"),
    ],
)
def test_bad_bioasq_questions_are_refused(tmp_path, question, complaint):
    sentence = refused(READING["bioasq"], bioasq(tmp_path, {"type": "summary"}, question))
    assert "q.json, question 2" in sentence and complaint in sentence


def test_bioasq_answers_other_than_the_recipes_and_ids_that_come_twice_are_refused(tmp_path):
    perhaps = {"type": "yesno", "exact_answer": "perhaps"}
    assert "question 1: 'perhaps' is not known" in refused(TEXTS["bioasq"], bioasq(tmp_path, perhaps), YES_NO)
    nothing = {"type": "yesno"}
    assert "question 1: the key 'exact_answer'" in refused(TEXTS["bioasq"], bioasq(tmp_path, nothing), YES_NO)
    twice = [{"type": "yesno", "exact_answer": answer, "id": "b"} for answer in ("yes", "no")]
    assert "question 2: the id 'b'" in refused(TEXTS["bioasq"], bioasq(tmp_path, *twice), YES_NO)
