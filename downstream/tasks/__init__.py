"""The families of tasks, one file each: how data become sequences, outputs become answers, answers become figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from alibert_common.errors import InputError
from downstream.data.recipe import Recipe, load_recipe
from downstream.tasks.base import Task
from downstream.tasks.candidates import CandidatesRecipe, MultipleChoice, Ranking
from downstream.tasks.classification import TextClassification, TextRecipe
from downstream.tasks.extractive_qa import ExtractiveAnswers, ReadingRecipe
from downstream.tasks.ner import NamedEntities
from downstream.tasks.ner_recipe import NerRecipe
from downstream.tasks.relations import RelationRecipe, Relations
from downstream.tasks.similarity import Similarity, SimilarityRecipe

FAMILIES: dict[str, tuple[type[Recipe], Callable[[Any], Task]]] = {
    "ner": (NerRecipe, NamedEntities),
    "relations": (RelationRecipe, Relations),
    "classification": (TextRecipe, TextClassification),  # inference, and yes or no, too: texts in pairs with one label
    "similarity": (SimilarityRecipe, Similarity),
    "choice": (CandidatesRecipe, MultipleChoice),
    "ranking": (CandidatesRecipe, Ranking),
    "extractive_qa": (ReadingRecipe, ExtractiveAnswers),
}


def load_task(file: Path) -> Task:
    """The task of a recipe. Raises InputError for one that cannot be used."""
    recipe = load_recipe(file, {kind: recipe for kind, (recipe, _) in FAMILIES.items()})
    task = task_from(recipe)
    if recipe.figure and recipe.figure not in task.chiefs:
        raise InputError(f"{file}: figure is {recipe.figure!r}; choose one of {', '.join(task.chiefs)}.")
    return task


def task_from(recipe: Recipe) -> Task:
    """The task of a checked recipe."""
    return FAMILIES[recipe.kind][1](recipe)


def task_of(notes: dict) -> Task:
    """The task of a fine-tuned model, as its notes (finetuning.json) have it."""
    values = notes["conditions"]["recipe"]
    task = task_from(FAMILIES[values["kind"]][0](**values))
    task.names = tuple(notes["names"])
    return task
