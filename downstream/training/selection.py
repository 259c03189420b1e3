"""How the settings of a run were chosen: searched on dev, as a protocol stands, or by hand."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import read_text
from alibert_common.json_value import parse_json
from downstream.training.protocol import Protocol

SEARCHED_FOR = ("task", "recipe", "model", "max_tokens", "data_sha256", "protocol")  # a selection holds for these only
SUMMARY = ("sampler", "sampler_seed", "seeds", "grid", "settings", "dev", "num_points")
STATES = ("complete", "pruned", "diverged")  # how a trial ended
OBJECTS, LISTS = ("model", "protocol", "grid", "settings"), ("data_sha256", "trials")  # what is opened of a selection


@dataclass(frozen=True)
class Choice:
    """The settings of a run: a protocol by name, what of it was changed by --set, the record of the search if any.

    by_task: of the protocol, the values that differ between tasks (protocol.by_task).
    """

    name: str
    protocol: Protocol
    changed: list[str] = field(default_factory=list)
    record: dict | None = None
    by_task: dict = field(default_factory=dict)

    def conditions(self) -> dict:
        """What scores depend on; and, where the protocol has other values for other tasks, all of these, by which the
        report knows runs of one protocol on several tasks."""
        conditions = {"protocol": {"name": self.name, "changed": self.changed, **self.protocol.recorded()}}
        return conditions | ({"protocol_by_task": self.by_task} if self.by_task else {})

    def told(self) -> dict:
        """How it was chosen, as metrics.json has it."""
        if self.changed:
            return {"by": "hand", "changed": self.changed}
        if self.record is None:
            return {"by": f"protocol {self.name}, as it stands"}
        states = [trial["state"] for trial in self.record["trials"]]
        counts = {state: states.count(state) for state in STATES}
        return {"by": "search", **{key: self.record[key] for key in SUMMARY}, "trials": counts}


def read_selection(file: Path) -> dict:
    """selection.json as downstream.search wrote it. Raises InputError for another file."""
    text = read_text(file)
    try:
        record = parse_json(text)
    except ValueError as error:  # a broken file, one too deep, or a number of thousands of digits
        raise InputError(f"{file}: not json ({error}); give the selection.json of downstream.search.") from None
    if not isinstance(record, dict) or not _is_whole(record):
        raise InputError(f"{file}: not as downstream.search wrote it; give the selection.json in its output.")
    return record


def _is_whole(record: dict) -> bool:
    """Whether everything is in it that is looked for, and the settings are a point of the grid."""
    return (
        all(key in record for key in (*SEARCHED_FOR, *SUMMARY, "trials"))
        and all(isinstance(record[key], dict) for key in OBJECTS)
        and all(isinstance(record[key], list) and all(isinstance(part, dict) for part in record[key]) for key in LISTS)
        and all("state" in trial for trial in record["trials"])
        and isinstance(record["protocol"].get("name"), str)
        and record["settings"].keys() == record["grid"].keys()
        and all(
            isinstance(values, list) and record["settings"][key] in values for key, values in record["grid"].items()
        )
    )


def refuse_other(record: dict, conditions: dict, file: Path) -> None:
    """Raises InputError if the settings were chosen for something else than what is to be trained now."""
    now = as_json(conditions)
    if different := [key for key in SEARCHED_FOR if _compared(record, key) != _compared(now, key)]:
        raise InputError(
            f"{file}: its settings were chosen for other conditions ({', '.join(different)}); search for these, too."
        )


def refuse_changed(before: dict, now: dict, file: Path) -> None:
    """Raises InputError if something was made under other conditions than those of now."""
    if different := [key for key in now if before.get(key) != now[key]]:
        raise InputError(
            f"{file}: made under other conditions ({', '.join(different)}); give another --output, or --overwrite."
        )


def _compared(conditions: dict, key: str) -> object:
    """Without the name of the model's folder, which may be moved, and without the test split, which no search reads."""
    value = conditions[key]
    if key == "model":
        return {name: part for name, part in value.items() if name != "folder"}
    if key == "data_sha256":
        return [{name: part for name, part in fold.items() if name != "test"} for fold in value]
    return value


def refuse_unselected(metrics: dict, file: Path) -> None:
    """Raises InputError for a test score whose settings may have been chosen by looking at it: no table takes it."""
    if "test" not in metrics:
        return
    selection = metrics.get("selection")
    if not isinstance(selection, dict) or "by" not in selection:
        raise InputError(
            f"{file}: its test score has no record of how the settings were chosen; run downstream.finetune again."
        )
    if selection["by"] == "hand":
        raise InputError(
            f"{file}: its test score is of settings changed by hand ({', '.join(selection['changed'])}); choose them "
            "on dev with downstream.search, or write them down as a protocol beside the recipe, and run "
            "downstream.finetune again."
        )


def as_json(value: dict) -> dict:
    """The value as it comes back from a JSON file (tuples are lists there)."""
    return json.loads(json.dumps(value))
