"""The training loop: batches, padding, schedule, and the best epoch kept."""

import random

import pytest
import torch
from tiny_models import write_roberta

from downstream.models import Frame, load_model
from downstream.recipe import Protocol
from downstream.tasks.ner import IGNORED, Sequence
from downstream.training import Machine, batches, best_epoch, collate, fit, optimizer_of, predict
from downstream.windows import Window

FRAME = Frame([0], [2], 1, 32)
CPU = Machine(torch.device("cpu"), bf16=False)
NAMES = ["O", "B-x", "I-x"]


def sequence(*ids, labels=None):
    return Sequence(list(ids), labels or [number % 3 for number in ids], 0, Window(0, len(ids), 0, len(ids)))


SEQUENCES = [sequence(*range(5, 5 + length)) for length in (3, 9, 1, 7, 20, 2, 2, 12, 4, 5, 6, 8, 11)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"), width=32)


@pytest.fixture
def model(folder):
    torch.manual_seed(1)
    return load_model(folder, NAMES, random_init=False)


def protocol(**changes):
    return Protocol(**{"batch": 4, "learning_rate": 5e-3, "epochs": 8, "source": "a test"} | changes)


def test_collate_frames_pads_and_hides_what_is_not_scored():
    batch = collate([sequence(7, 8), sequence(9, labels=[IGNORED])], FRAME, CPU.device)
    assert batch["input_ids"].tolist() == [[0, 7, 8, 2], [0, 9, 2, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert batch["labels"].tolist() == [[IGNORED, 1, 2, IGNORED], [IGNORED] * 4]


def test_batches_hold_every_sequence_once_and_change_with_the_draw():
    first, second = (list(batches(SEQUENCES, 2, random.Random(seed))) for seed in (1, 2))
    for found in (first, second):
        assert sorted(id(one) for batch in found for one in batch) == sorted(map(id, SEQUENCES))
    assert [list(map(id, batch)) for batch in first] != [list(map(id, batch)) for batch in second]
    assert list(batches(SEQUENCES, 2, random.Random(1))) == first


def test_batches_are_of_like_lengths():
    many = [sequence(*range(5, 6 + number % 20)) for number in range(256)]
    padded = sum(len(batch) * max(len(one.ids) for one in batch) for batch in batches(many, 8, random.Random(1)))
    assert padded < 1.15 * sum(len(one.ids) for one in many)


def test_schedule_warms_up_then_falls_to_zero_and_biases_do_not_decay(model):
    optimizer, schedule = optimizer_of(model, protocol(learning_rate=1.0, warmup=0.2), 10)
    rates = []
    for _ in range(10):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    assert optimizer.param_groups[0]["lr"] == 0.0
    decayed, plain = optimizer.param_groups
    assert decayed["weight_decay"] == 0.01 and {one.ndim for one in decayed["params"]} == {2}
    assert plain["weight_decay"] == 0.0 and {one.ndim for one in plain["params"]} == {1}


def test_the_head_has_its_own_rate(model):
    optimizer, _ = optimizer_of(model, protocol(learning_rate=1e-3, head_learning_rate=1e-2, warmup=0.0), 10)
    rates = {id(one): group["initial_lr"] for group in optimizer.param_groups for one in group["params"]}
    assert len(rates) == len(list(model.parameters()))
    for name, parameter in model.named_parameters():
        assert rates[id(parameter)] == (1e-2 if name.startswith("classifier.") else 1e-3), name
    shared, _ = optimizer_of(model, protocol(learning_rate=1e-3), 10)
    assert {group["initial_lr"] for group in shared.param_groups} == {1e-3}


def test_predictions_do_not_depend_on_the_company_of_a_sequence(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(30 if parameter.ndim == 2 else 1)  # so that attention to padding would be seen
        model.get_input_embeddings().weight[FRAME.padding].normal_()
    together = predict(model, SEQUENCES, FRAME, CPU)
    alone = [predict(model, [one], FRAME, CPU)[0] for one in SEQUENCES]
    assert together == alone
    assert [len(row) for row in together] == [len(one.ids) for one in SEQUENCES]


def test_it_learns_and_keeps_the_last_of_the_best_epochs(model):
    scores = iter([0.1, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2])
    kept = []

    def dev_f1():
        kept.append(model.state_dict()["classifier.weight"].clone())
        return next(scores)

    curve = fit(model, SEQUENCES, FRAME, protocol(), 1, CPU, dev_f1)
    assert [one.epoch for one in curve] == list(range(1, 9)) and best_epoch(curve).epoch == 3
    assert curve[-1].loss < 0.5 * curve[0].loss
    assert torch.equal(model.classifier.weight, kept[2])


def test_patience_stops_early(model):
    scores = iter([0.1, 0.5, 0.2, 0.5, 0.9])
    curve = fit(model, SEQUENCES, FRAME, protocol(patience=2), 1, CPU, lambda: next(scores))
    assert len(curve) == 4  # epochs 3 and 4 are no better than epoch 2


def test_the_same_seed_gives_the_same_weights(folder):
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        model = load_model(folder, NAMES, random_init=False)
        fit(model, SEQUENCES, FRAME, protocol(epochs=2), seed, CPU, lambda: 0.0)
        weights.append(model.classifier.weight.detach().clone())
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_bf16_learns_too(model):
    curve = fit(model, SEQUENCES, FRAME, protocol(), 1, Machine(CPU.device, bf16=True), lambda: 0.0)
    assert curve[-1].loss < 0.5 * curve[0].loss
    assert model.classifier.weight.dtype == torch.float32
