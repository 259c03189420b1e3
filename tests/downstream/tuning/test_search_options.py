"""What a trial of a search does, with a learner that learns nothing; how its table reads."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from downstream.experiment.run import Experiment
from downstream.tasks.base import Encoded, Piece
from downstream.training.epochs import Epoch
from downstream.training.loop import Diverged
from downstream.training.protocol import Protocol
from downstream.tuning.trials import TrialTrainer, line, table

PROTOCOL = Protocol(batch=2, learning_rate=1e-3, epochs=4, source="a test")
CURVE = [0.1, 0.4, 0.3, 0.2]


class Learner:
    """Its figure on dev is the curve's, a tenth of the seed more at the end."""

    def __init__(self):
        self.seeds = []

    def encode(self, items, training):
        return Encoded(items, [Piece([0, 1], None, number) for number in range(len(items))], Counter())

    def fit(self, train, dev, seed, watch):
        assert train.items == ["a", "b", "c"] and dev.items == ["d"]
        self.seeds.append(seed)
        for number, figure in enumerate(CURVE[: self.protocol.epochs], 1):
            watch(Epoch(number, 1.0, figure, 0.0))

    def answer(self, encoded):
        return [self.seeds[-1] / 10 for _ in encoded.items]


@pytest.fixture
def trainer():
    task = SimpleNamespace(
        begin=lambda items: None, score=lambda items, answers: {"".join(items): answers[0]}, chosen=lambda one: one["d"]
    )
    splits = {"train": SimpleNamespace(items=["a", "b", "c"]), "dev": SimpleNamespace(items=["d"])}
    return TrialTrainer(Experiment(task, Learner(), [splits], Path(), {}), PROTOCOL, 2)


def behind_at(limit: int, seen: list):
    """Falls behind once so many percent are trained."""
    return lambda share, figure: (seen.append((share, figure)), share >= limit)[1]


def test_a_trial_says_how_far_its_first_training_is_until_that_ends(trainer):
    seen = []
    notes = trainer({"epochs": 4}, behind_at(101, seen))
    assert seen == [(25, 0.1), (50, 0.4), (75, 0.3)]
    assert (notes["state"], notes["dev"], notes["epochs"]) == ("complete", [0.1, 0.2], 8)
    learner = trainer.experiment.learner
    assert learner.protocol == PROTOCOL.settled({"epochs": 4}) and learner.seeds == [1, 2]


def test_a_shorter_training_is_further_after_as_many_epochs(trainer):
    seen = []
    trainer({"epochs": 2}, behind_at(101, seen))
    assert seen == [(50, 0.1)]


def test_a_trial_that_falls_behind_is_given_up_at_its_best_so_far(trainer):
    notes = trainer({"epochs": 4}, behind_at(75, []))
    assert (notes["state"], notes["dev"], notes["epochs"]) == ("pruned", [0.4], 3)
    assert trainer.experiment.learner.seeds == [1]


@pytest.mark.parametrize("diverges_in", [1, 2])
def test_a_trial_that_diverges_ends_without_a_figure_whichever_training_it_is(trainer, diverges_in):
    whole = trainer.experiment.learner.fit

    def fit(train, dev, seed, watch):
        whole(train, dev, seed, watch)
        if seed == diverges_in:
            raise Diverged("the model has diverged")

    trainer.experiment.learner.fit = fit
    notes = trainer({"epochs": 4}, behind_at(101, []))
    assert (notes["state"], notes["dev"], notes["epochs"]) == ("diverged", [], 4 * diverges_in)


def test_what_is_said_of_a_trial():
    def said(**notes) -> str:
        trial = SimpleNamespace(params={"rate": 0.5}, user_attrs={"notes": notes | {"epochs": 3, "seconds": 2.2}})
        return line(trial, 1, SimpleNamespace(num_trials=4))

    told = said(state="complete", dev=[0.5, 0.6])
    assert told == "trial 1/4: rate 0.5: 0.5500 on dev, complete after 3 epochs, 2 s"
    assert said(state="diverged", dev=[]) == "trial 1/4: rate 0.5: diverged after 3 epochs, 2 s"


def test_the_best_stand_first_in_the_table_and_those_without_a_figure_last():
    def trial(rate: float, *dev: float, state: str = "complete") -> dict:
        return {"settings": {"rate": rate, "keep": "last"}, "dev": [*dev], "state": state, "epochs": 3, "seconds": 1.5}

    failed = [trial(9.0, state="diverged"), trial(1.0, 0.9, state="pruned")]
    trials = [*failed, trial(2e-5, 0.25, 0.35), trial(0.1, 0.5), trial(3.0, float("nan"))]
    lines = table({"settings": trials[3]["settings"], "dev": 0.5, "trials": trials}).splitlines()
    assert lines == [
        "| rate | keep | on dev | | epochs | seconds |",
        "|---|---|---|---|---|---|",
        "| 0.1 | last | 0.5000 | complete | 3 | 1.5 |",
        "| 2e-05 | last | 0.3000 ± 0.0707 | complete | 3 | 1.5 |",
        "| 3 | last | nan | complete | 3 | 1.5 |",
        "| 1 | last | 0.9000 | pruned | 3 | 1.5 |",
        "| 9 | last | - | diverged | 3 | 1.5 |",
        "",
        "chosen: rate 0.1, keep last (0.5000 on dev)",
    ]
