"""Choose settings on dev: `python -m downstream.search RECIPE --model DIR [--protocol NAME] [--grid KEY=V1,V2]`.

Trains at the points of a grid and never opens the test split. The output folder gets journal.log, the trials so far,
from which a second call with the same settings resumes; selection.json, the best settings, for downstream.finetune
--selection; and selection.md, a table of the trials.
"""

import argparse
import shlex
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alibert_common.cli import program
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import write_json, write_text
from alibert_common.yaml_config import yaml_value
from downstream.run_config import DEFAULT_PROTOCOL, RunConfig, add_options, config_of, kind_of
from downstream.training.model_folder import refuse_no_model
from downstream.training.protocol import Protocol, load_protocol
from downstream.training.selection import Choice, as_json

if TYPE_CHECKING:
    from downstream.tuning.optuna_study import SearchPlan

SAMPLER_SEED = 1  # of the order of the grid and of tpe; any serves, it is in the result


def build_parser() -> argparse.ArgumentParser:
    """The options of this command."""
    parser = argparse.ArgumentParser(prog=program("python -m downstream.search"), description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--model", type=Path, required=True, help="local Hugging Face folder with a fast tokenizer")
    add_options(parser)
    add("--grid", action="append", default=[], metavar="KEY=V1,V2,...",
        help="values to try of one setting, in place of the protocol's (repeatable)")  # fmt: skip
    add("--sampler", choices=("grid", "tpe"), default="grid",
        help="order of the trials: grid, drawn once, or tpe, for large grids (default: grid)")  # fmt: skip
    add("--trials", type=int, help="number of points to try (default: all points of the grid)")
    add("--seeds", type=int, default=1, help="trainings in each trial (default: 1)")
    add("--output", type=Path, help="output folder (default: runs/search/TASK-PROTOCOL-MODEL)")
    add("--overwrite", action="store_true", help="remove the trials of an earlier search first")
    return parser


def main(argv: list[str] | None = None) -> None:
    """The command; `argv` in place of the process's arguments."""
    args = build_parser().parse_args(argv)
    config, choice = search_config(args)
    protocol = choice.protocol
    plan = plan_of(args, protocol, choice.name)

    from downstream.data.splits import read_folds  # here: torch takes seconds, and bad options need none
    from downstream.experiment.run import Experiment
    from downstream.experiment.set_up import conditions_of, learner_of
    from downstream.tasks import task_from
    from downstream.tuning.trials import TrialTrainer, search, table

    task = task_from(config.recipe)
    learner = learner_of(config, task)
    folds = read_folds(task, config.data, dev_only=True)
    conditions = conditions_of(task, learner, folds) | choice.conditions()
    conditions["versions"]["optuna"] = metadata.version("optuna")
    conditions |= {"grid": protocol.grid, "sampler": plan.sampler, "sampler_seed": plan.seed, "seeds": args.seeds}
    trainer = TrialTrainer(Experiment(task, learner, folds, config.output, conditions), protocol, args.seeds)
    record = search(plan, trainer, as_json(conditions), config.output, anew=config.overwrite)
    record |= Choice(choice.name, protocol.settled(record["settings"])).conditions()
    write_json(config.output / "selection.json", record)
    text = table(record)
    write_text(config.output / "selection.md", text)
    print(f"{text}\nnext: {next_command(args, config.output)}")


def search_config(args: argparse.Namespace) -> tuple[RunConfig, Choice]:
    """The run whose settings are searched, and its protocol. Raises InputError for bad input."""
    from downstream.tasks import load_task  # here: it imports numpy, and --help needs none of it

    recipe, name = load_task(args.recipe).recipe, args.protocol or DEFAULT_PROTOCOL
    choice = Choice(name, load_protocol(args.recipe, name, [], recipe.names, grid_of(args.grid)))
    refuse_no_model(args.model)
    kind = kind_of(args, recipe.kind)
    parts = [recipe.task, name, *[args.form] * (args.form not in (None, name)), args.model.resolve().name]
    parts += ["random"] * args.random_init + ["frozen"] * args.frozen
    output = args.output or Path("runs/search") / "-".join(parts)
    return config_of(args, recipe, kind, choice, output, dev_only=True), choice


def grid_of(options: list[str]) -> dict[str, list]:
    """`KEY=V1,V2` by key. Raises InputError for one that is not of this form, and for a key that is there twice."""
    grid: dict[str, Any] = {}
    for option in options:
        key, _, values = option.partition("=")
        if not values:
            raise InputError(f"--grid {option}: write KEY=V1,V2, for example --grid learning_rate=1e-4,5e-4.")
        if key in grid:
            raise InputError(f"--grid {option}: {key} is there twice; write all its values into one --grid.")
        grid[key] = yaml_value(f"[{values}]", f"--grid {option}")
    return grid


def plan_of(args: argparse.Namespace, protocol: Protocol, name: str) -> "SearchPlan":
    """Raises InputError where there is nothing to choose, or not that often."""
    from downstream.tuning.optuna_study import SearchPlan

    points = protocol.points
    if not protocol.grid:
        raise InputError(
            f"--protocol {name}: it leaves nothing to choose; say what, for example --grid learning_rate=1e-4,5e-4."
        )
    trials = len(points) if args.trials is None else args.trials
    if args.seeds < 1 or not 1 <= trials <= len(points):
        raise InputError(
            f"--trials {trials}, --seeds {args.seeds}: both start at 1, and the grid has {len(points)} points to try."
        )
    return SearchPlan(points, args.sampler, trials, SAMPLER_SEED)


def next_command(args: argparse.Namespace, output: Path) -> str:
    """The command that trains with the chosen settings and scores on test."""
    parts = ["python", "-m", "downstream.finetune", args.recipe, "--model", args.model]
    parts += ["--data", args.data] if args.data else []
    parts += ["--form", args.form] if args.form else []
    parts += ["--random-init"] * args.random_init + ["--frozen"] * args.frozen + ["--bf16"] * args.bf16
    parts += ["--device", args.device] if args.device != "auto" else []
    return shlex.join(map(str, [*parts, "--selection", output / "selection.json"]))


if __name__ == "__main__":
    exit_with_sentence(main)
