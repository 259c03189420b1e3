"""The bi-encoder: its loss by hand, its vectors against those of the saved folder, and that it learns to rank."""

import dataclasses

import numpy as np
import pytest
import torch
from baseline_helpers import items_of, learned, on, task_of
from test_encoder_learner import CPU
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream.data.examples import Candidates
from downstream.learners.baselines.cosine import EncoderCosine
from downstream.learners.bi_encoder import TEMPERATURE, BiEncoder, Cosines
from downstream.learners.encoder import Start
from downstream.learners.registry import FORMS
from downstream.run_config import build_parser, kind_of
from downstream.training.loop import collate, num_updates
from downstream.training.protocol import Protocol

PROTOCOL = Protocol(batch=8, learning_rate=3e-3, epochs=20, source="a test", dropout=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"), width=32)


def bi_encoder(folder, protocol=PROTOCOL, **keys) -> BiEncoder:
    return BiEncoder(task_of("ranking", **keys), Start(folder), protocol, CPU)


def by_rows(values: np.ndarray, of_questions: dict, of_candidates: dict) -> float:
    """The mean cross-entropy of each row and column, with these wrong ones."""
    lost = []
    for table, wrong in ((values / TEMPERATURE, of_questions), (values.T / TEMPERATURE, of_candidates)):
        lost += [np.logaddexp.reduce(table[row, [row, *others]]) - table[row, row] for row, others in wrong.items()]
    return float(np.mean(lost))


ALL, TWICE = {0: [1, 2], 1: [0, 2], 2: [0, 1]}, {0: [1], 1: [0, 2], 2: [1]}


@pytest.mark.parametrize(
    "texts, of_questions, of_candidates",
    [
        ([[0, 1], [2, 3], [4, 5]], ALL, ALL),
        ([[0, 1], [2, 3], [4, 1]], TWICE, TWICE),  # two have one candidate
        ([[1, 0], [3, 2], [1, 4]], TWICE, TWICE),  # two have one question
        ([[0, 1], [2, 0], [4, 5]], ALL | {0: [2]}, ALL | {1: [2]}),  # a question is another's candidate
    ],
)
def test_the_loss_is_of_both_directions_and_a_text_that_occurs_twice_is_not_wrong(texts, of_questions, of_candidates):
    values = torch.tensor([[0.9, 0.1, 0.3], [0.2, 0.8, 0.4], [0.5, 0.6, 0.7]], dtype=torch.float64)
    found = Cosines(values, torch.tensor(texts)).loss().item()
    assert found == pytest.approx(by_rows(values.numpy(), of_questions, of_candidates), rel=1e-5)


def test_it_learns_to_rank_and_the_saved_folder_has_its_cosines(folder, tmp_path):
    learner = bi_encoder(folder)
    train, dev = items_of(learner.task, 64, 1), items_of(learner.task, 32, 2)
    before = on(learned(EncoderCosine(learner.task, folder, CPU), train, dev), dev)
    learned(learner, train, dev)
    assert on(learner, dev) > max(0.8, before + 0.1)
    assert learner.curve[-1].loss < 0.5 * learner.curve[0].loss
    learner.save(tmp_path / "saved", {})
    saved = learned(EncoderCosine(learner.task, tmp_path / "saved", CPU), train, dev)
    encoded = learner.encode(dev, False)
    for mine, its in zip(learner.answer(encoded), saved.answer(saved.encode(dev, False)), strict=True):
        assert mine == pytest.approx(its, abs=1e-5)


def test_a_batch_has_the_cosines_of_its_texts(folder):
    learner = bi_encoder(folder, dataclasses.replace(PROTOCOL, epochs=1))
    train = items_of(learner.task, 6, 1)
    learned(learner, train, train)
    pieces = learner.encode(train, True).pieces
    learner.model.eval()
    with torch.no_grad():
        found = learner.model(**collate(pieces, learner.frame.padding, CPU.device))
        with torch.autocast("cpu", dtype=torch.bfloat16):  # whose steps would make equals of near cosines
            assert learner.model(**collate(pieces, learner.frame.padding, CPU.device)).values.dtype == torch.float32
    answers = learner.answer(learner.encode(train, False))
    for number, piece in enumerate(pieces):
        assert found.values[number, number].item() == pytest.approx(answers[number][piece.place], abs=1e-5)


def test_it_trains_on_right_candidates_and_reads_a_long_text_whole_only_afterwards(folder):
    learner = bi_encoder(folder, max_tokens=8)
    item = Candidates("1", "le foie", ("le rein " * 9, "le foie"), (0,))
    encoded = learner.encode([item], True)
    [piece] = encoded.pieces
    assert piece.place == 0 and len(piece.beside.ids) == 8 and piece.beside.texts == (0, 1)
    assert encoded.counts["texts cut in training"] == 1 and encoded.counts["tokens"] == len(piece.ids) + 8
    other = dataclasses.replace(item, candidates=("le rein " * 3 + "de la douleur " * 6, "le foie"))
    learned(learner, items_of(learner.task, 4, 1), [item])
    [first], [second] = (learner.answer(learner.encode([one], False)) for one in (item, other))
    assert first[0] != pytest.approx(second[0], abs=1e-4)


def test_a_form_serves_its_families_alone():
    args = build_parser().parse_args(["recipe.yaml", "--model", "m", "--form", "bi-encoder"])
    assert kind_of(args, "ranking") is FORMS["bi-encoder"]
    with pytest.raises(InputError, match=r"^--form bi-encoder: does not serve ner, only ranking"):
        kind_of(args, "ner")


def test_a_batch_and_a_training_split_of_one_question_are_refused(folder):
    with pytest.raises(InputError, match=r"^batch is 1; --form bi-encoder compares the questions of a batch"):
        bi_encoder(folder, dataclasses.replace(PROTOCOL, batch=1))
    learner = bi_encoder(folder)
    with pytest.raises(InputError, match=r"^tiny: one right candidate; --form bi-encoder needs two"):
        learned(learner, items_of(learner.task, 1, 1), items_of(learner.task, 4, 2))


def test_both_texts_count_in_a_budget_of_tokens(folder):
    learner = bi_encoder(folder)
    pieces = learner.encode(items_of(learner.task, 16, 1), True).pieces
    tokens = sum(len(piece.ids) + len(piece.beside.ids) for piece in pieces)
    budget = dataclasses.replace(PROTOCOL, training_tokens=3 * tokens)
    assert num_updates(pieces, budget) == 3 * 2  # three epochs of two batches
