"""What is a model worth? Every task whose data are there: `python -m downstream.evaluate MODEL... --data DIR`.

DIR holds the data sets, each in a folder of the name that its recipe says, at any depth. For each set and each model
this gives, prints and runs one command of downstream.finetune, each in an output folder of its own, then
downstream.report over all of them. What is finished is not done again.
"""

import argparse
import json
import shlex
import time
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from downstream import finetune, report
from downstream.files import InputError, exit_with_sentence, read_text, write_json
from downstream.leakage import Sought, in_files
from downstream.recipe import FOLD, Recipe
from downstream.split_lists import parse
from downstream.splits import read_folds
from downstream.tasks import load_task

RECIPES = Path(__file__).parents[1] / "recipes" / "finetune"  # of the checkout
DEPTH = 4  # folders below DIR in which a data set may lie


class Job(NamedTuple):
    """A command of downstream.finetune, the task it is for and what learns it."""

    recipe: Path
    data: Path
    learner: str
    command: list[str]
    output: Path


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m downstream.evaluate", description=__doc__.split("\n\n")[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="local Hugging Face folders")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder that holds the data sets")
    parser.add_argument(
        "--quick", action="store_true", help="one seed and some 300,000 tokens a set: a first look, on a CPU too"
    )
    parser.add_argument(
        "--protocol", help="how to train (see downstream.finetune); default tuned, or quick with --quick"
    )
    parser.add_argument("--seeds", type=int, help="how many; default the protocol's")
    parser.add_argument("--only", default="", metavar="TASK,...", help="these tasks; default: all whose data are there")
    parser.add_argument("--recipes", type=Path, default=RECIPES, help="folder of recipes; default: this project's")
    parser.add_argument(
        "--pretraining-text",
        type=Path,
        nargs="+",
        default=[],
        help="text files, or folders of .txt, that the models were pretrained on: test sentences in them are reported",
    )
    parser.add_argument("--output", type=Path, default=Path("runs/evaluate"), help="default runs/evaluate")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default auto: a GPU if any")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    args = arguments(argv)
    jobs, missing = plan(args)
    for task, folder in missing.items():
        print(f"{task}: no folder {folder} with its splits below {args.data}; left out")
    if not jobs:
        raise InputError(f"{args.data}: the data of no recipe of {args.recipes} are in it; see the recipes' `folder`.")
    failed = run(jobs)
    if args.pretraining_text:
        seen_before(jobs, args.pretraining_text, args.output / "pretraining_text.json")
    done = [str(job.output) for job in jobs if job not in failed]
    if done:
        found = [str(args.output)] if args.pretraining_text else []
        report.main([*done, *found, "--output", str(args.output)])
    if failed:
        names = ", ".join(f"{job.recipe.stem} ({job.learner})" for job in failed)
        raise InputError(f"{len(failed)} of {len(jobs)} did not end well, as said above: {names}; mend and run again.")


def plan(args: argparse.Namespace) -> tuple[list[Job], dict[str, str]]:
    """What is to be done; and the folders that were not found, by task.

    Raises InputError for a task asked for that has no recipe.
    """
    files = sorted(args.recipes.glob("*.yaml"))
    only = [name for name in args.only.split(",") if name]
    unknown = set(only) - {file.stem for file in files}
    if unknown or not files:
        known = ", ".join(file.stem for file in files)
        raise InputError(f"{args.recipes}: no recipe {', '.join(sorted(unknown)) or 'at all'}; there are: {known}.")
    jobs, missing = [], {}
    for file in files:
        recipe = load_task(file).recipe
        if only and file.stem not in only or not only and not recipe.folder:
            continue
        data = find(recipe, args.data)
        if data is None:
            missing[recipe.task] = recipe.folder
        else:
            jobs += [job(args, file, recipe, data, model) for model in args.models]
    return jobs, missing


def find(recipe: Recipe, root: Path) -> Path | None:
    """The folder below `root` that has the name the recipe says and holds its splits; of several the first by path."""
    patterns = ["/".join(["*"] * depth + [recipe.folder]) for depth in range(DEPTH)]
    folders = [root] * (root.name == recipe.folder) + sorted(one for pattern in patterns for one in root.glob(pattern))
    splits = [path.replace(FOLD, str(recipe.first_fold)) for path in recipe.splits.values()]
    paths = [parse(split, recipe.task).path for split in splits]
    return next((one for one in folders if all((one / path).exists() for path in paths)), None)


def job(args: argparse.Namespace, file: Path, recipe: Recipe, data: Path, model: Path) -> Job:
    """The command for a task and a model."""
    protocol = args.protocol or ("quick" if args.quick else "tuned")
    name = model.resolve().name
    output = args.output / recipe.task / f"{name}-{protocol}"
    command = [str(file), "--model", str(model), "--data", str(data), "--protocol", protocol, "--output", str(output)]
    command += ["--device", args.device] + (["--seeds", str(args.seeds)] if args.seeds else [])
    return Job(file, data, name, command, output)


def run(jobs: list[Job]) -> list[Job]:
    """Run the commands one after the other; returns those that could not be run, each of which has said why."""
    began, failed = time.monotonic(), []
    for number, one in enumerate(jobs, 1):
        minutes = (time.monotonic() - began) / 60
        left = f", about {minutes / (number - 1) * (len(jobs) - number + 1):.0f} to go" if number > 1 else ""
        print(f"\n== {number} of {len(jobs)} ({minutes:.0f} min{left}): {one.recipe.stem}, {one.learner}")
        print(f"python -m downstream.finetune {shlex.join(one.command)}", flush=True)
        try:
            finetune.main(one.command)
        except InputError as error:
            print(f"error: {error}", flush=True)
            failed.append(one)
    return failed


def seen_before(jobs: list[Job], paths: list[Path], output: Path) -> None:
    """Look for test sentences in the pretraining text, once for all tasks; writes what is found, by task."""
    sought, digests = {}, {}
    for one in {one.recipe: one for one in jobs}.values():
        task = load_task(one.recipe)
        parts = [splits["test"] for splits in read_folds(task, one.recipe, one.data, dev_only=False)]
        sought[task.recipe.task] = Sought(task, [item for part in parts for item in part.items])
        digests[task.recipe.task] = [part.sha256 for part in parts]
    asked = {"files": sorted(str(path.resolve()) for path in paths), "test_sha256": digests}
    if (
        output.is_file()
        and {key: value for key, value in json.loads(read_text(output)).items() if key in asked} == asked
    ):
        return
    in_files(sought.values(), paths, lambda lines: tqdm(lines, unit=" lines of pretraining text", leave=False))
    write_json(output, asked | {"tasks": {name: one.report() for name, one in sought.items()}})


if __name__ == "__main__":
    exit_with_sentence(main)
