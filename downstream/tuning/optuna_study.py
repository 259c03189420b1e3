"""The trials of a search: which point of the grid is next, which are given up, where the finished ones are kept.

Optuna's: a journal file, the median pruner, the tree-structured Parzen estimator. Nothing here knows of models.
"""

import math
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState, create_trial

from alibert_common.errors import InputError
from alibert_common.locks import locked
from downstream.training.selection import refuse_changed

optuna.logging.set_verbosity(optuna.logging.WARNING)  # the search says a line a trial itself

FIRST = 5  # trials that are never given up, and that tpe does not choose: fewer say nothing of the others
HALFWAY = 50  # percent of its training that a trial may always have: before, high rates look worse than they end
FEWEST = 3  # trials that a median is taken of
PRUNING = (  # in selection.json
    f"worse than the median of at least {FEWEST} trials at the same share of the training, after {HALFWAY} % of the "
    f"first seed's, never one of the first {FIRST}"
)
PROPOSALS = 20  # that are asked for until one is new: enough in 10 searches of 20 and of 25 trials
Behind = Callable[[int, float], bool]  # takes the percent that are trained and the figure on dev; whether to give up


class SearchPlan(NamedTuple):
    """points: all settings that may be tried. sampler: `grid` takes them in an order drawn by the seed, `tpe` begins so
    and continues where Optuna's estimator expects the most. num_trials: at most as many as there are points."""

    points: list[dict]
    sampler: str
    num_trials: int
    seed: int

    @property
    def order(self) -> list[dict]:
        """The points as drawn: the first few, which all others are measured against, come from all over the grid."""
        return random.Random(self.seed).sample(self.points, len(self.points))

    @property
    def values(self) -> dict[str, list]:
        """The values of each key, in their order."""
        return {key: list(dict.fromkeys(point[key] for point in self.points)) for key in self.points[0]}


@contextmanager
def held(journal: Path) -> Iterator[None]:
    """No other search in the folder of this journal. Raises InputError if there is one."""
    busy = f"{journal}: another search is writing it; wait for its end, or give another --output."
    with locked(journal.with_name(f".{journal.name}.lock"), busy):
        journal.touch()
        Path(f"{journal}.lock").unlink(missing_ok=True)  # Optuna's, of a search that was killed: it would wait for it
        yield


def open_study(journal: Path, conditions: dict) -> optuna.Study:
    """A new study, or the one of that journal.

    conditions: what figures depend on, as plain values. Raises InputError for a journal of other conditions, or of
    another maker.
    """
    if journal.is_file():  # without the part of a line that a full disk left: Optuna would write behind it
        os.truncate(journal, journal.read_bytes().rfind(b"\n") + 1)
    try:
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(journal))),
            study_name="search",
            load_if_exists=True,
            direction="maximize",
            sampler=optuna.samplers.RandomSampler(),  # never asked: every trial is given its point
            pruner=optuna.pruners.MedianPruner(FIRST, n_warmup_steps=HALFWAY, n_min_trials=FEWEST),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{journal}: not written by downstream.search ({error}); give another --output.") from None
    before = study.user_attrs.get("conditions")
    if before is None:
        study.set_user_attr("conditions", conditions)
        return study
    refuse_changed(before, conditions, journal)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)  # it was killed, and is run again
    return study


def finished(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that need not be run again, in their order."""
    return study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))


def run_trial(study: optuna.Study, plan: SearchPlan, train: Callable[[dict, Behind], dict]) -> None:
    """Run the next trial.

    train: takes settings; returns what is to be noted: the `state` (selection.STATES), `dev`, the figures that are
    averaged, none of a trial that diverged, and more.
    """
    if not study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        study.enqueue_trial(next_point(study, plan))
    trial = study.ask({key: CategoricalDistribution(values) for key, values in plan.values.items()})

    def behind(percent: int, figure: float) -> bool:
        trial.report(figure, percent)
        return trial.should_prune()

    notes = train(trial.params, behind)
    trial.set_user_attr("notes", notes)
    figure = math.fsum(notes["dev"]) / len(notes["dev"]) if notes["dev"] else math.nan
    if notes["state"] != "complete" or math.isnan(figure):  # nan: of constant answers there is no correlation
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, figure)


def next_point(study: optuna.Study, plan: SearchPlan) -> dict:
    """The same after the same finished trials, whether or not the search was killed in between."""
    before = finished(study)
    tried = [trial.params for trial in before]
    left = [point for point in plan.order if point not in tried]
    if plan.sampler == "grid" or len(before) < FIRST:
        return left[0]
    return next((point for point in _proposed(before, plan) if point in left), left[0])


def _proposed(before: list[FrozenTrial], plan: SearchPlan) -> Iterator[dict]:
    """The points that tpe would try next, the likeliest first; often some that were tried already.

    It is asked for places in the lists of values: those beside a good one may be good.
    """
    places: dict[str, BaseDistribution] = {
        key: IntDistribution(0, len(values) - 1) for key, values in plan.values.items()
    }
    sampler = optuna.samplers.TPESampler(n_startup_trials=FIRST, seed=plan.seed + len(before))
    estimate = optuna.create_study(direction="maximize", sampler=sampler)
    for trial in before:
        at = {key: values.index(trial.params[key]) for key, values in plan.values.items()}
        seen, value = trial.intermediate_values, trial.value
        again = create_trial(params=at, distributions=places, state=trial.state, value=value, intermediate_values=seen)
        estimate.add_trial(again)
    for _ in range(PROPOSALS):  # each is taken for one that is being tried, which the next keeps away from
        proposed = estimate.ask(places).params
        yield {key: values[proposed[key]] for key, values in plan.values.items()}


def best(study: optuna.Study, plan: SearchPlan) -> FrozenTrial:
    """The best on dev; of equals the first point of the grid. Raises InputError if no trial has a figure."""
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    if not complete:
        diverged = sum(trial.user_attrs["notes"]["state"] == "diverged" for trial in finished(study))
        raise InputError(
            f"no settings have a figure on dev ({diverged} of {len(finished(study))} trials diverged); search other "
            "ones, lower rates where the model diverges."
        )
    return max(complete, key=lambda trial: (trial.value, -plan.points.index(trial.params)))
