"""Nested and discontinuous entities by set arithmetic, and the tag sequences on which conlleval and strict differ."""

import random

import pytest
from seqeval.metrics import f1_score

from downstream.data.annotated_text import Entity
from downstream.data.spans import spans_of
from downstream.metrics.entities import scores, span_scores

TYPES = ("a", "b", "c")
FIGURES = ("precision", "recall", "f1")


def random_entity(draw):
    borders = sorted(draw.sample(range(6), draw.choice([2, 2, 4])))
    return Entity(draw.choice(TYPES), tuple(zip(borders[::2], borders[1::2], strict=True)))


def by_hand(gold, predicted):
    found = sum(one in gold for one in predicted)
    precision, recall = found / len(predicted) if predicted else 0.0, found / len(gold) if gold else 0.0
    return [precision, recall, 2 * precision * recall / (precision + recall) if found else 0.0]


def test_equal_to_set_arithmetic():
    draw = random.Random(1)
    for _ in range(200):
        sides = [[[random_entity(draw) for _ in range(draw.randint(0, 6))] for _ in range(3)] for _ in range(2)]
        report = span_scores(*sides)
        flat = [
            {(number, one.label, one.fragments) for number, ones in enumerate(side) for one in ones} for side in sides
        ]
        assert [report[name] for name in FIGURES] == pytest.approx(by_hand(*flat))
        assert report["support"] == len(flat[0])


def test_nested_and_discontinuous_by_hand():
    outer, inner, parted = Entity("a", ((0, 9),)), Entity("a", ((5, 9),)), Entity("b", ((0, 2), (6, 9)))
    report = span_scores([[outer, inner, parted]], [[outer, Entity("b", ((0, 9),)), Entity("b", ((0, 2),))]])
    assert report == {"precision": 1 / 3, "recall": 1 / 3, "f1": 1 / 3, "support": 3}


def test_an_entity_of_another_document_is_another_one():
    entity = Entity("a", ((0, 1),))
    assert span_scores([[entity], []], [[], [entity]])["f1"] == 0.0


def test_an_entity_annotated_twice_is_found_once():
    entity = Entity("a", ((0, 1),))
    assert span_scores([[entity, entity]], [[entity]]) == dict.fromkeys(FIGURES, 1.0) | {"support": 1}


def test_documents_must_be_as_many():
    with pytest.raises(ValueError):
        span_scores([[]], [[], []])


def test_on_flat_entities_it_is_strict_seqeval():
    draw = random.Random(2)
    for _ in range(100):
        sides = [[[draw.choice(["O", "B-a", "I-a", "B-b", "I-b"]) for _ in range(8)] for _ in range(3)] for _ in "gp"]
        entities = [
            [[Entity(label, ((start, end),)) for start, end, label in spans_of(tags)] for tags in side]
            for side in sides
        ]
        assert span_scores(*entities) == pytest.approx(scores(*sides, ["a", "b"])["micro"])


# seqeval without a mode takes entities as conlleval does.
@pytest.mark.parametrize(
    "gold, predicted, conlleval",
    [
        ("B-a I-a O", "I-a I-a O", 1.0),  # I- opens an entity
        ("B-a B-b O", "B-a I-b O", 1.0),  # and so does a change of type
        ("O B-a I-a", "B-b I-a I-a", 2 / 3),
        ("B-a I-a O", "B-a I-a O", 1.0),
    ],
)
def test_where_conlleval_is_kinder(gold, predicted, conlleval):
    gold, predicted = [gold.split()], [predicted.split()]
    assert f1_score(gold, predicted) == pytest.approx(conlleval)
    strict = {"I-a I-a O": 0.0, "B-a I-b O": 2 / 3, "B-b I-a I-a": 0.0, "B-a I-a O": 1.0}[" ".join(predicted[0])]
    assert scores(gold, predicted, "ab")["micro"]["f1"] == pytest.approx(strict)
