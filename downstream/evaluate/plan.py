"""What is to be trained and scored: for each set that is there, each model, and what it has to beat."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from downstream.data.data_folder import find
from downstream.learners import registry
from downstream.tasks import load_task
from downstream.tasks.base import Task
from downstream.training.protocol import load_protocol

BASELINES = registry.EVALUATED


class Job(NamedTuple):
    """What is run, one after the other, each a module and its words; the task it is for and what learns it.

    The last is of downstream.finetune, and writes `output`; where the protocol leaves something to choose, a search on
    dev comes first.
    """

    recipe: Path
    data: Path
    learner: str
    commands: list[list[str]]
    output: Path


def plan(args: argparse.Namespace) -> tuple[list[Job], dict[str, str]]:
    """What is to be done; and the folders that were not found, by task.

    Raises InputError for a task asked for that has no recipe, a baseline or protocol that nobody knows, models of one
    name, and trainings that would write to one place.
    """
    wanted = _baselines(args.baselines)
    _refuse_one_name(args.models)
    files = sorted(args.recipes.glob("*.yaml"))
    only = _split(args.only)
    unknown = set(only) - {file.stem for file in files}
    if unknown or not files:
        known = ", ".join(file.stem for file in files)
        raise InputError(f"{args.recipes}: no recipe {', '.join(sorted(unknown)) or 'at all'}; there are: {known}.")
    jobs, missing = [], {}
    for file in files:
        task = load_task(file)
        recipe = task.recipe
        if only and file.stem not in only or not only and not recipe.folder:
            continue
        if not recipe.folder:
            raise InputError(f"{file}: has no `folder` to look for below {args.data}; give it to downstream.finetune.")
        data = find(recipe, args.data)
        if data is None:
            missing[recipe.task] = recipe.folder
        else:
            searched = bool(load_protocol(file, _protocol(args), [], recipe.names).grid)
            jobs += [_job(args, file, task, data, searched, *asked) for asked in learners(args, wanted, recipe.kind)]
    _refuse_one_output(jobs)
    return jobs, missing


def _split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def _baselines(names: str) -> list[str]:
    wanted = list(BASELINES) if names == "all" else _split(names)
    unknown = [name for name in wanted if name not in BASELINES]
    if unknown:
        raise InputError(f"--baselines: there is no {', '.join(unknown)}; there are: {', '.join(BASELINES)}.")
    return wanted


def _refuse_one_name(models: list[Path]) -> None:
    """Tables and outputs tell models by the names of their folders."""
    seen: dict[str, Path] = {}
    for model in models:
        other = seen.setdefault(model.resolve().name, model)
        if other is not model:
            raise InputError(f"{other} and {model}: folders of one name, which tables tell models by; rename one.")


def _refuse_one_output(jobs: list[Job]) -> None:
    """Two recipes may be of one `task`, and a model be called as another one with random weights."""
    seen: dict[Path, Job] = {}
    for job in jobs:
        other = seen.setdefault(job.output, job)
        if other is not job:
            raise InputError(
                f"{other.recipe} ({other.learner}) and {job.recipe} ({job.learner}): both would be written to "
                f"{job.output}; give one of the recipes another task, or one of the models' folders another name."
            )


def learners(args: argparse.Namespace, wanted: list[str], family: str) -> Iterator[tuple[str, list[str]]]:
    """A name, and options of downstream.finetune, for each that serves the family."""
    protocol = _protocol(args)
    for model in args.models:
        name, given = model.resolve().name, ["--model", str(model)]
        trained = [*given, "--protocol", protocol]
        yield f"{name}-{protocol}", trained
        if "random" in wanted and model is args.models[0]:
            yield f"{name}-random-{protocol}", [*trained, "--random-init"]
        if "frozen" in wanted:
            yield f"{name}-frozen-{protocol}", [*trained, "--frozen"]
        if "cosine" in wanted and family in registry.COSINE.families:
            yield f"{name}-cosine", [*given, "--cosine"]
    for name, kind in registry.BASELINES.items():
        if name in wanted and family in kind.families:
            if args.quick and kind.has_protocol:
                yield f"{name}-quick", ["--baseline", name, "--protocol", "vectors_quick"]
            else:
                yield name, ["--baseline", name]


def _protocol(args: argparse.Namespace) -> str:
    return args.protocol or ("quick" if args.quick else "tuned")


def _job(
    args: argparse.Namespace, file: Path, task: Task, data: Path, searched: bool, name: str, options: list[str]
) -> Job:
    output = args.output / task.recipe.task / name
    more = ["--device", args.device] if args.device != "auto" and _on_a_device(options) else []
    more += ["--overwrite"] * args.overwrite
    commands = []
    if searched and "--protocol" in options:
        place, at = output.with_name(f"{name}-search"), options.index("--protocol")
        commands.append(["downstream.search", str(file), *options, "--data", str(data), "--output", str(place), *more])
        options = [*options[:at], "--selection", str(place / "selection.json"), *options[at + 2 :]]
    scoring = ["--seeds", str(_seeds(args))] if _seeds(args) else []
    scoring += ["--dev-only"] * args.dev_only
    command = ["downstream.finetune", str(file), *options, "--data", str(data), "--output", str(output)]
    return Job(file, data, name, [*commands, [*command, *scoring, *more]], output)


def _seeds(args: argparse.Namespace) -> int | None:
    """As said; of a first look one, of baselines that are networks, too."""
    return args.seeds or (1 if args.quick else None)


def _on_a_device(options: list[str]) -> bool:
    kind = registry.BASELINES[options[1]] if options[0] == "--baseline" else registry.ENCODER
    return "--device cuda" in kind.options
