"""Which runs stand side by side: the same task, recipe, data and split, and encoders trained the same way."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from alibert_common.errors import InputError
from downstream.report.read_runs import Run


@dataclass
class Group:
    """Runs that compare; differs: what sets these apart from the first of their task, in words."""

    title: str
    runs: list[Run]
    differs: str = ""
    setting: str = field(default="")  # of its encoders, and the split; the same text across tasks is the same setting

    @property
    def first(self) -> Run:
        return self.runs[0]

    @property
    def trained(self) -> str:
        """How, in a few words."""
        encoders = [run for run in self.runs if not run.is_baseline]
        if not encoders:
            return "baselines only"
        protocol, seeds = encoders[0].metrics["protocol"], len(encoders[0].metrics["seeds"])
        changes = "".join(f", {change}" for change in protocol.get("changed", ()))
        return f"protocol {protocol['name']}{changes}, {seeds} seed{'s' * (seeds > 1)}"


def data_of(run: Run) -> dict:
    """What must be the same for any two runs to be compared. The longest sequence is not in it: some protocols have one
    of their own, and a baseline reads the recipe's."""
    metrics = run.metrics
    recipe = {key: value for key, value in metrics["recipe"].items() if key != "max_tokens"}
    fewer = {"train_documents": metrics.get("train_documents")}
    return {"split": run.split, "recipe": recipe, "data": metrics["data_sha256"], **fewer}


def training_of(run: Run) -> dict:
    """What must be the same for two encoders too: the settings, or where they were searched, what they are from."""
    longest = run.metrics["recipe"].get("max_tokens")
    protocol, selection = run.metrics["protocol"], run.metrics.get("selection", {})
    if selection.get("by") == "search":
        protocol = {"name": protocol["name"], "searched": selection["grid"]}
    return {"max_tokens": longest, "protocol": protocol, "number of seeds": len(run.metrics["seeds"])}


def group(runs: list[Run]) -> list[Group]:
    """Groups in the order of their tasks' names. Baselines stand beside all encoders of the same data.

    Raises InputError for a model that is twice in a group.
    """
    groups = []
    for task in sorted({run.task for run in runs}):
        found = _of_task([run for run in runs if run.task == task])
        groups += found
        for number, one in enumerate(found):
            one.title = task if len(found) == 1 else f"{task} ({number + 1})"
            one.differs = _difference(found[0].first, one.first) if number else ""
            _refuse_twice(one.runs)
    return groups


def _of_task(runs: list[Run]) -> list[Group]:
    found = []
    for of_data in _by(runs, data_of).values():
        encoders = [run for run in of_data if not run.is_baseline]
        baselines = [run for run in of_data if run.is_baseline]
        for together in _by(encoders, training_of).values() or [[]]:
            found.append(Group("", [*together, *baselines], setting=setting_of(together, of_data[0].split)))
    return found


def setting_of(encoders: list[Run], split: str) -> str:
    """In words that are the same for the same training and split; of baselines alone only the split."""
    if not encoders:
        return split
    return f"{split}, {_json(on_all_tasks(encoders[0]))}"


def on_all_tasks(run: Run) -> dict:
    """training_of, with the values for all tasks where the protocol has other ones for other tasks, and without the
    longest sequence: where the protocol has none, each recipe has its own."""
    training, by_task = training_of(run), dict(run.metrics.get("protocol_by_task", {}))
    protocol, grid = training["protocol"], by_task.pop("grid", {})
    del training["max_tokens"]
    everywhere = {"searched": protocol["searched"] | grid} if "searched" in protocol else by_task
    return training | {"protocol": protocol | everywhere}


def _by(runs: list[Run], key) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(_json(key(run)), []).append(run)
    return found


def _refuse_twice(runs: list[Run]) -> None:
    places: dict[str, Run] = {}
    for run in runs:
        other = places.setdefault(run.name, run)
        if other is not run:
            raise InputError(f"{other.place} and {run.place}: the same model on the same task; give one of them.")


def _difference(first: Run, other: Run) -> str:
    """What is not the same, as `protocol: epochs 8 here, 1 there`; of trainings where both are of encoders."""
    trained = not (first.is_baseline or other.is_baseline)
    return unlike(*(data_of(run) | (training_of(run) if trained else {}) for run in (first, other)))


def unlike(*sides: dict) -> str:
    """What two dictionaries do not have the same, in words."""
    return "; ".join(f"{key}: {_unlike(*values)}" for key, values in _pairs(*sides) if values[0] != values[1])


def _unlike(first: Any, other: Any) -> str:
    """Of dictionaries only the keys whose values differ; digests are not told, only that they differ."""
    if isinstance(first, dict) and isinstance(other, dict):
        unlike = [(key, values) for key, values in _pairs(first, other) if values[0] != values[1]]
        return ", ".join(f"{key} {values[1]} instead of {values[0]}" for key, values in unlike)
    if isinstance(first, list | type(None)) or isinstance(other, list | type(None)):
        return "other ones"
    return f"{other} instead of {first}"


def _pairs(first: dict, other: dict) -> Iterable[tuple[str, tuple]]:
    return [(key, (first.get(key), other.get(key))) for key in dict.fromkeys([*first, *other])]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
