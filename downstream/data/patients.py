"""The patients of documents. No patient may be in two splits: a model would be scored on a patient whom it knows."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from alibert_common.errors import InputError
from downstream.data.split_lists import read_list
from downstream.data.task_items import TaskItems

if TYPE_CHECKING:
    from downstream.data.splits import Split

SHOWN = 3  # patients that a warning names


def with_patients(task: TaskItems, items: list, root: Path, place: str) -> list:
    """The items with their patients, if the recipe says where these stand; its list is looked up below `root`.

    place: the path of the items, for errors. Raises InputError for a document without a patient, or with two.
    """
    if not task.recipe.patients_by:
        return items
    if find := _finder(task, root):
        items = [replace(item, patient=find(task.document(item))) for item in items]
    if unknown := list(dict.fromkeys(task.document(item) for item in items if not item.patient)):
        raise InputError(
            f"{place}: no patient for {len(unknown)} documents (first: {unknown[0]}); correct "
            f"{task.recipe.patients_by[0]}, or name the patient of every document in a patient_list."
        )
    owners: dict[str, str] = {}
    for item in items:
        if (other := owners.setdefault(task.group(item), item.patient)) != item.patient:
            raise InputError(
                f"{place}: {task.group(item)} has the patients {other} and {item.patient}; a document has one."
            )
    return items


def _finder(task: TaskItems, root: Path) -> Callable[[str], str] | None:
    """From a document's name to its patient, empty if there is none; None where the reader has found the patients."""
    recipe = task.recipe
    if recipe.patient_list:
        file = root / recipe.patient_list
        listed = read_list(file, "patient")
        if two := [name for name, patients in listed.items() if len(patients) > 1]:
            raise InputError(f"{file}: {two[0]} has {len(listed[two[0]])} patients; a document has one.")
        known = {name: patient for name, (patient,) in listed.items()}
        return lambda name: known.get(name.removesuffix(".txt"), "")
    if recipe.patient_pattern:
        pattern = re.compile(recipe.patient_pattern)
        return lambda name: ((match := pattern.search(name)) and match[1]) or ""
    return None


def in_several(splits: Mapping[str, "Split"]) -> dict[str, list[str]]:
    """The patients that two splits share, by the names of both ("train and test")."""
    found = {name: {item.patient for item in part.items} - {""} for name, part in splits.items()}
    shared = {f"{one} and {other}": sorted(found[one] & found[other]) for one, other in combinations(found, 2)}
    return {names: patients for names, patients in shared.items() if patients}


def shown(patients: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(patients[:SHOWN]) + f" and {len(patients) - SHOWN:,} more" * (len(patients) > SHOWN)


def warn(task: str, folds: Sequence[Mapping[str, "Split"]]) -> None:
    """Name the patients in several splits, on stderr. The splits stay, as they may be published ones."""
    for number, splits in enumerate(folds, 1):
        for names, patients in in_several(splits).items():
            fold = f", fold {number}" * (len(folds) > 1)
            who = f"{len(patients):,} patient{'s are' if len(patients) > 1 else ' is'} in {names} ({shown(patients)})"
            what = "scores are too high; give all documents of a patient to one split"
            print(f"warning: {task}{fold}: {who}; {what}", file=sys.stderr, flush=True)
