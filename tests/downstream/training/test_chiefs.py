"""Chief figures of every family: what intervals and comparisons compute from tallies is what is scored."""

from collections import Counter

import numpy as np
import pytest
from baseline_helpers import task_of

from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.examples import Candidates, LabelledText, ReadingQuestion, Relation, ScoredPair
from downstream.data.spans import Span
from downstream.metrics.sufficient_statistics import figure
from downstream.tasks import FAMILIES
from downstream.tasks.extractive_qa import Answer

LABELS = {"labels": ["x", "y", "z"]}
NUMBERS = range(8)
SETS = [LabelledText(str(number), "t", tuple("xyz"[: number % 3]), group=str(number // 2)) for number in NUMBERS]
SET_ANSWERS = [(), ("x",), *(tuple("xyz"[number % 2 :]) for number in NUMBERS[2:])]


def entities(task):
    documents = [
        AnnotatedText(name, "foie rein toux", [Entity("CHEM", ((0, 4),)), Entity("DISO", ((5, 9),))]) for name in "ab"
    ]
    answers = [[[Span(0, 1, "CHEM")]], [[Span(0, 1, "CHEM"), Span(1, 2, "CHEM"), Span(2, 3, "DISO")]]]
    return [task.example(one, Counter()) for one in documents], answers


def relations(task):
    labels = ["x", "y", "z", "y", "x", "z"]
    return [Relation(str(number), "t", label) for number, label in enumerate(labels)], ["y", "y", "x", "z", "x", "x"]


def texts(task):
    items = [LabelledText(str(number), "t", (label,)) for number, label in enumerate("xyzxy")]
    return items, [(label,) for label in "xxzxz"]


def questions_of_yes_and_no(task):
    """None has a no, or a maybe, as its answer."""
    items = [LabelledText(str(number), "t", ("yes",), second="u") for number in range(3)]
    return items, [("yes",), ("no",), ("yes",)]


def pairs(task):
    scores = [0.0, 1.5, 4.0, 2.0]
    return [ScoredPair(str(number), "a", "b", score) for number, score in enumerate(scores)], [0.3, 1.0, 3.0, 2.5]


def questions(task):
    """The last has an option more than the others."""
    options = [("a", "b", "c")] * 4 + [("a", "b", "c", "d")]
    items = [Candidates(str(number), "q", one, (number % 3,)) for number, one in enumerate(options)]
    logits = [[1.0, -1.0, -1.0], [1.0, 0.9, -1.0], [-1.0, -2.0, -0.5], [-1.0, 2.0, -3.0], [-1.0, -2.0, -3.0, 4.0]]
    return items, logits


def reading(task):
    """An article that only French has; a second answer that is right; lists, half found."""
    forms = [("le foie",), ("rein droit",), ("toux",), ("main", "pied")]
    single = [ReadingQuestion(str(number), "q", ("t",), (one,), ()) for number, one in enumerate(forms)]
    several = [ReadingQuestion(name, "q", ("t",), (("foie",), ("rein",)), (), is_list=True) for name in "ab"]
    found = [("foie",), ("gauche", "rein droit"), ("la toux sèche", "foie"), ("pied",), ("foie",), ("rein", "foie")]
    return [*single, *several], [Answer(one, (1 / len(one),) * len(one), 0.0) for one in found]


CASES = {  # name: kind, the recipe's other keys, items and answers
    "entities": ("ner", {}, entities),
    "relations": ("relations", LABELS | {"negative": "x"}, relations),
    "one label": ("classification", LABELS, texts),
    "yes, no": ("classification", {"labels": ["yes", "no", "maybe"]}, questions_of_yes_and_no),
    "labels": ("classification", LABELS | {"multi_label": True}, lambda task: (SETS, SET_ANSWERS)),
    "documents": (
        "classification",
        LABELS | {"multi_label": True, "by_group": True},
        lambda task: (SETS, SET_ANSWERS),
    ),  # fmt: skip
    "pairs": ("similarity", {}, pairs),
    "choice": ("choice", {}, questions),
    "ranking": ("ranking", {}, questions),
    "answers": ("extractive_qa", {}, reading),
    "French answers": ("extractive_qa", {"language": "fr"}, reading),
}
CHIEFS = [(name, chief) for name, (kind, keys, _) in CASES.items() for chief in task_of(kind, **keys).chiefs]


def test_every_family_is_here():
    assert {kind for kind, _, _ in CASES.values()} == FAMILIES.keys()


@pytest.mark.parametrize("name, chief", CHIEFS)
def test_the_chief_figure_is_the_value_of_its_summed_tallies(name, chief):
    kind, keys, made = CASES[name]
    task = task_of(kind, **keys, figure=chief)
    items, answers = made(task)
    sums = np.sum([one for one in task.tallies(items, answers) if one is not None], axis=0)
    value = figure(task.chief.tally, task.counted).value(sums)  # as who reads metrics.json has it
    assert value == pytest.approx(task.chosen(task.score(items, answers))) and 0 < value < 1


@pytest.mark.parametrize("labels, macro", [
    (["yes", "no"], 0.8 / 2), (["yes", "no", "maybe"], 0.8 / 3), (["yes", "no", "other"], 0.8),
])  # fmt: skip
def test_the_macro_f1_of_yes_and_no_is_over_all_answers(labels, macro):
    task = task_of("classification", labels=labels)
    figures = task.score(*questions_of_yes_and_no(task))
    assert figures["macro"]["f1"] == pytest.approx(macro) and figures["classes"]["yes"]["f1"] == 0.8


@pytest.mark.parametrize("chief", ["f1", "exact_match"])
def test_articles_of_the_recipes_language_do_not_count(chief):
    values = []
    for language in ("en", "fr"):
        task = task_of("extractive_qa", language=language, figure=chief)
        items, answers = reading(task)
        values.append(task.tallies(items[:1], answers[:1])[0][0])
    assert values[0] < values[1] == 1.0
