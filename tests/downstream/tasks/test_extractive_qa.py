"""Answers that stand in texts: characters to tokens and back, windows, no answer, lists."""

import numpy as np
import pytest
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream.data.examples import ReadingQuestion
from downstream.tasks.extractive_qa import Answer, ExtractiveAnswers, ReadingRecipe
from downstream.training.models import load_config
from downstream.training.tokenizer import frame_of, load_tokenizer

CONTEXT = "le patient du rein et une hépatite"
LOW, HIGH = -5.0, 5.0


def task_of(**keys) -> ExtractiveAnswers:
    splits = {"train": "a", "dev": "b", "test": "c"}
    return ExtractiveAnswers(ReadingRecipe(task="t", kind="extractive_qa", format="squad", splits=splits, **keys))


def question(*answers, contexts=(CONTEXT,), name="a", is_list=False) -> ReadingQuestion:
    places = [
        (number, text.index(form), text.index(form) + len(form))
        for number, text in enumerate(contexts)
        for forms in answers
        for form in forms
        if form in text
    ]
    return ReadingQuestion(name, "foie", tuple(contexts), tuple(answers), tuple(places), is_list)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = write_roberta(tmp_path_factory.mktemp("model"))
    tokenizer = load_tokenizer(folder)
    return tokenizer, frame_of(tokenizer, load_config(folder))


def logits_of(piece, first=None, last=None) -> np.ndarray:
    """High at these tokens of the piece, low elsewhere."""
    logits = np.full((len(piece.ids), 2), LOW)
    if first is not None:
        logits[first, 0], logits[last, 1] = HIGH, HIGH
    return logits


def gold_logits(piece) -> np.ndarray:
    return logits_of(piece, *piece.target)


@pytest.mark.parametrize("form", ["rein", "le patient", "hépatite", "patient du rein et une"])
def test_an_answer_survives_tokens_and_back(reader, form):
    task, item = task_of(), question((form,))
    encoded = task.encode([item], *reader, training=True)
    [answer] = task.decode(encoded, [gold_logits(piece) for piece in encoded.pieces])
    assert answer.texts[0] == form and task.score([item], [answer])["exact_match"] == 1.0


def test_an_answer_inside_a_word_takes_its_token(reader):
    encoded = task_of().encode([question(("ei",))], *reader, training=True)
    [piece] = encoded.pieces
    tokens = reader[0].convert_ids_to_tokens(piece.ids)
    assert [tokens[place] for place in piece.target] == ["▁rein", "▁rein"]


def test_windows_overlap_by_half_and_one_holds_the_answer_whole(reader):
    text = " ".join(["du"] * 40 + ["rein", "foie"] + ["du"] * 40)
    item, task = question(("rein foie",), contexts=(text,)), task_of(max_tokens=16)
    encoded = task.encode([item], *reader, training=True)
    assert all(len(piece.ids) <= 16 for piece in encoded.pieces)
    held = [piece for piece in encoded.pieces if piece.target != (0, 0)]
    assert len(held) in (1, 2) and len(encoded.pieces) > 10
    [answer] = task.decode(encoded, [gold_logits(piece) for piece in encoded.pieces])
    assert answer.texts[0] == "rein foie"


def test_several_answers_in_a_window_are_several_pieces_in_training_only(reader):
    item = question(("rein",), ("hépatite",), is_list=True)
    training, scoring = (task_of().encode([item], *reader, training=known) for known in (True, False))
    assert len(training.pieces) == 2 and len(scoring.pieces) == 1
    assert training.pieces[0].target != training.pieces[1].target


def test_no_answer_is_given_only_where_training_had_such_questions(reader):
    item, task = question(), task_of()
    encoded = task.encode([item], *reader, training=False)
    nothing = [logits_of(piece, 0, 0) for piece in encoded.pieces]
    task.begin([question(("rein",))])
    assert task.given(item, task.decode(encoded, nothing)[0])
    task.begin([question(("rein",)), item])
    [answer] = task.decode(encoded, nothing)
    assert task.given(item, answer) == () and task.score([item], [answer])["exact_match"] == 1.0
    found = [logits_of(piece, len(piece.ids) - 2, len(piece.ids) - 2) for piece in encoded.pieces]
    assert task.given(item, task.decode(encoded, found)[0])[0] == "ite"


def test_no_answer_in_one_window_does_not_hide_that_of_another(reader):
    contexts = ("le patient", "du rein")
    item, task = question(("rein",), contexts=contexts), task_of()
    task.begin([item, question()])
    encoded = task.encode([item], *reader, training=True)
    [answer] = task.decode(encoded, [gold_logits(piece) for piece in encoded.pieces])
    assert task.given(item, answer)[0] == "rein"


def test_the_same_answer_of_two_texts_is_given_once_with_its_best_logit(reader):
    item, task = question(("rein",), contexts=("du rein", "le REIN")), task_of()
    encoded = task.encode([item], *reader, training=False)
    rows = [logits_of(piece) for piece in encoded.pieces]
    for row, piece, height in zip(rows, encoded.pieces, (3.0, 4.0), strict=True):
        row[len(piece.ids) - 2] = height
    [answer] = task.decode(encoded, rows)
    assert answer.texts[0] == "REIN" and "rein" not in answer.texts
    assert sum(answer.probabilities) == pytest.approx(1.0) and answer.none == 0.0


def test_spans_are_in_order_and_not_too_long(reader):
    task, item = task_of(longest_answer=2), question(("rein",))
    encoded = task.encode([item], *reader, training=False)
    [piece] = encoded.pieces
    place = piece.place.place
    [answer] = task.decode(encoded, [logits_of(piece, place, place + 4)])
    tokens = [len(reader[0](text, add_special_tokens=False)["input_ids"]) for text in answer.texts]
    assert max(tokens) <= 2
    [answer] = task.decode(encoded, [logits_of(piece, place + 4, place)])  # the last before the first is no span
    assert all(text in CONTEXT for text in answer.texts)


def test_a_list_question_has_all_that_are_likely_enough_or_the_likeliest():
    task, item = task_of(list_threshold=0.3), question(("rein",), ("foie",), is_list=True)
    assert task.given(item, Answer(("rein", "foie", "toux"), (0.5, 0.3, 0.2), 0.0)) == ("rein", "foie")
    assert task.given(item, Answer(("rein", "foie"), (0.25, 0.2), 0.0)) == ("rein",)


def test_factoids_and_lists_are_scored_apart_and_the_chief_figure_passes_over_the_others():
    task = task_of(figure="list_f1")
    items = [question(("rein",)), question(("rein",), ("foie",), name="b", is_list=True)]
    answers = [Answer(("foie", "rein"), (0.6, 0.4), 0.0), Answer(("rein",), (1.0,), 0.0)]
    figures = task.score(items, answers)
    assert figures["exact_match"] == 0.0 and figures["factoids"]["mean_reciprocal_rank"] == 0.5
    assert figures["lists"]["f1"] == task.chosen(figures) == pytest.approx(2 / 3)
    assert task.tallies(items, answers)[0] is None and task.tallies(items, answers)[1] is not None


@pytest.mark.parametrize("figure", ["f1", "exact_match", "mean_reciprocal_rank", "lenient_accuracy", "list_f1"])
def test_the_figure_is_0_where_no_drawn_item_is_of_its_kind(figure):
    task, is_list = task_of(figure=figure), figure == "list_f1"
    of_its_kind, other = (question(("rein",), is_list=kind) for kind in (is_list, not is_list))
    right = Answer(("rein",), (1.0,), 0.0)
    assert task.chosen(task.score([of_its_kind], [right])) == 1.0
    assert task.chosen(task.score([other], [right])) == 0.0
    assert task.is_scored(of_its_kind) and not task.is_scored(other)


def test_a_long_question_is_cut_and_counted_and_one_without_room_is_refused(reader):
    item = ReadingQuestion("a", "foie " * 90, (CONTEXT,), (("rein",),), ())
    with pytest.raises(InputError, match="no room beside a question"):
        task_of().encode([item], *reader, training=False)
    frame = reader[1]._replace(longest=100)
    assert task_of().encode([item], reader[0], frame, training=False).counts["questions cut"] == 1


def test_nothing_to_learn_is_one_sentence():
    with pytest.raises(InputError, match="no training question has an answer in its text"):
        task_of().begin([question()])
