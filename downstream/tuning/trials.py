"""The trials of a search: each is a training at one point of the grid, scored on dev. The test split is never read."""

import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial

from downstream.experiment.run import Experiment
from downstream.training.epochs import Epoch, Watch
from downstream.training.loop import Diverged, num_epochs
from downstream.training.protocol import Protocol
from downstream.training.selection import STATES
from downstream.tuning.optuna_study import PRUNING, Behind, SearchPlan, best, finished, held, open_study, run_trial

JOURNAL, RESULTS = "journal.log", ("selection.json", "selection.md")


class GivenUp(Exception):
    """Ends the training of a trial that is worse than the median."""


@dataclass
class TrialTrainer:
    """Trains with the settings of a trial, on train, and scores on dev."""

    experiment: Experiment  # of an encoder; it is not run, and writes nothing
    protocol: Protocol
    num_seeds: int

    def __call__(self, settings: dict, behind: Behind) -> dict:
        """State, figures on dev by seed (the mean over folds), epochs in all, seconds.

        Given up is a trial only in its first training, the others show how far seeds differ; its figure is the best
        until then. One that diverges, in any of its trainings, has no figure.
        """
        started = time.perf_counter()
        learner: Any = self.experiment.learner
        learner.protocol = self.protocol.settled(settings)
        seen: list[Epoch] = []

        def judged(epoch: Epoch) -> None:
            seen.append(epoch)
            share = 100 * epoch.epoch // num_epochs(self.experiment.encoded_split(0, "train").pieces, learner.protocol)
            if share < 100 and behind(share, epoch.dev):
                raise GivenUp

        state, figures = "complete", []
        try:
            for seed in range(1, self.num_seeds + 1):
                folds = range(len(self.experiment.folds))
                on_dev = [self._on_dev(seed, fold, seen.append if seen else judged) for fold in folds]
                figures.append(statistics.fmean(on_dev))
        except GivenUp:
            state, figures = "pruned", [max(epoch.dev for epoch in seen)]
        except Diverged:
            state, figures = "diverged", []
        seconds = round(time.perf_counter() - started, 1)
        return {"state": state, "dev": figures, "epochs": len(seen), "seconds": seconds}

    def _on_dev(self, seed: int, fold: int, watch: Watch) -> float:
        task, learner = self.experiment.task, self.experiment.learner
        task.begin(self.experiment.folds[fold]["train"].items)
        train, dev = (self.experiment.encoded_split(fold, split) for split in ("train", "dev"))
        learner.fit(train, dev, seed, watch)
        return task.chosen(task.score(dev.items, learner.answer(dev)))


def search(plan: SearchPlan, train: TrialTrainer, conditions: dict, output: Path, anew: bool = False) -> dict:
    """Run the trials that are not finished; with `anew`, all. Returns the content of selection.json."""
    with held(output / JOURNAL):
        if anew:
            os.truncate(output / JOURNAL, 0)  # it is held, so it stays
            for written in RESULTS:
                (output / written).unlink(missing_ok=True)
        study = open_study(output / JOURNAL, conditions)
        if before := len(finished(study)):
            print(f"{before} of {plan.num_trials} trials were finished before", flush=True)
        while (number := len(finished(study)) + 1) <= plan.num_trials:
            run_trial(study, plan, train)
            print(line(finished(study)[-1], number, plan), flush=True)
    chosen = best(study, plan)
    keys = list(plan.points[0])
    trials = [
        {"settings": {key: trial.params[key] for key in keys}, **trial.user_attrs["notes"]} for trial in finished(study)
    ]
    return {
        **conditions,
        "settings": {key: chosen.params[key] for key in keys},
        "dev": chosen.value,
        "num_points": len(plan.points),
        "pruning": PRUNING,
        "trials": trials,
    }


def line(trial: FrozenTrial, number: int, plan: SearchPlan) -> str:
    """The line that tells of a finished trial."""
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
