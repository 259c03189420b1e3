"""The points of curves: each an ordinary experiment, a command of downstream.finetune and a place on the axis."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.files import read_text
from downstream.data.splits import Splits, documents_in
from downstream.tasks.base import Task

ALL = "all"  # in place of a size
UPDATES = re.compile(r"^\| updates \| (\d+) \|$", re.MULTILINE)  # a row of the card in an exported folder
ARGUMENT = re.compile(r"(?:(?P<name>[^=]+)=(?:(?P<step>\d+):)?)?(?P<folder>.+)")


class Point(NamedTuple):
    """line: the name of its curve. x: updates of pretraining, or training documents. folder: below the output."""

    line: str
    x: int
    model: Path
    folder: str
    options: tuple[str, ...] = ()  # of downstream.finetune, of its own


def over_steps(arguments: list[str]) -> list[Point]:
    """A curve a run, a point a checkpoint, in their order.

    arguments: [NAME=]DIR, an exported checkpoint or a folder of them, whose cards say the step; or NAME=STEP:DIR.
    A curve without NAME has that of the folder of its checkpoints. Raises InputError for a folder that holds none, a
    step that nothing says and one that is there twice, and for two such folders of one name.
    """
    runs: dict[str, Path] = {}  # by the name of the curve, where no NAME is given
    found = [point for argument in arguments for point in _checkpoints(argument, runs)]
    twice = [at for at, count in Counter((point.line, point.x) for point in found).items() if count > 1]
    if twice:
        line, step = twice[0]
        raise InputError(f"--models: step {step} of {line} is there twice; give the other run a NAME=DIR of its own.")
    return _in_order(found)


def _checkpoints(argument: str, runs: dict[str, Path]) -> list[Point]:
    name, step, place = _parts(argument)
    is_one = _is_model(place)
    models = [place] if is_one else sorted(filter(_is_model, place.glob("*")))
    if not models or step and not is_one:
        raise InputError(f"--models {argument}: no config.json in it; give an exported checkpoint or a folder of them.")
    run = place.resolve().parent if is_one else place.resolve()
    if not name and runs.setdefault(run.name, run) != run:
        raise InputError(
            f"--models {argument}: {run.name} is {runs[run.name]} already; write NAME=DIR with another name."
        )
    line = name or run.name
    steps = [int(step)] if step else map(step_of, models)
    return [Point(line, x, model, f"{line}/step-{x}") for x, model in zip(steps, models, strict=True)]


def _parts(argument: str) -> tuple[str | None, str | None, Path]:
    """Name, step and folder. What is there is a folder, though it has a = in it."""
    if argument and Path(argument).exists():
        return None, None, Path(argument)
    parts = ARGUMENT.fullmatch(argument)
    if not parts:
        raise InputError(f"--models {argument!r}: write DIR, NAME=DIR or NAME=STEP:DIR.")
    name, step, folder = parts.group("name", "step", "folder")
    return name, step, Path(folder)


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def step_of(model: Path) -> int:
    """Updates of pretraining, as the card of an exported folder says. Raises InputError for a card that does not."""
    card = model / "README.md"
    updates = UPDATES.search(read_text(card)) if card.is_file() else None
    if not updates:
        raise InputError(f"{card}: no row `| updates | N |`, so the step is not known; write NAME=STEP:{model}.")
    return int(updates[1])


def sizes_of(text: str) -> list[int | None]:
    """Numbers of documents from `25,50,all`; None is all. Raises InputError for anything else."""
    words = [word.strip() for word in text.split(",")]
    wrong = [word for word in words if word != ALL and not (word.isdecimal() and int(word))]
    if wrong:
        raise InputError(f"--sizes {text}: {wrong[0]!r} is no number of documents; write 25,50,100,{ALL}, for example.")
    return [None if word == ALL else int(word) for word in dict.fromkeys(words)]


def over_documents(models: dict[str, Path], sizes: list[int | None], task: Task, folds: list[Splits]) -> list[Point]:
    """A curve a model, a point a size, in their order; with folds, x of all documents is their mean number.

    Raises InputError for a size that a training split does not have.
    """
    have = [len(documents_in(task, splits["train"])) for splits in folds]
    too_many = [size for size in sizes if size and size > min(have)]
    if too_many:
        raise InputError(
            f"--sizes: {too_many[0]} documents, but {task.recipe.task} trains on {min(have)}; write {ALL} for these."
        )
    numbers = {None if size == max(have) else size for size in sizes}  # the same point, however it is asked for
    points = []
    for line, model in models.items():
        for size in numbers:
            x, options = size or round(sum(have) / len(have)), ("--train-documents", str(size)) if size else ()
            points.append(Point(line, x, model, f"{line}/documents-{size or ALL}", options))
    return _in_order(points)


def _in_order(points: list[Point]) -> list[Point]:
    lines = list(dict.fromkeys(point.line for point in points))
    return sorted(points, key=lambda point: (lines.index(point.line), point.x))
