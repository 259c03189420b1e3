"""Made-up tasks of every family with a plain signal in them, for tests of the baselines."""

import random
from collections import Counter

from task_helpers import OFFICIAL

from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.examples import Candidates, LabelledText, Relation, ScoredPair
from downstream.learners.base import Learner
from downstream.tasks import FAMILIES
from downstream.tasks.base import Task

FILLERS = "le la patient une douleur avec depuis hier au matin et du foie rein dose normale".split()
TOPICS = {"cardiologie": "coeur", "pneumologie": "poumon", "dermatologie": "peau"}
FORMATS = {"ner": "brat", "choice": "options", "ranking": "ranking", "extractive_qa": "squad"}
NEEDED = {
    "ner": {"types": ["CHEM", "DISO"]},
    "classification": {"labels": [*TOPICS]},
    "relations": {"labels": [*TOPICS], "negative": "cardiologie"},
}


def task_of(kind: str, **keys) -> Task:
    """A task of this family, with the recipe's other keys."""
    recipe, family = FAMILIES[kind]
    values = {"task": "tiny", "kind": kind, "format": FORMATS.get(kind, "table"), "splits": OFFICIAL}
    return family(recipe(**values | NEEDED.get(kind, {}) | keys))


def items_of(task: Task, number: int, seed: int) -> list:
    """So many items, whose answers can be read from a word, or from the words that two texts share."""
    draw = random.Random(seed)
    return [MAKERS[task.recipe.kind](task, str(place), draw) for place in range(number)]


def _filler(draw: random.Random, length: int = 6) -> list[str]:
    return draw.choices(FILLERS, k=length)


def _text(draw: random.Random, *words: str) -> str:
    """The words somewhere among others."""
    found = _filler(draw)
    for word in words:
        found.insert(draw.randrange(len(found) + 1), word)
    return " ".join(found)


def _labelled(task, name: str, draw: random.Random) -> LabelledText:
    if task.multi_label:
        labels = tuple(label for label in TOPICS if draw.random() < 0.5)
    else:
        labels = tuple(draw.choices([*TOPICS], [5, 2, 2]))
    return LabelledText(name, _text(draw, *(TOPICS[label] for label in labels)), labels)


def _relation(task, name: str, draw: random.Random) -> Relation:
    (label,) = draw.choices([*TOPICS], [5, 2, 2])
    return Relation(name, _text(draw, "@CHEM$", TOPICS[label], "@DISO$"), label)


def _pair(task, name: str, draw: random.Random) -> ScoredPair:
    shared = draw.randrange(6)
    words = draw.sample(FILLERS, 15)
    return ScoredPair(name, " ".join(words[:5]), " ".join(words[:shared] + words[5 : 10 - shared]), float(shared))


def _question(task, name: str, draw: random.Random) -> Candidates:
    """The right candidate has a word of the question; it is most often the last."""
    words = draw.sample(FILLERS, 8)
    (right,) = draw.choices(range(4), [1, 1, 1, 2])
    candidates = [" ".join(words[4 + place : 6 + place]) for place in range(3)]
    candidates.insert(right, f"{words[0]} {words[7]}")
    return Candidates(name, " ".join(words[:4]), tuple(candidates), (right,))


def _document(task, name: str, draw: random.Random):
    """Two lines; of an entity of training the words, of any entity the neighbours and the ending can be known."""
    text, entities = "", []
    for before, kind, stems in (
        ("prend", "CHEM", "aspir codé morph quin héro".split()),
        ("contre", "DISO", "hépat gastr néphr ot col".split()),
    ):
        word = draw.choice(stems) + {"CHEM": "ine", "DISO": "ite"}[kind]
        text += f"{' '.join(_filler(draw, 3))} {before} "
        entities.append(Entity(kind, ((len(text), len(text) + len(word)),)))
        text += f"{word} {' '.join(_filler(draw, 2))}\n"
    return task.example(AnnotatedText(name, text, entities), Counter())


MAKERS = {
    "ner": _document,
    "classification": _labelled,
    "relations": _relation,
    "similarity": _pair,
    "choice": _question,
    "ranking": _question,
}


def learned(learner: Learner, train: list, dev: list, seed: int = 1) -> Learner:
    """What has learned from these items."""
    learner.task.begin(train)
    learner.curve = learner.fit(learner.encode(train, True), learner.encode(dev, False), seed)
    return learner


def on(learner: Learner, items: list) -> float:
    """Its chief figure on these items."""
    return learner.task.chosen(learner.task.score(items, learner.answer(learner.encode(items, False))))
