"""Choose settings on dev: `python -m downstream.search RECIPE --model DIR [--protocol NAME] [--grid KEY=V1,V2]`.

Trains at the points of a grid and never opens the test split. Writes to the output folder: journal.log, the trials so
far, from which a second call with the same settings goes on; selection.json, the best settings and how they were found,
for downstream.finetune --selection; and selection.md, a table of the trials.
"""

import argparse
import math
import os
import shlex
import statistics
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import write_json, written_whole
from alibert_common.yaml_config import yaml_value
from downstream.data.splits import Splits, read_folds
from downstream.experiment.run import as_json
from downstream.finetune import DEFAULT_PROTOCOL, add_options, conditions_of, limit_length, names_of
from downstream.learners.base import Epoch, Watch
from downstream.learners.encoder import Encoder, Start
from downstream.tasks import load_task
from downstream.tasks.base import Encoded, Task
from downstream.training import models
from downstream.training.loop import Diverged, Machine, num_epochs
from downstream.training.protocol import Protocol, load_protocol
from downstream.tuning.optuna_study import (
    FEWEST,
    FIRST,
    HALFWAY,
    Behind,
    Plan,
    best,
    finished,
    held,
    open_study,
    run_trial,
)
from downstream.tuning.result import STATES, Choice

SAMPLER_SEED = 1  # of the order of the grid and of tpe; any serves, it is in the result
JOURNAL, RESULTS = "journal.log", ("selection.json", "selection.md")


class GivenUp(Exception):
    """Ends the training of a trial that is worse than the median."""


@dataclass
class Trainer:
    """Trains with the settings of a trial, on train, and scores on dev."""

    task: Task
    learner: Encoder
    folds: list[Splits]
    protocol: Protocol
    num_seeds: int
    encoded: dict[tuple[int, str], Encoded] = field(default_factory=dict)  # by fold and split, once needed

    def __call__(self, settings: dict, behind: Behind) -> dict:
        """State, figures on dev by seed (the mean over folds), epochs in all, seconds.

        Given up is a trial only in its first training, the others show how far seeds differ; its figure is the best
        until then. One that diverges, in any of its trainings, has no figure.
        """
        started = time.perf_counter()
        self.learner.protocol = self.protocol.settled(settings)
        seen: list[Epoch] = []

        def judged(epoch: Epoch) -> None:
            seen.append(epoch)
            share = 100 * epoch.epoch // num_epochs(self._encoded(0, "train").pieces, self.learner.protocol)
            if share < 100 and behind(share, epoch.dev):
                raise GivenUp

        try:
            state, figures = (
                "complete",
                [
                    statistics.fmean(
                        self._on_dev(seed, fold, seen.append if seen else judged) for fold in range(len(self.folds))
                    )
                    for seed in range(1, self.num_seeds + 1)
                ],
            )
        except GivenUp:
            state, figures = "pruned", [max(one.dev for one in seen)]
        except Diverged:
            state, figures = "diverged", []
        seconds = round(time.perf_counter() - started, 1)
        return {"state": state, "dev": figures, "epochs": len(seen), "seconds": seconds}

    def _on_dev(self, seed: int, fold: int, watch: Watch) -> float:
        self.task.begin(self.folds[fold]["train"].items)
        train, dev = self._encoded(fold, "train"), self._encoded(fold, "dev")
        self.learner.fit(train, dev, seed, watch)
        return self.task.chosen(self.task.score(dev.items, self.learner.answer(dev)))

    def _encoded(self, fold: int, split: str) -> Encoded:
        if (fold, split) not in self.encoded:
            items = self.folds[fold][split].items
            self.encoded[fold, split] = self.learner.encode(items, training=split == "train")
        return self.encoded[fold, split]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m downstream.search", description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="a local Hugging Face folder with a fast tokenizer")
    add_options(parser)
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="KEY=V1,V2,...",
        help="values to try of a setting of the protocol, in place of those that the protocol has",
    )
    parser.add_argument(
        "--sampler",
        choices=("grid", "tpe"),
        default="grid",
        help="grid (the default): the points in an order drawn once; tpe: as Bio-ELECTRA's search, for large grids",
    )
    parser.add_argument("--trials", type=int, help="how many points are tried; default: all of the grid")
    parser.add_argument("--seeds", type=int, default=1, help="trainings a trial; default 1, as the papers")
    parser.add_argument("--output", type=Path, help="default runs/search/TASK-PROTOCOL-MODEL")
    parser.add_argument("--overwrite", action="store_true", help="throw away what an earlier search left there")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    task, name = load_task(args.recipe), args.protocol or DEFAULT_PROTOCOL
    protocol = load_protocol(args.recipe, name, [], names_of(task), grid_of(args.grid))
    plan = plan_of(args, protocol, name)
    limit_length(task, protocol)
    machine = Machine(models.device_of(args.device), args.bf16)
    learner = Encoder(task, Start(args.model, args.random_init, args.frozen), protocol, machine)
    folds = read_folds(task, args.recipe, args.data, dev_only=True)
    conditions = conditions_of(task, learner, folds) | Choice(name, protocol).conditions()
    conditions["versions"]["optuna"] = metadata.version("optuna")
    conditions |= {"grid": protocol.grid, "sampler": plan.sampler, "sampler_seed": plan.seed, "seeds": args.seeds}
    output = args.output or default_output(args, task, name)
    trainer = Trainer(task, learner, folds, protocol, args.seeds)
    record = search(plan, trainer, as_json(conditions), output, anew=args.overwrite)
    record |= Choice(name, protocol.settled(record["settings"])).conditions()
    write_json(output / "selection.json", record)
    text = table(record)
    with written_whole(output / "selection.md") as handle:
        handle.write(text)
    print(f"{text}\nnext: {next_command(args, output)}")


def grid_of(options: list[str]) -> dict[str, list]:
    """`KEY=V1,V2` by key. Raises InputError for one that is not of this form, and for a key that is there twice."""
    found = {}
    for option in options:
        key, equals, values = option.partition("=")
        if not equals or not values:
            raise InputError(f"--grid {option}: write KEY=V1,V2, for example --grid learning_rate=1e-4,5e-4.")
        if key in found:
            raise InputError(f"--grid {option}: {key} is there twice; write all its values into one --grid.")
        found[key] = yaml_value(f"[{values}]", f"--grid {option}")
    return found


def plan_of(args: argparse.Namespace, protocol: Protocol, name: str) -> Plan:
    """Raises InputError where there is nothing to choose, or not that often."""
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
    return Plan(points, args.sampler, trials, SAMPLER_SEED)


def search(plan: Plan, train: Trainer, conditions: dict, output: Path, anew: bool = False) -> dict:
    """Run the trials that are not finished, anew: all. Returns what selection.json holds."""
    with held(output / JOURNAL):
        if anew:
            os.truncate(output / JOURNAL, 0)  # it is held, so it stays
            for written in RESULTS:
                (output / written).unlink(missing_ok=True)
        study = open_study(output / JOURNAL, conditions)
        run_trials(study, plan, train)
    chosen = best(study, plan)
    keys = list(plan.points[0])
    trials = [
        {"settings": {key: one.params[key] for key in keys}, **one.user_attrs["notes"]} for one in finished(study)
    ]
    return {
        **conditions,
        "settings": {key: chosen.params[key] for key in keys},
        "dev": chosen.value,
        "num_points": len(plan.points),
        "pruning": f"worse than the median of at least {FEWEST} trials at the same share of the training, after "
        f"{HALFWAY} % of the first seed's, never one of the first {FIRST}",
        "trials": trials,
    }


def run_trials(study, plan: Plan, train: Trainer) -> None:
    """Those that are not finished, a line each."""
    if before := len(finished(study)):
        print(f"{before} of {plan.num_trials} trials were finished before", flush=True)
    while (number := len(finished(study)) + 1) <= plan.num_trials:
        run_trial(study, plan, train)
        print(line(finished(study)[-1], number, plan), flush=True)


def line(trial, number: int, plan: Plan) -> str:
    """What is said of a trial when it is finished."""
    notes = trial.user_attrs["notes"]
    figure = f"{statistics.fmean(notes['dev']):.4f} on dev, " if notes["dev"] else ""
    return (
        f"trial {number}/{plan.num_trials}: {shown(trial.params)}: {figure}"
        f"{notes['state']} after {notes['epochs']} epochs, {notes['seconds']:.0f} s"
    )


def shown(settings: dict) -> str:
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in settings.items()
    )


def table(record: dict) -> str:
    """Markdown, a row a trial, the best first; then those given up, and those that diverged, which have no figure."""
    keys = list(record["settings"])

    def rank(trial: dict) -> tuple:
        figure = statistics.fmean(trial["dev"] or [math.nan])
        return STATES.index(trial["state"]), math.isnan(figure), -figure

    lines = [f"| {' | '.join(keys)} | on dev | | epochs | seconds |", "|---" * (len(keys) + 4) + "|"]
    for trial in sorted(record["trials"], key=rank):
        values = [f"{value:g}" if isinstance(value, float) else str(value) for value in trial["settings"].values()]
        spread = f" ± {statistics.stdev(trial['dev']):.4f}" if len(trial["dev"]) > 1 else ""
        figure = f"{statistics.fmean(trial['dev']):.4f}{spread}" if trial["dev"] else "-"
        lines.append(f"| {' | '.join(values)} | {figure} | {trial['state']} | {trial['epochs']} | {trial['seconds']} |")
    return "\n".join(lines) + f"\n\nchosen: {shown(record['settings'])} ({record['dev']:.4f} on dev)\n"


def next_command(args: argparse.Namespace, output: Path) -> str:
    """What trains with the chosen settings and scores on test."""
    parts = ["python", "-m", "downstream.finetune", args.recipe, "--model", args.model]
    parts += ["--data", args.data] if args.data else []
    parts += ["--random-init"] * args.random_init + ["--frozen"] * args.frozen + ["--bf16"] * args.bf16
    parts += ["--device", args.device] if args.device != "auto" else []
    return shlex.join(map(str, [*parts, "--selection", output / "selection.json"]))


def default_output(args: argparse.Namespace, task: Task, name: str) -> Path:
    parts = [task.recipe.task, name, args.model.resolve().name]
    return Path("runs/search") / "-".join(parts + ["random"] * args.random_init + ["frozen"] * args.frozen)


if __name__ == "__main__":
    exit_with_sentence(main)
