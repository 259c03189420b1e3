"""The training loop: batches, padding, schedule, rates by layer, and the epoch that is kept."""

import random

import pytest
import torch
from tiny_models import write_roberta
from transformers import (
    AlbertConfig,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BertConfig,
    DistilBertConfig,
    ElectraConfig,
    RobertaConfig,
    XLMConfig,
)

from alibert_common.errors import InputError
from downstream.tasks.base import IGNORED, Piece
from downstream.training.epochs import Epoch, kept_epoch
from downstream.training.heads import a_label_per_token
from downstream.training.loop import (
    Learned,
    Machine,
    batches,
    collate,
    fit,
    num_updates,
    optimizer_of,
    predict,
)
from downstream.training.models import load_model
from downstream.training.protocol import Protocol

CPU = Machine(torch.device("cpu"), bf16=False)
HEAD = a_label_per_token(["O", "B-x", "I-x"])
PADDING = 1


def piece(*ids, types=None):
    """Framed, and labels to learn that the ids tell."""
    own = [[number % 3] for number in ids]
    return Piece([0, *ids, 2], [[IGNORED], *own, [IGNORED]], 0, types=types)


PIECES = [piece(*range(5, 5 + length)) for length in (3, 9, 1, 7, 20, 2, 2, 12, 4, 5, 6, 8, 11)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"), width=32)


@pytest.fixture
def model(folder):
    torch.manual_seed(1)
    return load_model(folder, HEAD, random_init=False)


def learned_by(model, machine=CPU):
    return Learned(model, HEAD, PADDING, machine)


def protocol(**changes):
    return Protocol(**{"batch": 4, "learning_rate": 5e-3, "epochs": 8, "source": "a test"} | changes)


def test_collate_pads_ids_and_targets():
    pieces = [piece(7, 8), piece(9)]
    batch = collate(pieces, PADDING, CPU.device)
    assert batch["input_ids"].tolist() == [[0, 7, 8, 2], [0, 9, 2, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert set(batch) == {"input_ids", "attention_mask"}
    targets = HEAD.targets([one.target for one in pieces], 4)
    assert targets.squeeze(-1).tolist() == [[IGNORED, 1, 2, IGNORED], [IGNORED, 0, IGNORED, IGNORED]]


def test_collate_gives_token_types_where_a_piece_has_some():
    batch = collate([piece(7, 8, types=[0, 0, 1, 1]), piece(9)], PADDING, CPU.device)
    assert batch["token_type_ids"].tolist() == [[0, 0, 1, 1], [0, 0, 0, 0]]


def test_batches_hold_every_sequence_once_and_change_with_the_draw():
    first, second = (list(batches(PIECES, 2, random.Random(seed))) for seed in (1, 2))
    for found in (first, second):
        assert sorted(id(one) for batch in found for one in batch) == sorted(map(id, PIECES))
    assert [list(map(id, batch)) for batch in first] != [list(map(id, batch)) for batch in second]
    assert list(batches(PIECES, 2, random.Random(1))) == first


def test_batches_are_of_like_lengths():
    many = [piece(*range(5, 6 + number % 20)) for number in range(256)]
    padded = sum(len(batch) * max(len(one.ids) for one in batch) for batch in batches(many, 8, random.Random(1)))
    assert padded < 1.15 * sum(len(one.ids) for one in many)


def rates_of(model, asked: Protocol, updates: int) -> list[float]:
    """The learning rate at each update, and after the last."""
    optimizer, schedule = optimizer_of(model, asked, updates)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(updates):
        optimizer.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def test_schedule_warms_up_then_falls_to_zero_and_biases_do_not_decay(model):
    rates = rates_of(model, protocol(learning_rate=1.0, warmup=0.2), 10)
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0.0])
    decayed, plain = optimizer_of(model, protocol(), 10)[0].param_groups
    assert decayed["weight_decay"] == 0.01 and {one.ndim for one in decayed["params"]} == {2}
    assert plain["weight_decay"] == 0.0 and {one.ndim for one in plain["params"]} == {1}


def test_warmup_updates_take_the_place_of_the_share(model):
    rates = rates_of(model, protocol(learning_rate=1.0, warmup=0.9, warmup_updates=4), 8)
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0])


def rates_by_name(model, asked: Protocol) -> dict[str, float]:
    optimizer, _ = optimizer_of(model, asked, 10)
    rates = {id(one): group["initial_lr"] for group in optimizer.param_groups for one in group["params"]}
    names = {name: rates.pop(id(parameter)) for name, parameter in model.named_parameters() if id(parameter) in rates}
    assert not rates  # every weight in one group
    return names


def test_the_head_has_its_own_rate(model):
    rates = rates_by_name(model, protocol(learning_rate=1e-3, head_learning_rate=1e-2, warmup=0.0))
    assert set(rates) == {name for name, _ in model.named_parameters()}
    for name, rate in rates.items():
        assert rate == (1e-2 if name.startswith("classifier.") else 1e-3), name
    assert set(rates_by_name(model, protocol(learning_rate=1e-3)).values()) == {1e-3}


SMALL = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
THREE_LAYERS = {
    "roberta": (
        RobertaConfig(**SMALL, num_hidden_layers=3),
        {"roberta.encoder.layer.0.": 1 / 8, "roberta.encoder.layer.1.": 1 / 4, "roberta.encoder.layer.2.": 1 / 2,
         "roberta.embeddings.": 1 / 16, "classifier.": 10},
    ),
    "electra": (
        ElectraConfig(**SMALL, num_hidden_layers=3, embedding_size=4),
        {"electra.encoder.layer.0.": 1 / 8, "electra.encoder.layer.1.": 1 / 4, "electra.encoder.layer.2.": 1 / 2,
         "electra.embeddings": 1 / 16, "classifier.": 10},
    ),
    "bert": (
        BertConfig(**SMALL, num_hidden_layers=3),
        {"bert.encoder.layer.0.": 1 / 8, "bert.encoder.layer.1.": 1 / 4, "bert.encoder.layer.2.": 1 / 2,
         "bert.embeddings.": 1 / 16, "bert.pooler.": 10, "classifier.": 10},
    ),
    "albert": (  # one layer, three times
        AlbertConfig(**SMALL, num_hidden_layers=3, embedding_size=4),
        {"albert.encoder.albert_layer_groups.0.": 1 / 2, "albert.encoder.embedding_hidden_mapping_in.": 1 / 4,
         "albert.embeddings.": 1 / 4, "albert.pooler.": 10, "classifier.": 10},
    ),
    "distilbert": (
        DistilBertConfig(vocab_size=20, dim=8, n_heads=2, hidden_dim=16, n_layers=3),
        {"distilbert.transformer.layer.0.": 1 / 8, "distilbert.transformer.layer.1.": 1 / 4,
         "distilbert.transformer.layer.2.": 1 / 2, "distilbert.embeddings.": 1 / 16, "pre_classifier.": 10,
         "classifier.": 10},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", THREE_LAYERS)
def test_lower_layers_learn_more_slowly(name):
    config, shares = THREE_LAYERS[name]
    model = AutoModelForSequenceClassification.from_config(config)
    rates = rates_by_name(model, protocol(learning_rate=1.0, head_learning_rate=10.0, layer_decay=0.5))
    for weight, rate in rates.items():
        [share] = [share for start, share in shares.items() if weight.startswith(start)]
        assert rate == share, weight
    assert all(any(weight.startswith(start) for weight in rates) for start in shares)
    plain = rates_by_name(model, protocol(learning_rate=1.0, head_learning_rate=10.0))
    assert set(plain.values()) == {1.0, 10.0}


def test_an_encoder_whose_layers_are_not_known_is_refused():
    model = AutoModelForTokenClassification.from_config(XLMConfig(vocab_size=20, emb_dim=8, n_layers=2, n_heads=2))
    with pytest.raises(InputError, match="no layers are known of xlm"):
        optimizer_of(model, protocol(layer_decay=0.5), 10)
    assert rates_by_name(model, protocol())


def test_predictions_do_not_depend_on_the_company_of_a_sequence(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(30 if parameter.ndim == 2 else 1)  # so that attention to padding would be seen
        model.get_input_embeddings().weight[PADDING].normal_()
    together = [row[:, 0].tolist() for row in predict(learned_by(model), PIECES)]
    alone = [predict(learned_by(model), [one])[0][:, 0].tolist() for one in PIECES]
    assert together == alone and len({label for row in alone for label in row}) > 1
    assert [len(row) for row in together] == [len(one.ids) for one in PIECES]


def test_it_learns_and_keeps_the_last_of_the_best_epochs(model):
    scores = iter([0.1, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2])
    seen = []

    def dev():
        seen.append(model.state_dict()["classifier.weight"].clone())
        return next(scores)

    curve = fit(learned_by(model), PIECES, protocol(), 1, dev)
    assert [one.epoch for one in curve] == list(range(1, 9)) and kept_epoch(curve, "best").epoch == 3
    assert [one.dev for one in curve] == [0.1, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2]
    assert curve[-1].loss < 0.5 * curve[0].loss
    assert torch.equal(model.classifier.weight, seen[2])


def test_the_last_epoch_is_kept_where_the_protocol_says_so(model):
    scores, seen = iter([0.9, 0.5, 0.2]), []

    def dev():
        seen.append(model.state_dict()["classifier.weight"].clone())
        return next(scores)

    curve = fit(learned_by(model), PIECES, protocol(epochs=3, keep="last"), 1, dev)
    assert kept_epoch(curve, "last").epoch == 3 and torch.equal(model.classifier.weight, seen[2])
    assert not torch.equal(seen[0], seen[2])


def test_of_a_curve_the_best_epoch_or_the_last_one():
    curve = [Epoch(number, 1.0, dev, 1.0) for number, dev in enumerate([0.1, 0.4, 0.4, 0.3], 1)]
    assert (kept_epoch(curve, "best").epoch, kept_epoch(curve, "last").epoch) == (3, 4)


@pytest.mark.parametrize(  # 13 pieces, 4 a batch: 4 updates an epoch
    "patience, epochs", [({"patience": 2}, 4), ({"patience_updates": 8}, 4), ({"patience_updates": 5}, 4),
                         ({"patience_updates": 4}, 3)]
)  # fmt: skip
def test_patience_stops_early(model, patience, epochs):
    scores = iter([0.1, 0.5, 0.2, 0.5, 0.9])
    curve = fit(learned_by(model), PIECES, protocol(**patience), 1, lambda: next(scores))
    assert len(curve) == epochs  # epochs 3 and 4 are no better than epoch 2


@pytest.mark.parametrize("updates, epochs", [(1, 1), (4, 1), (5, 2), (9, 3)])  # 13 pieces, 4 a batch: 4 an epoch
def test_updates_take_the_place_of_epochs(model, monkeypatch, updates, epochs):
    done, asked = [], protocol(epochs=None, updates=updates)
    monkeypatch.setattr("downstream.training.loop._update", lambda *_: done.append(1) or torch.tensor(1.0))
    assert num_updates(PIECES, asked) == updates and num_updates(PIECES, protocol()) == 32
    curve = fit(learned_by(model), PIECES, asked, 1, lambda: 0.0)
    assert (len(done), len(curve)) == (updates, epochs)


@pytest.mark.parametrize("epoch, updates", [(None, 8), (13, 8), (20, 10), (26, 14), (5, 4)])
def test_an_epoch_may_be_longer_than_one_pass_or_shorter(model, monkeypatch, epoch, updates):
    """13 pieces, 4 a batch: 4 updates a pass; each pass has every piece once, wherever epochs end."""
    met, at = [], []
    update = "downstream.training.loop._update"
    monkeypatch.setattr(update, lambda _, batch, *__: met.append(batch) or torch.tensor(1.0))
    curve = fit(learned_by(model), PIECES, protocol(epochs=2), 1, lambda: at.append(len(met)) or 0.0, epoch=epoch)
    assert at == [updates // 2, updates] and len(curve) == 2
    assert num_updates(PIECES, protocol(epochs=2), epoch) == updates
    for start in range(0, updates - 3, 4):
        assert sorted(id(one) for batch in met[start : start + 4] for one in batch) == sorted(map(id, PIECES))


def test_the_same_seed_gives_the_same_weights(folder):
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        model = load_model(folder, HEAD, random_init=False)
        fit(learned_by(model), PIECES, protocol(epochs=2), seed, lambda: 0.0)
        weights.append(model.classifier.weight.detach().clone())
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_bf16_learns_too(model):
    curve = fit(learned_by(model, Machine(CPU.device, bf16=True)), PIECES, protocol(), 1, lambda: 0.0)
    assert curve[-1].loss < 0.5 * curve[0].loss
    assert model.classifier.weight.dtype == torch.float32


def test_a_model_that_diverges_is_one_sentence(model):
    with pytest.raises(InputError, match=r"diverged \(its loss is (nan|inf) after \d+ updates\); lower the protocol's"):
        fit(learned_by(model), PIECES, protocol(learning_rate=1e30, clip=1e30), 1, lambda: 0.0)
