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

    @property
    def log(self) -> Path:
        """The file of its output, where several jobs run at a time."""
        return self.output.with_name(f"{self.output.name}.log")


def plan(args: argparse.Namespace) -> tuple[list[Job], dict[str, str]]:
    """The jobs, and the folders that were not found, by task.

    Raises InputError for a task asked for that has no recipe, a baseline or protocol that nobody knows, models of one
    name, and trainings that would write to one place.
    """
    only, wanted = ([name for name in names.split(",") if name] for names in (args.only, args.baselines))
    if args.baselines == "all":
        wanted = list(registry.EVALUATED)
    if unknown := [name for name in wanted if name not in registry.EVALUATED]:
        raise InputError(f"--baselines: there is no {', '.join(unknown)}; there are: {', '.join(registry.EVALUATED)}.")
    protocol = args.protocol or ("quick" if args.quick else "tuned")
    models: dict[str, Path] = {}  # tables and outputs tell them by the names of their folders
    for model in args.models:
        other = models.setdefault(model.resolve().name, model)
        if other is not model:
            raise InputError(f"{other} and {model}: folders of one name, which tables tell models by; rename one.")
    files = sorted(args.recipes.glob("*.yaml"))
    unknown = sorted(set(only) - {file.stem for file in files})
    if unknown or not files:
        known = ", ".join(file.stem for file in files)
        raise InputError(f"{args.recipes}: no recipe {', '.join(unknown) or 'at all'}; there are: {known}.")
    jobs, missing = [], {}
    for file in files:
        task = load_task(file)
        recipe = task.recipe
        if only and file.stem not in only or not only and not recipe.folder:
            continue
        if not recipe.folder:
            raise InputError(f"{file}: has no `folder` to look for below {args.data}; give it to downstream.finetune.")
        data = find(recipe, args.data, args.dev_only)
        if data is None:
            missing[recipe.task] = recipe.folder
        else:
            asked = learners(models, protocol, args.quick, wanted, recipe.kind)
            jobs += [_job(args, file, task, data, *learner) for learner in asked]
    _refuse_one_output(jobs)
    return jobs, missing


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


def learners(
    models: dict[str, Path], protocol: str, quick: bool, wanted: list[str], family: str
) -> Iterator[tuple[str, list[str]]]:
    """A name, and options of downstream.finetune, for each that serves the family."""
    for number, (name, model) in enumerate(models.items()):
        given = ["--model", str(model)]
        trained = [*given, "--protocol", protocol]
        yield f"{name}-{protocol}", trained
        if "random" in wanted and not number:
            yield f"{name}-random-{protocol}", [*trained, "--random-init"]
        if "frozen" in wanted:
            yield f"{name}-frozen-{protocol}", [*trained, "--frozen"]
        for form, kind in registry.FORMS.items():
            if form in wanted and not quick and family in kind.families:
                yield f"{name}-as-{form}", [*given, "--form", form, "--protocol", form]
        if "cosine" in wanted and family in registry.COSINE.families:
            yield f"{name}-cosine", [*given, "--cosine"]
    for name, kind in registry.BASELINES.items():
        if name in wanted and family in kind.families:
            if quick and kind.has_protocol:
                yield f"{name}-quick", ["--baseline", name, "--protocol", "vectors_quick"]
            else:
                yield name, ["--baseline", name]


def _job(args: argparse.Namespace, file: Path, task: Task, data: Path, name: str, options: list[str]) -> Job:
    output = args.output / task.recipe.task / name
    kind = registry.BASELINES[options[1]] if options[0] == "--baseline" else registry.ENCODER
    more = ["--device", args.device] if args.device != "auto" and "--device cuda" in kind.options else []
    more += ["--overwrite"] * args.overwrite
    commands, at = [], options.index("--protocol") if "--protocol" in options else None
    if at is not None and load_protocol(file, options[at + 1], [], task.recipe.names).grid:
        place = output.with_name(f"{name}-search")
        commands.append(["downstream.search", str(file), *options, "--data", str(data), "--output", str(place), *more])
        options = [*options[:at], "--selection", str(place / "selection.json"), *options[at + 2 :]]
    seeds = args.seeds or (1 if args.quick else None)  # of a first look one, of baselines that are networks, too
    scoring = (["--seeds", str(seeds)] if seeds else []) + ["--dev-only"] * args.dev_only
    command = ["downstream.finetune", str(file), *options, "--data", str(data), "--output", str(output)]
    return Job(file, data, name, [*commands, [*command, *scoring, *more]], output)
