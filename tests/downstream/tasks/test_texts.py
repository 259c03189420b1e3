"""Texts and pairs as pieces: nothing is cut off, every window learns the answer, the mean of the windows answers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream.data.examples import Candidates, LabelledText, Mention, Relation, ScoredPair
from downstream.tasks.candidates import CandidatesRecipe, MultipleChoice, Ranking, chosen
from downstream.tasks.classification import TextClassification, TextRecipe
from downstream.tasks.relations import RelationRecipe, Relations, shown
from downstream.tasks.similarity import Similarity, SimilarityRecipe
from downstream.tasks.texts import slices, windows_of
from downstream.training.models import load_config
from downstream.training.tokenizer import Frame, frame_of, load_tokenizer

SPLITS = {"train": "a", "dev": "b", "test": "c"}
FRAME = Frame([0], [2], 1, 12, ([0], [2, 2], [2]), False)


def classification(**keys) -> TextClassification:
    recipe = {"task": "t", "format": "table", "splits": SPLITS, "labels": ["x", "y", "z"]} | keys
    return TextClassification(TextRecipe(kind="classification", **recipe))


def relations(**keys) -> Relations:
    recipe = {"task": "t", "format": "chemprot", "splits": SPLITS, "labels": ["no", "yes", "both"], "negative": "no"}
    return Relations(RelationRecipe(kind="relations", **(recipe | keys)))


def candidates(family, **keys):
    return family(CandidatesRecipe(task="t", kind="choice", format="refomed", splits=SPLITS, **keys))


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A tokenizer and its frame, of 32 tokens."""
    folder = write_roberta(tmp_path_factory.mktemp("model"))
    tokenizer = load_tokenizer(folder)
    return tokenizer, frame_of(tokenizer, load_config(folder))


@given(st.integers(0, 200), st.integers(1, 40))
def test_slices_cover_everything_and_never_exceed_their_size(length, size):
    found = slices(length, size)
    assert {place for begin, end in found for place in range(begin, end)} == set(range(length))
    assert all(end - begin == min(size, length) for begin, end in found)
    assert found[0][0] == 0 and found[-1][1] == length


def test_slices_overlap_by_an_eighth():
    assert slices(40, 16) == [(0, 16), (14, 30), (24, 40)]
    assert slices(40, 16, overlap=8) == [(0, 16), (8, 24), (16, 32), (24, 40)]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(8, 12))
def test_windows_of_a_pair_hold_every_token_and_fit(first, second, longest):
    one, two = list(range(100, 100 + first)), list(range(200, 200 + second))
    found = [ids for ids, _ in windows_of(one, two, FRAME, longest)]
    assert all(len(ids) <= longest for ids in found)
    assert {token for ids in found for token in ids} - {0, 2} == {*one, *two}
    assert {(a, b) for ids in found for a in ids if a in one for b in ids if b in two} == {
        (a, b) for a in one for b in two
    }


def test_the_shorter_text_of_a_pair_is_read_whole():
    found = [ids for ids, _ in windows_of([7, 8], list(range(20, 40)), FRAME, 12)]
    assert all(ids[1:3] == [7, 8] for ids in found) and len(found) > 1


def test_a_long_text_is_read_in_windows_whose_mean_answers(reader):
    task, (tokenizer, frame) = classification(), reader
    items = [LabelledText("a", "foie " * 60, ("y",)), LabelledText("b", "rein", ("x",)), LabelledText("c", "", ("z",))]
    encoded = task.encode(items, tokenizer, frame, training=True)
    per_item = Counter(piece.item for piece in encoded.pieces)
    assert per_item[0] > 1 and per_item[1] == per_item[2] == 1
    assert {piece.target for piece in encoded.pieces if piece.item == 0} == {1}
    assert encoded.counts["texts in several windows"] == 1
    rows = [np.array([0.0, 1.0, 0.0])] * len(encoded.pieces)
    rows[0] = np.array([0.0, 0.0, 0.9])  # one window is of another mind; the mean of all is not
    assert task.decode(encoded, rows)[0] == ("y",)
    rows[0] = np.array([0.0, 0.0, 99.0])
    assert task.decode(encoded, rows)[0] == ("z",)


def test_single_labels_are_scored_by_accuracy_and_several_by_f1():
    items = [LabelledText(str(number), "t", (label,)) for number, label in enumerate("xxyz")]
    answers = [("x",), ("y",), ("y",), ("z",)]
    assert classification().chosen(classification().score(items, answers)) == 0.75
    task = classification(multi_label=True, figure="exact_match")
    assert task.chosen(task.score(items, [("x",), ("x", "y"), ("y",), ()])) == 0.5


def test_several_labels_are_those_likelier_than_not(reader):
    task, (tokenizer, frame) = classification(multi_label=True), reader
    items = [LabelledText("a", "foie", ("x", "z"))]
    encoded = task.encode(items, tokenizer, frame, training=False)
    assert [piece.target for piece in encoded.pieces] == [[1.0, 0.0, 1.0]]
    assert task.decode(encoded, [np.array([0.1, -0.1, 0.0])]) == [("x",)]


def test_documents_have_the_labels_of_their_sentences():
    task = classification(multi_label=True, by_group=True, figure="example_f1")
    gold = [("x",), (), ("y",), ("z",)]
    items = [LabelledText(f"{number}", "t", one, group="ab"[number // 2]) for number, one in enumerate(gold)]
    answers = [(), ("x",), ("y",), ("y",)]  # a: right as a document; b: half
    figures = task.score(items, answers)
    assert figures["example_based"] == pytest.approx({"precision": 1.0, "recall": 0.75, "f1": 6 / 7})
    tallies = task.tallies(items, answers)
    assert [one is None for one in tallies] == [False, True, False, True]


def test_relations_are_scored_without_the_negative_label():
    items = [Relation(str(number), "t", label) for number, label in enumerate(["no", "no", "yes", "both"])]
    figures = relations().score(items, ["no", "yes", "yes", "no"])
    assert figures["micro"]["precision"] == figures["micro"]["recall"] == 0.5 and set(figures["classes"]) == {
        "yes", "both"
    }  # fmt: skip


TEXT = "La toux et la fièvre."


def related(first, second) -> Relation:
    return Relation("a", TEXT, "yes", (Mention(*first, "sign"), Mention(*second, "symptom")))


@pytest.mark.parametrize(
    "first, second, replaced, marked",
    [
        ((3, 7), (14, 20), "La @SIGN$ et la @SYMPTOM$.", "La << toux >> et la [[ fièvre ]]."),
        ((14, 20), (3, 7), "La @SYMPTOM$ et la @SIGN$.", "La [[ toux ]] et la << fièvre >>."),
        ((3, 20), (14, 20), "La @SIGN$ @SYMPTOM$.", "La << toux et la [[ fièvre ]] >>."),
        ((14, 20), (3, 20), "La @SYMPTOM$ @SIGN$.", "La [[ toux et la << fièvre >> ]]."),
        ((3, 7), (3, 20), "La @SIGN$ @SYMPTOM$.", "La [[ << toux >> et la fièvre ]]."),
        ((3, 7), (3, 7), "La @SIGN$ @SYMPTOM$ et la fièvre.", "La << [[ toux ]] >> et la fièvre."),
        ((3, 7), (7, 10), "La @SIGN$@SYMPTOM$ la fièvre.", "La << toux >>[[  et ]] la fièvre."),
    ],
)
def test_mentions_are_replaced_or_marked(first, second, replaced, marked):
    assert shown(related(first, second), "replaced") == replaced
    assert shown(related(first, second), "marked") == marked


def test_a_text_without_mentions_stands_as_it_is():
    assert shown(Relation("a", "@GENE$ et @DISEASE$", "yes"), "marked") == "@GENE$ et @DISEASE$"


def test_relations_of_a_copied_sentence_are_looked_for_in_its_own_words():
    assert list(relations().texts(related((3, 7), (14, 20)))) == [TEXT]


def test_options_above_zero_are_chosen_or_the_highest():
    assert chosen([0.5, -1.0, 0.1]) == (0, 2) and chosen([-3.0, -1.0, -2.0]) == (1,)


def test_candidates_are_read_with_the_question_and_right_ones_weigh_as_much_as_wrong_ones(reader):
    task, (tokenizer, frame) = candidates(Ranking), reader
    items = [Candidates("a", "foie", ("rein", "cuisse", "toux"), (1,)), Candidates("b", "rein", ("foie", "du"), (0,))]
    task.begin(items)
    assert task.weight == 1.5
    encoded = task.encode(items, tokenizer, frame, training=True)
    assert [piece.target for piece in encoded.pieces] == [[0.0], [1.0], [0.0], [1.0], [0.0]]
    assert tokenizer.convert_ids_to_tokens(encoded.pieces[1].ids) == ["<s>", "▁foie", "</s>", "▁cuisse", "</s>"]
    found = task.decode(encoded, [np.array([float(number)]) for number in range(5)])
    assert found == [[0.0, 1.0, 2.0], [3.0, 4.0]]
    assert task.score(items, found)["mean_reciprocal_rank"] == 0.5


@pytest.mark.parametrize(
    "task, items, complaint",
    [
        (classification(), [LabelledText("a", "t", ("x",))] * 2, "the same labels"),
        (relations(), [Relation("a", "t", "yes")] * 2, "one label"),
        (candidates(Ranking), [Candidates("a", "q", ("b",), (0,))], "1 right candidates, 0 wrong ones"),
        (
            Similarity(SimilarityRecipe(task="t", kind="similarity", format="table", splits=SPLITS)),
            [ScoredPair("a", "b", "c", 1.0)] * 2,
            "one score",
        ),
    ],
)
def test_nothing_to_learn_is_one_sentence(task, items, complaint):
    with pytest.raises(InputError, match=complaint):
        task.begin(items)


def test_a_question_with_one_option_is_no_choice(tmp_path):
    keys = {"task": "t", "kind": "choice", "splits": SPLITS}
    columns = {"question": "q", "options": {"a": "a"}, "right": "right"}
    (tmp_path / "a.tsv").write_text("q\ta\tright\nfoie\trein\ta\n")
    task = MultipleChoice(CandidatesRecipe(format="options", reader=columns, **keys))
    with pytest.raises(InputError, match="a.tsv: a-2 has 1 candidates; a choice is between two or more."):
        task.read(tmp_path / "a.tsv", "options", Counter())


def test_a_text_with_two_labels_needs_multi_label(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tlabel\nfoie\tx|y\n")
    task = classification(reader={"text": "text", "label": "label", "separator": "|"})
    with pytest.raises(InputError, match="a.tsv: a-2 has 2 labels; each text needs one, or say multi_label: true"):
        task.read(tmp_path / "a.tsv", "table", Counter())
