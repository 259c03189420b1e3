"""The command: what is wrong is refused, then every training runs, then the report is written."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from alibert_common import shipped
from alibert_common.cli import program
from alibert_common.errors import InputError, exit_with_sentence
from downstream.learners import registry
from downstream.run_config import add_device
from downstream.training.model_folder import refuse_no_model

if TYPE_CHECKING:
    from downstream.evaluate.plan import Job

RECIPES = shipped.RECIPES / "finetune"


def build_parser() -> argparse.ArgumentParser:
    """The options of this command."""
    parser = argparse.ArgumentParser(
        prog=program("python -m downstream.evaluate"),
        description="Train and score models on every task whose data are there, then write the report of all.",
    )
    add = parser.add_argument
    add("models", type=Path, nargs="+", metavar="MODEL", help="local Hugging Face folders")
    add("--data", type=Path, required=True, metavar="DIR", help="folder that holds the data sets")
    add("--quick", action="store_true", help="one seed and about 300,000 tokens for each set, for a first look")
    add("--protocol", help="training protocol, as in downstream.finetune (default: tuned, or quick with --quick)")
    add("--seeds", type=int, help="number of seeds (default: the protocol's)")
    add("--baselines", default="", metavar="NAME,...",
        help=f"baselines, or all: {', '.join(registry.EVALUATED)} (default: none)")  # fmt: skip
    add("--only", default="", metavar="TASK,...", help="tasks to run (default: all whose data are there)")
    add("--recipes", type=Path, default=RECIPES, help="folder of recipes (default: this project's)")
    add("--pretraining-text", type=Path, nargs="+", default=[],
        help="pretraining text, as files or folders of .txt; test sentences in it are reported")  # fmt: skip
    add("--jobs", type=int, default=1, help="trainings at a time, which share the cores (default: 1)")
    add("--dev-only", action="store_true", help="leave the test splits unread, to choose a model")
    add("--overwrite", action="store_true", help="remove the results of earlier runs of these trainings first")
    add("--output", type=Path, default=Path("runs/evaluate"), help="output folder (default: runs/evaluate)")
    add_device(parser)
    return parser


def main(argv: list[str] | None = None) -> None:
    """The command; `argv` in place of the process's arguments."""
    args = build_parser().parse_args(argv)
    from downstream.evaluate.plan import plan  # here: --help needs none of these

    refuse(args)
    jobs, missing = plan(args)
    for task, folder in missing.items():
        print(f"{task}: no folder {folder} with its splits below {args.data}; left out")
    if not jobs:
        which = f"data of {args.only} are not" if args.only else f"data of no recipe of {args.recipes} are"
        raise InputError(f"{args.data}: the {which} in it; see the recipes' `folder`.")
    for model in args.models:
        refuse_no_model(model)

    from downstream.evaluate.pretraining import refuse_undecodable
    from downstream.evaluate.run_commands import run
    from downstream.training import models  # torch takes seconds, and wrong paths need none
    from downstream.training.tokenizer import load_tokenizer

    for model in args.models:  # what each of its trainings would refuse
        models.load_config(model)
        load_tokenizer(model)
    refuse_undecodable(args.pretraining_text)
    failed = run(jobs, args.jobs)
    tell(args, [job for job in jobs if job not in failed], failed)


def tell(args: argparse.Namespace, done: "list[Job]", failed: "list[Job]") -> None:
    """Write the report of what is done, whatever else went wrong; then raise InputError for that."""
    from downstream import report
    from downstream.evaluate.pretraining import seen_before

    wrong, found = [], []
    if failed:
        names = ", ".join(f"{job.recipe.stem} ({job.learner})" for job in failed)
        wrong.append(f"{len(failed)} of {len(done) + len(failed)} did not end well: {names}; correct, and run again.")
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
    if args.pretraining_text:
        from downstream.data.contamination import text_files

        text_files(args.pretraining_text)


if __name__ == "__main__":
    exit_with_sentence(main)
