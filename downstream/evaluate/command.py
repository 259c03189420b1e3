"""The command line."""

import argparse
from pathlib import Path

from alibert_common import shipped
from alibert_common.errors import InputError
from downstream import report
from downstream.data.contamination import text_files
from downstream.evaluate.plan import BASELINES, Job, plan
from downstream.evaluate.pretraining import refuse_undecodable, seen_before
from downstream.evaluate.run_commands import run
from downstream.training import models

RECIPES = shipped.RECIPES / "finetune"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m downstream.evaluate",
        description="What is a model worth? Every task whose data are there, then the report of all.",
    )
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="local Hugging Face folders")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder that holds the data sets")
    parser.add_argument(
        "--quick", action="store_true", help="one seed and some 300,000 tokens a set: a first look, on a CPU too"
    )
    parser.add_argument(
        "--protocol", help="how to train (see downstream.finetune); default tuned, or quick with --quick"
    )
    parser.add_argument("--seeds", type=int, help="how many; default the protocol's")
    parser.add_argument(
        "--baselines",
        default="",
        metavar="NAME,...",
        help=f"what the models have to beat, where it serves the task: {', '.join(BASELINES)}; or all",
    )
    parser.add_argument("--only", default="", metavar="TASK,...", help="these tasks; default: all whose data are there")
    parser.add_argument("--recipes", type=Path, default=RECIPES, help="folder of recipes; default: this project's")
    parser.add_argument(
        "--pretraining-text",
        type=Path,
        nargs="+",
        default=[],
        help="text files, or folders of .txt, that the models were pretrained on: test sentences in them are reported",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,  # a GPU trains one after the other; a small encoder on a CPU gains nothing from a second core
        help="trainings at a time, which share the cores; default 1",
    )
    parser.add_argument("--dev-only", action="store_true", help="do not read the test splits; to choose a model")
    parser.add_argument(
        "--overwrite", action="store_true", help="throw away what earlier runs left in the outputs of these trainings"
    )
    parser.add_argument("--output", type=Path, default=Path("runs/evaluate"), help="default runs/evaluate")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default auto: a GPU if any")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """The command line; `argv` in place of that of the process."""
    args = arguments(argv)
    refuse(args)
    jobs, missing = plan(args)
    for task, folder in missing.items():
        print(f"{task}: no folder {folder} with its splits below {args.data}; left out")
    if not jobs:
        which = f"data of {args.only} are not" if args.only else f"data of no recipe of {args.recipes} are"
        raise InputError(f"{args.data}: the {which} in it; see the recipes' `folder`.")
    for model in args.models:  # what each of its trainings would refuse
        models.load_config(model)
        models.load_tokenizer(model)
    refuse_undecodable(args.pretraining_text)
    failed = run(jobs, args.jobs)
    tell(args, [job for job in jobs if job not in failed], failed)


def tell(args: argparse.Namespace, done: list[Job], failed: list[Job]) -> None:
    """Write the report of what is done, whatever else went wrong; then raise InputError for that."""
    wrong, found = [], []
    if failed:
        number = len(done) + len(failed)
        wrong.append(f"{len(failed)} of {number} did not end well: {_names(failed)}; mend, and run again.")
    if done and args.pretraining_text:
        try:
            seen_before(done, args.pretraining_text, args.output / "pretraining_text.json")
            found.append(args.output)
        except (InputError, OSError) as error:
            wrong.append(f"The pretraining text is not in the report: {error}")
    if done:
        report.print_and_write([*(job.output for job in done), *found], args.output)
    if wrong:
        raise InputError(" ".join(wrong))


def refuse(args: argparse.Namespace) -> None:
    """Raise InputError for options that make no sense together, before anything is read."""
    if not args.data.is_dir():
        raise InputError(f"{args.data}: no such folder; give --data the one that holds the folders of the data sets.")
    if args.quick and args.protocol:
        raise InputError("--quick is a protocol of its own; leave out --protocol, or --quick.")
    if args.dev_only and args.pretraining_text:
        raise InputError("--pretraining-text looks for test sentences, which --dev-only does not read; leave one out.")
    for option, value in (("--jobs", args.jobs), ("--seeds", args.seeds)):
        if value is not None and value < 1:
            raise InputError(f"{option} {value}: at least one is needed.")
    text_files(args.pretraining_text)


def _names(jobs: list[Job]) -> str:
    return ", ".join(f"{job.recipe.stem} ({job.learner})" for job in jobs)
