"""What papers report for our tasks (published.yaml), beside ours, with the difference."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from alibert_common.report.document import NONE, Table, Text
from downstream.report.groups import Group
from downstream.report.read_runs import Run, at

FILE = Path(__file__).with_name("published.yaml")


VERDICTS = {
    True: "compares with ours",
    "data": "is of the data and split of ours, but of a kinder measure or one that it does not say",
    False: "does not compare with ours",
}


@dataclass(frozen=True)
class Published:
    """One figure, from 0 to 1 (of data/LABEL: a count). compares: of VERDICTS; condition: how it differs."""

    source: str
    model: str
    task: str
    path: tuple[str, ...]
    value: float
    deviation: float | None
    compares: bool | str
    condition: str


@cache
def everything() -> tuple[Published, ...]:
    """In the order of the file."""
    return tuple(_read(yaml.safe_load(FILE.read_text(encoding="utf-8"))))


def of(task: str) -> list[Published]:
    """What there is for a task."""
    return [one for one in everything() if one.task == task]


def _read(sources: list[dict]) -> Iterator[Published]:
    for source in sources:
        scale = 100 if source.get("percent") else 1
        for row in source["rows"]:
            for number, model in enumerate(source["models"]):
                for path, values in row["figures"].items():
                    value, deviation = _both(values[number])
                    yield Published(
                        source["source"],
                        model,
                        row["task"],
                        tuple(path.split("/")),
                        value / scale,
                        None if deviation is None else deviation / scale,
                        row["compares"],
                        row["condition"],
                    )


def _both(value: float | list[float]) -> tuple[float, float | None]:
    return tuple(value) if isinstance(value, list) else (value, None)


def beside_ours(group: Group) -> list[Table | Text]:
    """A row a published figure that ours have too: its value, then ours with the difference; and what to make of it."""
    if group.first.split != "test":
        return []
    found = [one for one in of(group.first.task) if any(_ours(run, one.path) is not None for run in group.runs)]
    if not found:
        return []
    rows = []
    for one in found:
        ours = [_ours(run, one.path) for run in group.runs]
        figure = " ".join(one.path).replace("_", " ")
        rows.append([f"{one.source}: {one.model}", figure, _value(one), *(against(each, one.value) for each in ours)])
    head = ["published", "figure", "theirs", *(f"{run.name} (difference)" for run in group.runs)]
    return [Table(f"{group.title}: published figures and ours", head, rows), conditions(found)]


def against(ours: float | None, theirs: float) -> str:
    """`0.512 (-0.123)`."""
    return NONE if ours is None else f"{ours:.3f} ({ours - theirs:+.3f})"


def conditions(found: list[Published]) -> Text:
    """For each table of a paper, whether its figures can be compared, in words."""
    told = dict.fromkeys((one.source, one.compares, one.condition) for one in found)
    return Text(" ".join(f"{source} {VERDICTS[compares]}: {why}." for source, compares, why in told))


def _value(one: Published) -> str:
    return f"{one.value:.3f}" + (f" ± {one.deviation:.3f}" if one.deviation is not None else "")


def _ours(run: Run, path: tuple[str, ...]) -> float | None:
    """None where the run has no such figure."""
    try:
        return at(run.figures, path)["mean"]
    except (KeyError, TypeError):
        return None
