"""Networks over word vectors: they learn, the seed decides; neither padding nor words of test matter to training."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from baseline_helpers import items_of, learned, on, task_of
from torch import nn

from alibert_common.errors import InputError
from downstream.data.examples import LabelledText
from downstream.learners.baselines import word_vectors
from downstream.learners.baselines.majority import Majority
from downstream.learners.baselines.neural import FRAME, Cnn, Rnn
from downstream.learners.baselines.word_vectors import SIZE, Vectors, WordIds
from downstream.learners.networks import Convolutions, Recurrence
from downstream.tasks.base import Piece
from downstream.training.heads import a_label
from downstream.training.loop import Learned, Machine, predict
from downstream.training.protocol import Protocol

CPU = Machine(torch.device("cpu"), bf16=False)
PROTOCOL = Protocol(batch=8, learning_rate=5e-3, epochs=8, dropout=0.2, source="a test")


@pytest.fixture(autouse=True)
def few_places(monkeypatch):
    """For n-grams: they are made anew for each learner."""
    monkeypatch.setitem(word_vectors.SETTINGS, "bucket", 2000)


@pytest.mark.parametrize(
    "kind, family, keys",
    [
        (Cnn, "classification", {}),
        (Rnn, "relations", {}),
        (Rnn, "classification", {"multi_label": True}),
        (Rnn, "ner", {}),
        (Rnn, "ner", {"nested": "per_type"}),
    ],
)
def test_a_plain_signal_is_learned_and_majority_is_beaten(kind, family, keys):
    task = task_of(family, **keys)
    train, dev, test = (items_of(task, number, seed) for seed, number in enumerate((120, 20, 40)))
    learner = learned(kind(task, PROTOCOL, CPU), train, dev)
    assert on(learner, test) > 0.8 > on(learned(Majority(task), train, dev), test) + 0.1
    assert learner.kept(learner.curve).dev == max(one.dev for one in learner.curve) == on(learner, dev)


@pytest.mark.parametrize("kind", [Cnn, Rnn])
def test_two_texts_are_compared(kind):
    """In no single text is there a hint of the answer: it is whether both have the same word."""
    task = task_of("similarity")
    train, dev, test = (items_of(task, number, seed) for seed, number in enumerate((150, 40, 40)))
    assert on(learned(kind(task, PROTOCOL, CPU), train, dev), test) > 0.3


@pytest.mark.parametrize("kind", [Cnn, Rnn])
def test_a_text_without_its_second_is_read_as_beside_an_empty_one(kind, monkeypatch):
    """Questions without snippets, some of training and all of test, in batches with others and of their own."""
    task = task_of("classification")
    train, test = items_of(task, 24, 1), items_of(task, 8, 2)
    paired = [replace(item, second="au matin" if number % 2 else None) for number, item in enumerate(train)]
    protocol = Protocol(batch=1, learning_rate=5e-3, epochs=1, dropout=0.0, source="a test")
    learner = learned(kind(task, protocol, CPU), paired, paired)
    monkeypatch.setattr(task, "decode", lambda encoded, outputs: [row.tolist() for row in outputs])
    given = learner.answer(learner.encode(test, False))
    empty = learner.answer(learner.encode([replace(item, second="") for item in test], False))
    assert given == empty and np.isfinite(learner.curve[0].loss)


def test_the_seed_decides_and_nothing_of_test_does():
    task = task_of("classification")
    train, dev, test = (items_of(task, number, seed) for seed, number in enumerate((24, 12, 12)))
    test.append(LabelledText("unknown", "mots jamais rencontrés", ("cardiologie",)))
    protocol = Protocol(batch=8, learning_rate=5e-3, epochs=2, dropout=0.2, source="a test")
    weights = []
    for seed, informed in ((1, False), (1, True), (2, False)):
        learner = Rnn(task, protocol, CPU)
        if informed:
            learner.encode(test, False)
        learned(learner, train, dev, seed)
        if not informed:
            learner.encode(test, False)
        answers = learner.answer(learner.encode(test, False))
        weights.append((learner.model.out.weight.detach(), answers, learner.num_parameters))
    (first, answers, size), (again, same_answers, same_size), (other, _, _) = weights
    assert torch.equal(first, again) and answers == same_answers and size == same_size
    assert not torch.equal(first, other)


def test_weights_begin_with_the_seed():
    """All items in one batch, no dropout: nothing else can differ but by rounding."""
    task = task_of("classification")
    train, weights = items_of(task, 12, 1), []
    for seed in (1, 2):
        learner = Cnn(task, Protocol(batch=12, learning_rate=1e-4, epochs=1, dropout=0.0, source="a test"), CPU)
        weights.append(learned(learner, train, train, seed).model.out.weight.detach())
    assert not torch.allclose(*weights, atol=1e-2)


def test_vectors_are_learned_once_for_the_same_texts():
    task = task_of("classification")
    folds = [items_of(task, 12, seed) for seed in (1, 2)]
    learner, found = Cnn(task, Protocol(batch=8, learning_rate=5e-3, epochs=1, source="a test"), CPU), []
    for number in (0, 1, 0):
        learned(learner, folds[number], folds[0])
        found.append(learner.vectors)
    assert found[0] is found[2] and found[0] is not found[1]


def test_what_is_counted_is_the_network_and_the_vectors_of_training():
    task = task_of("classification")
    train = items_of(task, 12, 1)
    learner = learned(Cnn(task, PROTOCOL, CPU), train, train)
    met = [word for item in train for word in set(item.text.split())]
    network = sum(300 * size * SIZE // 3 for size in (3, 4, 5)) + 300 + 300 * 3 + 3
    assert learner.num_parameters == network + SIZE * (2000 + sum(met.count(word) > 1 for word in set(met)))
    assert not learner.model.words.weight.requires_grad


# --------------------------------------------------------------------------------------------------------- its vectors


def test_words_are_numbered_as_they_are_met_whatever_their_case():
    words = WordIds()
    first = words(["Le foie, le rein", ""], add_special_tokens=False, verbose=False)
    assert first == {
        "input_ids": [[2, 3, 4, 2, 5], []],
        "offset_mapping": [[(0, 2), (3, 7), (7, 8), (9, 11), (12, 16)], []],
    }
    assert words(["rein LE"])["input_ids"] == [[5, 2]] and len(words) == 6


def test_vectors_are_those_of_letters_and_the_same_every_time():
    words = WordIds()
    words(["hépatite hépatites zzz"])
    lines = ["une hépatite", "la gastrite", "une hépatite , la gastrite"] * 20
    rows = Vectors(lines).rows(words)
    assert rows.shape == (5, SIZE) and not rows[:2].any() and rows[2:].any(axis=1).all()
    assert (rows == Vectors(lines).rows(words)).all()
    alike = torch.cosine_similarity(torch.tensor(rows[2]), torch.tensor(rows[3:]))
    assert alike[0] > 0.5 > alike[1]


def test_vectors_of_another_text(tmp_path):
    task = task_of("classification")
    train, text = items_of(task, 12, 1), tmp_path / "text.txt"
    text.write_text("le coeur bat\nle coeur de la patiente\n" * 5, encoding="utf-8")
    learner = Cnn(task, PROTOCOL, CPU, text)
    learned(learner, train, train)
    assert set(learner.vectors.vectors.key_to_index) == {"le", "coeur", "bat", "de", "la", "patiente"}
    assert learner.conditions["vectors"]["text"]["name"] == "text.txt"
    text.write_text("le coeur bat\n" * 5, encoding="utf-8")
    assert Cnn(task, PROTOCOL, CPU, text).conditions != learner.conditions


def test_a_text_without_a_word_twice_is_refused():
    with pytest.raises(InputError, match="no word twice"):
        Vectors(["un deux trois", ""])


@pytest.mark.parametrize("change", [{"layer_decay": 0.8}, {"head_learning_rate": 1e-3}])
def test_rates_of_an_encoder_are_refused(change):
    with pytest.raises(InputError, match=f"{next(iter(change))}.*no layers of an encoder"):
        Cnn(task_of("classification"), Protocol(batch=8, learning_rate=5e-3, epochs=1, source="a test", **change), CPU)


# -------------------------------------------------------------------------------------------------------- its networks


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("kind", [Convolutions, Recurrence])
def test_outputs_do_not_depend_on_the_company_of_a_text(kind, pairs):
    torch.manual_seed(1)
    vectors = torch.randn(20, SIZE)
    vectors[0] = 0
    model = kind(vectors, 3, pairs, 0.5, **({"per_token": False} if kind is Recurrence else {}))
    texts = [[5], [], [6, 7, 8, 9, 10, 11, 12, 13], [14, 15]]
    pieces = []
    for first, second in zip(texts, reversed(texts), strict=True):
        ids, types = FRAME.around(first, second if pairs else None)
        pieces.append(Piece(ids, 0, len(pieces), types=types))
    model_with_head = Learned(model, a_label(["a", "b", "c"]), FRAME.padding, CPU)
    together = predict(model_with_head, pieces)
    alone = [predict(model_with_head, [one])[0] for one in pieces]
    assert torch.allclose(torch.tensor(np.array(together)), torch.tensor(np.array(alone)), atol=1e-5)
    assert torch.tensor(np.array(together)).std(0).min() > 1e-3  # texts that differ have outputs that differ


def test_convolutions_are_kims():
    """The largest value over the text of each convolution, by hand."""
    torch.manual_seed(1)
    vectors = torch.randn(9, SIZE)
    model = Convolutions(vectors, 2, False, 0.5).eval()
    ids = torch.tensor([[1, 4, 5, 6, 7, 8]])
    pooled = []
    for one in model.maps:
        size = one.kernel_size[0]
        padded = nn.functional.pad(vectors[ids].transpose(1, 2), (size // 2, size - 1 - size // 2))
        pooled.append(nn.functional.conv1d(padded, one.weight, one.bias).relu().amax(-1))
    assert torch.allclose(model(ids, torch.ones_like(ids)).logits, model.out(torch.cat(pooled, 1)), atol=1e-5)
    assert [one.kernel_size[0] for one in model.maps] == [3, 4, 5]


def test_attention_over_states_by_hand():
    torch.manual_seed(1)
    vectors = torch.randn(9, SIZE)
    model = Recurrence(vectors, 2, True, 0.5, per_token=False).eval()
    ids, types = torch.tensor([[1, 4, 5, 1, 6, 1]]), torch.tensor([[0, 0, 0, 0, 1, 1]])
    states = model.lstm(vectors[ids])[0][0]
    means = []
    for part in (states[:4], states[4:]):
        means.append((model.attention(part).softmax(0).T @ part).flatten())
    first, second = means
    by_hand = model.out(torch.cat([first, second, (first - second).abs(), first * second]))
    assert torch.allclose(model(ids, torch.ones_like(ids), types).logits[0], by_hand, atol=1e-5)
