"""Groups of comparable runs: the same task, recipe, data and split, and encoders trained the same way."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from alibert_common.errors import InputError
from downstream.report.read_runs import Run


@dataclass
class Group:
    """Comparable runs, best score first.

    setting: the training of the encoders and the split; tasks with the same text have the same setting. differs: the
    difference to the first group of the task.
    """

    runs: list[Run]
    setting: str
    title: str = ""
    differs: str = ""

    @property
    def first(self) -> Run:
        """The run whose conditions are those of the group: its best encoder, or its best baseline."""
        return min(self.runs, key=lambda run: run.is_baseline)

    @property
    def trained(self) -> str:
        """The training in a few words."""
        if self.first.is_baseline:
            return "baselines only"
        protocol, seeds = self.first.metrics["protocol"], len(self.first.metrics["seeds"])
        changes = "".join(f", {change}" for change in protocol.get("changed", ()))
        return f"protocol {protocol['name']}{changes}, {seeds} seed{'s' * (seeds > 1)}"


def data_of(run: Run) -> dict:
    """The conditions that two comparable runs share. The longest sequence is not one of them: some protocols have their
    own, and a baseline reads the recipe's."""
    recipe = {key: value for key, value in run.metrics["recipe"].items() if key != "max_tokens"}
    data, fewer = run.metrics["data_sha256"], run.metrics.get("train_documents")
    return {"split": run.split, "recipe": recipe, "data": data, "train_documents": fewer}


def training_of(run: Run) -> dict:
    """The conditions that two comparable encoders also share: their settings, or the grid of their search."""
    longest = run.metrics["recipe"].get("max_tokens")
    protocol, selection = run.metrics["protocol"], run.metrics.get("selection", {})
    if selection.get("by") == "search":
        protocol = {"name": protocol["name"], "searched": selection["grid"]}
    return {"max_tokens": longest, "protocol": protocol, "number of seeds": len(run.metrics["seeds"])}


def group(runs: list[Run]) -> list[Group]:
    """Groups in the order of the tasks' names. A baseline is in every group with its data.

    Raises InputError if a group has the same model twice.
    """
    groups = []
    for task in sorted({run.task for run in runs}):
        found = _of_task([run for run in runs if run.task == task])
        groups += found
        for number, of_task in enumerate(found):
            of_task.title = task if len(found) == 1 else f"{task} ({number + 1})"
            of_task.differs = _difference(found[0].first, of_task.first) if number else ""
            places: dict[str, Run] = {}
            for run in of_task.runs:
                other = places.setdefault(run.name, run)
                if other is not run:
                    raise InputError(
                        f"{other.place} and {run.place}: the same model on the same task; give one of them."
                    )
    return groups


def _of_task(runs: list[Run]) -> list[Group]:
    found = []
    for of_data in _by(runs, data_of).values():
        encoders = [run for run in of_data if not run.is_baseline]
        baselines = [run for run in of_data if run.is_baseline]
        for together in _by(encoders, training_of).values() or [[]]:
            best_first = sorted([*together, *baselines], key=lambda run: -run.score["mean"])
            setting = [of_data[0].split, *(json.dumps(on_all_tasks(run), sort_keys=True) for run in together[:1])]
            found.append(Group(best_first, ", ".join(setting)))
    return found


def on_all_tasks(run: Run) -> dict:
    """training_of, with the protocol's values for all tasks, and without the longest sequence of the recipe."""
    training, by_task = training_of(run), dict(run.metrics.get("protocol_by_task", {}))
    protocol, grid = training["protocol"], by_task.pop("grid", {})
    del training["max_tokens"]
    everywhere = {"searched": protocol["searched"] | grid} if "searched" in protocol else by_task
    return training | {"protocol": protocol | everywhere}


def _by(runs: list[Run], key: Callable[[Run], dict]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(json.dumps(key(run), sort_keys=True), []).append(run)
    return found


def _difference(first: Run, other: Run) -> str:
    """The differing conditions; those of training only between two encoders."""
    trained = not (first.is_baseline or other.is_baseline)
    return differences(*(data_of(run) | (training_of(run) if trained else {}) for run in (first, other)))


def differences(*sides: dict) -> str:
    """The values that differ between two dictionaries, in words."""
    return "; ".join(f"{key}: {_changed(*values)}" for key, values in _differing(*sides))


def _changed(first: Any, other: Any) -> str:
    """Only the differing keys of dictionaries; of digests only that they differ."""
    if isinstance(first, dict) and isinstance(other, dict):
        return ", ".join(f"{key} {values[1]} instead of {values[0]}" for key, values in _differing(first, other))
    if isinstance(first, list | None) or isinstance(other, list | None):
        return "different"
    return f"{other} instead of {first}"


def _differing(first: dict, other: dict) -> Iterable[tuple[str, tuple]]:
    pairs = ((key, (first.get(key), other.get(key))) for key in dict.fromkeys([*first, *other]))
    return [(key, values) for key, values in pairs if values[0] != values[1]]
