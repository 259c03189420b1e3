"""Scores against the amount of pretraining (`steps`), or against the number of training documents (`documents`).

`python -m downstream.curves steps RECIPE --models DIR...` and `documents RECIPE --model DIR --sizes 25,50,all` run one
training a point, each in a folder of its own below the output, then write curves.json, curves.md and curves.png there.
Finished points are not run again. docs/howto/curves.md says what is held equal.
"""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from alibert_common.cli import named, program
from alibert_common.errors import exit_with_sentence
from alibert_common.files import write_json, write_text
from downstream import run_config

if TYPE_CHECKING:
    from downstream.curves.points import Point

AXES = {"steps": "pretraining step (updates)", "documents": "number of training documents"}
DOCUMENTS = "documents"  # in what is told, where the data say which these are
BAND = (
    "Mean ± deviation over the seeds [95 % bootstrap interval over documents, of the mean]. In the picture, whiskers "
    "are the deviation and bands the interval."
)
SPLITS = {
    "dev": "Scores are of dev, on which epochs were chosen: they compare points, and are too good for a result.",
    "test": "Scores are of test. Choose neither a step nor a model by them: that is for dev.",
}


def build_parser() -> argparse.ArgumentParser:
    """The options of this command."""
    parser = argparse.ArgumentParser(prog=program("python -m downstream.curves"), description=__doc__.split("\n\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    steps, documents = (kinds.add_parser(name, help=f"scores against the {axis}") for name, axis in AXES.items())
    steps.add_argument(
        "--models",
        nargs="+",
        required=True,
        metavar="[NAME=]DIR",
        help="exported checkpoints, or folders of them, whose cards say the step; NAME=STEP:DIR for others",
    )
    documents.add_argument(
        "--model", action="append", required=True, metavar="[NAME=]DIR", help="local Hugging Face folder (repeatable)"
    )
    documents.add_argument("--sizes", required=True, metavar="N,...,all", help="numbers of training documents")
    for kind in (steps, documents):
        run_config.add_options(kind)
        kind.add_argument("--seeds", type=int, help="trainings for each point (default: the protocol's)")
        kind.add_argument("--test", action="store_true", help="scores on test in place of dev")
        kind.add_argument("--output", type=Path, help="output folder (default: runs/curves/TASK-KIND[-test])")
        kind.add_argument("--overwrite", action="store_true", help="remove the results of an earlier run first")
    return parser


def main(argv: list[str] | None = None) -> None:
    """The command; `argv` in place of the process's arguments."""
    args = build_parser().parse_args(argv)
    from downstream.tasks import load_task  # here: --help needs none of these

    recipe = load_task(args.recipe).recipe
    output = args.output or Path("runs/curves") / f"{recipe.task}-{args.kind}{'-test' * args.test}"
    points = points_of(args)
    commands = [command(args, point, output) for point in points]
    configs = [run_config.run_config(run_config.build_parser().parse_args(words)) for words in commands]

    from downstream.curves.figures import draw, gathered, table
    from downstream.data.resampling_unit import PATIENTS, SENTENCES, WITHOUT_DOCUMENTS
    from downstream.experiment.set_up import fine_tune

    for number, (point, words, config) in enumerate(zip(points, commands, configs, strict=True), 1):
        print(f"\n== {number} of {len(points)}: {point.line}, {AXES[args.kind]} {point.x}")
        print(f"python -m downstream.finetune {shlex.join(words)}", flush=True)
        print(fine_tune(config))
    found = gathered(points, output)
    note, trained_on = BAND.replace(DOCUMENTS, found["unit"]), found["unit"]
    axis = AXES[args.kind].replace(DOCUMENTS, DOCUMENTS if trained_on == PATIENTS else trained_on)
    note += f" {WITHOUT_DOCUMENTS}" if found["unit"] == SENTENCES else ""
    curves = {"kind": args.kind, "axis": axis, "told": note, **found}
    title = f"**{curves['task']}, {curves['figure']} on {curves['split']}, protocol {curves['protocol']}**"
    text = f"{title}\n\n{table(curves)}\n{note} {SPLITS[curves['split']]}\n"
    write_json(output / "curves.json", curves)
    write_text(output / "curves.md", text)
    draw(curves, args.kind == "documents", output / "curves.png")
    print(f"\n{text}\ncurves: {output}")


def points_of(args: argparse.Namespace) -> list["Point"]:
    """The points asked for. Raises InputError, before anything is trained, for those that cannot be made."""
    from downstream.curves.points import over_documents, over_steps, sizes_of
    from downstream.data.data_folder import data_folder
    from downstream.data.splits import read_folds
    from downstream.tasks import load_task

    if args.kind == "steps":
        return over_steps(args.models)
    sizes, models = sizes_of(args.sizes), named(args.model, "--model", default_names=True)
    task = load_task(args.recipe)
    root = data_folder(task.recipe, args.recipe, args.data, dev_only=True)
    return over_documents(models, sizes, task, read_folds(task, root, dev_only=True))


def command(args: argparse.Namespace, point: "Point", output: Path) -> list[str]:
    """The words after `python -m downstream.finetune` that train and score one point."""
    words = [str(args.recipe), "--model", str(point.model), "--output", str(output / point.folder), *point.options]
    for name in ("protocol", "form", "data", "seeds", "device"):
        if getattr(args, name) is not None:
            words += [f"--{name}", str(getattr(args, name))]
    words += [
        f"--{name.replace('_', '-')}" for name in ("random_init", "frozen", "bf16", "overwrite") if vars(args)[name]
    ]
    return words + ([] if args.test else ["--dev-only"])


if __name__ == "__main__":
    exit_with_sentence(main)
