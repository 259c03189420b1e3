"""Output folders of downstream.finetune as the report reads them, made by a learner that has been told its answers."""

import json
from collections import Counter
from pathlib import Path

import pytest

from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.examples import Candidates, LabelledText, ReadingQuestion, Relation, ScoredPair
from downstream.data.spans import Span
from downstream.data.splits import Split
from downstream.experiment.run import Experiment
from downstream.learners.base import Learner
from downstream.tasks.base import Encoded, Task
from downstream.tasks.candidates import CandidatesRecipe, MultipleChoice, Ranking
from downstream.tasks.classification import TextClassification, TextRecipe
from downstream.tasks.extractive_qa import Answer, ExtractiveAnswers, ReadingRecipe
from downstream.tasks.ner import NamedEntities
from downstream.tasks.ner_recipe import NerRecipe
from downstream.tasks.relations import RelationRecipe, Relations
from downstream.tasks.similarity import Similarity, SimilarityRecipe

OFFICIAL = {"splits": {"train": "train", "dev": "dev", "test": "test"}}


class Told(Learner):
    """Answers, of each seed, what it was told of each item."""

    num_parameters = 1234567

    def __init__(self, task: Task, model: str, protocol: str, items: list, answers: list[list]):
        self.task, self.ids, self.answers = task, [task.id_of(item) for item in items], answers
        encoder = {"folder": model, "architecture": "roberta", "random_init": False, "frozen": False}
        self.conditions = {"model": encoder, "protocol": {"name": protocol, "changed": []}}
        if protocol == "baseline":
            self.conditions = {"model": encoder | {"architecture": "baseline"}, "protocol": {"name": protocol}}

    def encode(self, items, training):
        return Encoded(items, [], Counter())

    def fit(self, train, dev, seed):
        self.seed = seed
        return []

    def answer(self, encoded):
        of_items = dict(zip(self.ids, self.answers[self.seed - 1], strict=True))
        return [of_items[self.task.id_of(item)] for item in encoded.items]


@pytest.fixture
def without_pictures(monkeypatch):
    """The pictures in the folders of runs are not looked at here."""
    monkeypatch.setattr("downstream.experiment.results.draw_scores", lambda *_: None)
    monkeypatch.setattr("downstream.experiment.results.title", lambda *_: "")


def output_of(
    folder: Path, task: Task, items: list, answers: list[list], model: str = "mine", protocol: str = "tuned", folds=1
) -> Path:
    """Of these test items (as many of them in each fold) and, of each seed, answers to them; train and dev are those of
    test."""
    learner, size = Told(task, model, protocol, items, answers), len(items) // folds
    divided = [items[fold * size : (fold + 1) * size] for fold in range(folds)]
    parts = [{name: Split(own, Counter(files=1)) for name in ("train", "dev", "test")} for own in divided]
    digests = [{name: part.sha256 for name, part in one.items()} for one in parts]
    conditions = {"task": task.recipe.task, "kind": task.recipe.kind, "recipe": task.recipe.as_dict()}
    conditions |= {**learner.conditions, "data_sha256": digests}
    conditions["selection"] = {"by": f"protocol {protocol}, as it stands"}
    Experiment(task, learner, parts, folder, conditions).run(len(answers))
    return folder


def changed(folder: Path, **values) -> Path:
    """The folder with other values of metrics.json; None takes a key away."""
    file = folder / "metrics.json"
    metrics = json.loads(file.read_text(encoding="utf-8")) | values
    kept = {key: value for key, value in metrics.items() if value is not None}
    file.write_text(json.dumps(kept), encoding="utf-8")
    return folder


def texts(name: str = "tiny", **keys) -> tuple[TextClassification, list[LabelledText]]:
    """A task of yes and no, and eight texts of which every other one is a yes."""
    recipe = TextRecipe(task=name, kind="classification", format="table", labels=["yes", "no"], **OFFICIAL | keys)
    items = [LabelledText(f"t{number}", f"le foie {number}", (("yes", "no")[number % 2],)) for number in range(8)]
    return TextClassification(recipe), items


def told(*words: str) -> list[tuple[str, ...]]:
    """Answers of one label, by their first letters: told("yynn")."""
    return [({"y": "yes", "n": "no"}[letter],) for letter in "".join(words)]


def entities(name: str = "tiny_ner", types=("anatomy", "symptom")) -> tuple[NamedEntities, list, list]:
    """A task, two documents, and answers of one seed: right, of another type, with other bounds, missed, invented."""
    task = NamedEntities(NerRecipe(task=name, format="brat", types=[*types], **OFFICIAL))
    anatomy, symptom = types
    documents = [
        AnnotatedText("d1", "le foie\ndouleur du rein", [Entity(anatomy, ((3, 7),)), Entity(symptom, ((8, 15),)),
                                                    Entity(anatomy, ((19, 23),))]),
        AnnotatedText("d2", "toux et fièvre le soir", [Entity(symptom, ((0, 4),)), Entity(symptom, ((8, 14),))]),
    ]  # fmt: skip
    items = [task.example(document, Counter()) for document in documents]
    first = [Span(1, 2, anatomy), Span(2, 3, anatomy), Span(3, 5, anatomy)]
    return task, items, [[first], [[Span(0, 1, symptom), Span(3, 4, symptom)]]]


def families() -> dict[str, tuple[Task, list, list]]:
    """A task of each family, its items, and answers of one seed; the last item is answered wrongly."""
    relation = Relations(RelationRecipe(task="r", kind="relations", format="ddi", labels=["int", "no"], **OFFICIAL))
    candidates = {"task": "c", "format": "frenchmedmcqa", **OFFICIAL}
    asked = [Candidates(f"q{n}", f"quel organe {n} ?", ("foie", "rein", "rate"), (n,)) for n in range(2)]
    question = ReadingQuestion("w", "où ?", ("dans le foie",), (("foie",),), ((0, 8, 12),))
    several = TextClassification(
        TextRecipe(task="m", kind="classification", format="table", labels=["a", "b"], multi_label=True, **OFFICIAL)
    )
    return {
        "ner": entities(),
        "relations": (relation, [Relation("a", "x", "int"), Relation("b", "y", "no")], ["int", "int"]),
        "classification": (several, [LabelledText("a", "x", ("a",)), LabelledText("b", "y", ("a", "b"))],
                           [("a",), ("b",)]),
        "similarity": (Similarity(SimilarityRecipe(task="s", kind="similarity", format="table", **OFFICIAL)),
                       [ScoredPair("a", "x", "x", 4.0), ScoredPair("b", "x", "y", 1.0)], [3.9, 3.5]),
        "choice": (MultipleChoice(CandidatesRecipe(kind="choice", **candidates)), asked,
                   [[1.0, -1.0, -1.0], [-1.0, -1.0, 2.0]]),
        "ranking": (Ranking(CandidatesRecipe(kind="ranking", **candidates)), asked, [[1.0, 0.0, 0.5], [1.0, 0.5, 0.0]]),
        "extractive_qa": (ExtractiveAnswers(ReadingRecipe(task="e", kind="extractive_qa", format="squad", **OFFICIAL)),
                          [question], [Answer(("rein",), (1.0,), 0.0)]),
    }  # fmt: skip
