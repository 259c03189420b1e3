"""Label attention: the network by hand, the choice on dev, and the saved folder against the scores."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from baseline_helpers import items_of, learned, on, task_of
from test_encoder_learner import CPU
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream.data.examples import LabelledText
from downstream.label import Labeler
from downstream.learners.encoder import Encoder, Start
from downstream.learners.label_attention import WEIGHTS, LabelAttention, LabelAttentionLearner, Labels
from downstream.training import models
from downstream.training.loop import predict
from downstream.training.protocol import Protocol

PROTOCOL = Protocol(batch=8, learning_rate=3e-3, head_learning_rate=3e-2, epochs=10, source="a test", dropout=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"), width=32)


def learner_of(folder, protocol=PROTOCOL, **keys) -> LabelAttentionLearner:
    return LabelAttentionLearner(task_of("classification", **keys), Start(folder), protocol, CPU)


def network(folder, labels: int = 3) -> LabelAttention:
    return LabelAttention(models.load_encoder(folder, False), labels, specials=[0, 1, 2], mask=4).eval()


def notes_of(learner) -> dict:
    """What finetuning.json has of a run."""
    recipe = learner.task.recipe.as_dict()
    return {"conditions": {"recipe": recipe, "precision": "float32"}, "names": list(learner.task.names)}


def test_each_label_has_a_mean_of_its_own_and_padding_has_no_part_in_it(folder):
    made = network(folder)
    torch.nn.init.normal_(made.queries.weight)
    torch.nn.init.normal_(made.out.weight)
    ids = torch.tensor([[0, 5, 6, 7, 2, 1, 1]])
    real = (ids != 1).long()
    with torch.no_grad():
        [found] = made(ids, real).logits
        states = made.encoder(input_ids=ids[:, :5], attention_mask=real[:, :5]).last_hidden_state[0].double().numpy()
    for number in range(3):
        query, weight = (part.weight[number].detach().double().numpy() for part in (made.queries, made.out))
        shares = np.exp(states @ query)
        mean = (shares[:, None] * states).sum(0) / shares.sum()
        assert found[number].item() == pytest.approx(mean @ weight, abs=1e-4)


def test_a_rare_label_weighs_more_and_one_label_of_several_is_a_cross_entropy():
    logits, weights = torch.tensor([[0.5, -1.0]]), torch.tensor([3.0, 1.0])
    found = Labels(logits, weights).loss(torch.tensor([[1.0, 0.0]])).item()
    assert found == pytest.approx((3 * np.log1p(np.exp(-0.5)) + np.log1p(np.exp(-1.0))) / 2)
    found = Labels(logits, weights).loss(torch.tensor([0])).item()
    assert found == pytest.approx(np.log1p(np.exp(-1.5)))


def test_training_hides_some_words_and_no_special_token(folder):
    made, ids = network(folder), torch.tensor([[0, *[5] * 2000, 2, 1]])
    torch.manual_seed(1)
    hidden = made._masked(ids)
    assert 0.12 < (hidden == 4).float().mean() < 0.18
    assert hidden[0, [0, -2, -1]].tolist() == [0, 2, 1]


@pytest.mark.parametrize("several", [True, False])
def test_it_learns_and_the_saved_folder_answers_what_was_scored(folder, tmp_path, several):
    keys = {"multi_label": True, "threshold": 0.9} if several else {}
    learner = learner_of(folder, **keys)
    train, dev = items_of(learner.task, 64, 1), items_of(learner.task, 32, 2)
    learned(learner, train, dev)
    assert on(learner, dev) > 0.85
    assert learner.curve[-1].loss < 0.5 * learner.curve[0].loss
    learner.save(tmp_path / "saved", notes_of(learner))
    label = Labeler(tmp_path / "saved", "cpu")
    assert label([]) == []
    found = label([item.text for item in dev])
    assert [one.labels for one in found] == learner.answer(learner.encode(dev, False))
    for one in found:
        if several:  # the border stands in place of the recipe's threshold
            assert one.labels == tuple(name for name, score in one.scores.items() if score > 0.5)
        else:
            assert one.labels == (max(one.scores, key=one.scores.__getitem__),)
            assert sum(one.scores.values()) == pytest.approx(1)


def test_the_network_knows_the_tokenizer_and_how_often_labels_occur(folder):
    learner = learner_of(folder, dataclasses.replace(PROTOCOL, epochs=1), multi_label=True)
    items = items_of(learner.task, 48, 1)
    learned(learner, items, items)
    model, tokenizer = learner.model, learner.tokenizer
    assert model.mask == tokenizer.mask_token_id and model.specials.tolist() == tokenizer.all_special_ids
    for name, weight in zip(learner.task.names, model.weights.tolist(), strict=True):
        times = sum(name in item.labels for item in items)
        assert weight == pytest.approx(((48 - times) / times) ** 0.5)
    own = sum(part.numel() for part in model.parameters())
    assert learner.num_parameters == own + learner.regression.weights.size + 3


def test_share_and_border_are_those_with_the_best_figure_on_dev(folder):
    learner = learner_of(folder, dataclasses.replace(PROTOCOL, epochs=1), multi_label=True)
    train, dev = items_of(learner.task, 48, 1), items_of(learner.task, 32, 2)
    learned(learner, train, dev)
    chosen, tried = learner.selected, learner.selected["tried"]
    name = f"share {chosen['regression_share']:g}, border {chosen['border']:g}"
    assert tried[name] == max(tried.values()) == pytest.approx(on(learner, dev))
    assert len({*tried.values()}) > 1
    model = learner.model
    for share, border in ((0.0, 0.0), (0.9, 0.5)):
        model.share.fill_(share), model.border.fill_(border)
        figure = tried.get(f"share {share:g}, border {border:g}")
        assert figure is None or figure == pytest.approx(on(learner, dev))
    model.share.fill_(0.25), model.border.fill_(0.5)
    assert model.joined(np.array([[1.0, 2.0]]), np.array([[3.0, -2.0]]))[0] == pytest.approx([1.0, 0.5])


def test_a_long_text_and_a_pair_are_read_whole(folder, tmp_path):
    learner = learner_of(folder, dataclasses.replace(PROTOCOL, epochs=1), multi_label=True, max_tokens=12)
    learned(learner, items_of(learner.task, 32, 1), items_of(learner.task, 8, 2))
    learner.save(tmp_path / "saved", notes_of(learner))
    label, text = Labeler(tmp_path / "saved", "cpu"), "le foie " * 20
    long, paired = label([text, ("le foie", "coeur")])
    with pytest.raises(TypeError, match="list of texts"):
        label(text)
    assert label([text + "coeur"])[0].scores != long.scores
    assert label([("le foie", "peau")])[0].scores != paired.scores
    encoded = learner.encode([LabelledText("1", text, ())], False)
    rows = predict(learner.learned, encoded.pieces)
    assert len(rows) > 3
    counted = learner.regression.logits([(text, None)])
    logits = learner.model.joined(np.mean(rows, axis=0), counted)[0]
    assert [*long.scores.values()] == pytest.approx(1 / (1 + np.exp(-logits)), abs=1e-5)


def test_a_plain_head_is_used_through_the_same_class(folder, tmp_path):
    learner = Encoder(task_of("classification"), Start(folder), PROTOCOL, CPU)
    train, dev = items_of(learner.task, 32, 1), items_of(learner.task, 16, 2)
    learned(learner, train, dev)
    learner.save(tmp_path / "saved", notes_of(learner))
    found = Labeler(tmp_path / "saved", "cpu")([item.text for item in dev])
    assert [one.labels for one in found] == learner.answer(learner.encode(dev, False))


def test_a_damaged_folder_another_task_and_a_second_fine_tuning_are_refused(folder, tmp_path):
    learner = learner_of(folder, dataclasses.replace(PROTOCOL, epochs=1))
    learned(learner, items_of(learner.task, 16, 1), items_of(learner.task, 8, 2))
    target = tmp_path / "saved"
    learner.save(target, notes_of(learner))
    with pytest.raises(InputError, match="fine-tuned already"):
        models.load_config(target)
    (target / WEIGHTS).write_bytes(b"no weights")
    with pytest.raises(InputError, match=rf"{WEIGHTS}: not usable .*; copy the folder again.$"):
        Labeler(target)
    with pytest.raises(InputError, match="no finetuning.json in it"):
        Labeler(folder)
    other = notes_of(learner) | {"names": []}
    other["conditions"]["recipe"] = task_of("similarity").recipe.as_dict()
    (target / "finetuning.json").write_text(json.dumps(other))
    with pytest.raises(InputError, match="a model of similarity; give one of labels of texts.$"):
        Labeler(target)
