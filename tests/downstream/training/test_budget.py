"""Budgets: how many updates tokens are enough for, on which items the epoch is chosen, who ends a training."""

from collections import Counter

import pytest
import torch
from tiny_models import write_roberta

from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.learners.encoder import Encoder, Start
from downstream.tasks.base import Piece
from downstream.tasks.ner import NamedEntities
from downstream.tasks.ner_recipe import NerRecipe
from downstream.training.loop import Machine, num_epochs, num_updates
from downstream.training.protocol import Protocol

PIECES = [Piece([0] * length, None, 0) for length in (4, 6) * 5]  # 50 tokens


def protocol(**changes) -> Protocol:
    return Protocol(**{"batch": 4, "learning_rate": 1e-3, "epochs": 6, "source": "a test"} | changes)


@pytest.mark.parametrize(
    "changes, updates, epochs",
    [
        ({}, 18, 6),  # 3 updates an epoch
        ({"batch": 5}, 12, 6),
        ({"batch": 64}, 6, 6),
        ({"epochs": None, "updates": 7}, 7, 3),
        ({"training_tokens": 50}, 3, 1),
        ({"training_tokens": 125}, 7, 3),  # 2.5 epochs
        ({"training_tokens": 10**9}, 18, 6),
        ({"training_tokens": 1}, 1, 1),
        ({"training_tokens": 125, "batch": 64}, 2, 2),
        ({"epochs": None, "updates": 7, "training_tokens": 50}, 3, 1),
        ({"epochs": None, "updates": 900}, 900, 100),  # of 9 updates each: not 300 passes of 3
        ({"epochs": 101}, 303, 101),
    ],
)
def test_updates_and_epochs(changes, updates, epochs):
    assert num_updates(PIECES, protocol(**changes)) == updates
    assert num_epochs(PIECES, protocol(**changes)) == epochs


@pytest.fixture(scope="module")
def task() -> NamedEntities:
    splits = {name: name for name in ("train", "dev", "test")}
    return NamedEntities(NerRecipe(task="tiny", format="brat", splits=splits, types=["organ"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"))


@pytest.fixture
def items(task) -> list:
    counts: Counter = Counter()
    texts = [f"{word} foie {number}" for number, word in enumerate(["le", "la", "du", "de", "et", "une"])]
    documents = [
        AnnotatedText(str(number), text, [Entity("organ", ((text.index("foie"), text.index("foie") + 4),))])
        for number, text in enumerate(texts)
    ]
    return [task.example(document, counts) for document in documents]


def learner(task, folder, **changes) -> Encoder:
    return Encoder(task, Start(folder), protocol(**changes), Machine(torch.device("cpu"), False))


def scored(task, folder, items, monkeypatch, seeds=(1,), **changes) -> list[list[str]]:
    """The ids of the items of each scoring while it trains."""
    made, seen, real = learner(task, folder, **changes), [], task.score
    monkeypatch.setattr(task, "score", lambda given, answers: (seen.append(given), real(given, answers))[1])
    train, dev = made.encode(items, True), made.encode(items, False)
    for seed in seeds:
        made.fit(train, dev, seed)
    return [[item.document.id for item in given] for given in seen]


def test_the_epoch_is_chosen_on_the_same_few_items_for_all_seeds(task, folder, items, monkeypatch):
    seen = scored(task, folder, items, monkeypatch, seeds=(1, 2), epochs=2, dev_items=3)
    assert len(seen) == 4 and len({tuple(ids) for ids in seen}) == 1
    assert len(set(seen[0])) == 3 and seen[0] == sorted(seen[0]) and seen[0] != ["0", "1", "2"]


@pytest.mark.parametrize("dev_items", [None, 6, 100])
def test_the_epoch_is_chosen_on_all_items_where_there_are_not_more(task, folder, items, monkeypatch, dev_items):
    assert scored(task, folder, items, monkeypatch, epochs=1, dev_items=dev_items) == [["0", "1", "2", "3", "4", "5"]]


def test_who_watches_sees_every_epoch_and_may_end_the_training(task, folder, items):
    made, seen = learner(task, folder, epochs=5), []
    encoded = made.encode(items, True)
    assert made.fit(encoded, encoded, 1, seen.append) == seen and [one.epoch for one in seen] == [1, 2, 3, 4, 5]

    def stop(epoch):
        seen.append(epoch)
        if epoch.epoch == 2:
            raise StopAsyncIteration

    seen.clear()
    with pytest.raises(StopAsyncIteration):
        made.fit(encoded, encoded, 1, stop)
    assert [one.epoch for one in seen] == [1, 2]
