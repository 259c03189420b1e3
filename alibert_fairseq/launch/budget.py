"""`--budget 55m`: the size of the model, the batch and the number of updates that a time allows on this machine.

A minute of measurement says how fast the sizes train here. The training then has `--budget-minutes`: its schedules
follow the clock, and it ends on time whatever else runs on the machine.
"""

import math
import re
import sys
from dataclasses import replace
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_fairseq.launch.estimate import calibrate
from alibert_fairseq.launch.plan import Plan

ARCH = re.compile(r"--arch[ =](\w+)_(?:tiny|small|base|large)\b")
SIZES = ("tiny", "small", "base", "large")
# A larger model learns more in the same time if it sees about 20 tokens a weight (Hoffmann et al. 2022). Of tokens that
# are seen again, those of BERT's 40 epochs count (Devlin et al. 2019).
TOKENS_PER_WEIGHT, MOST_EPOCHS = 20, 40
# docs/results/speedrun.md: 7,000 updates of 4,096 tokens in an hour, and in five minutes 2,048 learned more than 4,096.
USUAL_UPDATES, SMALLEST_UPDATE = 7000, 2048
FEWEST_UPDATES = 200  # leaving the plateau of word frequencies takes 100 of them (the same page)
MULTIPLE = 8  # of sequences in a batch: fairseq's --required-batch-size-multiple


class Choice(NamedTuple):
    """What is trained in the time. tokens: of all processes; sequences, accumulated: of a process."""

    arch: str
    weights: float  # that a token meets: a sixth of its floating-point operations
    tokens: float
    epochs: float
    sequences: int
    accumulated: int
    updates: int

    @property
    def sees_enough(self) -> bool:
        """Whether so large a model sees enough text."""
        return self.tokens * min(1.0, MOST_EPOCHS / self.epochs) >= TOKENS_PER_WEIGHT * self.weights

    def words(self, minutes: float) -> list[str]:
        """The options of fairseq-train."""
        options = {
            "--arch": self.arch, "--batch-size": self.sequences, "--update-freq": self.accumulated,
            "--max-update": self.updates, "--total-num-update": self.updates, "--budget-minutes": f"{minutes:g}",
        }  # fmt: skip
        return [str(word) for pair in options.items() for word in pair]


def with_budget(plan: Plan, given: float) -> Plan:
    """The plan with the options of the largest model that sees enough text in so many minutes.

    Raises InputError for a recipe of one size only, for a time that is too short, and where nothing can be measured.
    """
    family = ARCH.search(" ".join([plan.recipe.read_text(encoding="utf-8"), *plan.arguments]))
    if not family:
        raise InputError(f"{plan.recipe}: --budget chooses among _tiny, _small, _base and _large; its --arch has none.")
    best: Choice | None = None
    for size in SIZES:
        arch = f"{family[1]}_{size}"
        print(f"budget: measuring {arch} on this machine ...", file=sys.stderr, flush=True)
        found, why_not, _ = calibrate(replace(plan, arguments=[*plan.arguments, "--arch", arch]))
        if not found and best is None:
            raise InputError(f"{plan.recipe}: --budget measured nothing: {why_not}.")
        if plan.gpu and found and found["device"] == "CPU":
            raise InputError("--budget measures the machine that trains; run it on a node with a GPU.")
        if not found or not (larger := choose(arch, found, plan.world_size, given)).sees_enough and best:
            break
        best = larger
    assert best is not None
    if best.updates < FEWEST_UPDATES:
        raise InputError(
            f"--budget: {given:g} minutes are {best.updates} updates here, and the schedule needs {FEWEST_UPDATES}; "
            f"give {given * FEWEST_UPDATES / best.updates + 1:.0f}m or more."
        )
    print(
        f"budget: {best.arch}, {best.updates:,} updates of {best.tokens / best.updates:,.0f} tokens, "
        f"{best.epochs:.1f} epochs"
    )
    # The words come before those of the user, which count when an option is given twice.
    return replace(plan, arguments=[*best.words(given), *plan.arguments])


def choose(arch: str, found: dict, processes: int, given: float) -> Choice:
    """What this size does in so many minutes; found: what calibration.py measured of it."""
    if not found["batch_size"]:
        raise InputError("--budget chooses --batch-size; leave --max-tokens out of the recipe.")
    length, batch = found["tokens_per_sample"], found["sequences"] * found["tokens_per_sample"]
    tokens = 60 * given * processes * batch / found["seconds"]
    update = max(SMALLEST_UPDATE, 2 ** round(math.log2(tokens / USUAL_UPDATES)))
    wanted = max(MULTIPLE, round(update / processes / length / MULTIPLE) * MULTIPLE)
    accumulated = -(-wanted // max(MULTIPLE, found["batch_size"]))
    sequences = max(MULTIPLE, round(wanted / accumulated / MULTIPLE) * MULTIPLE)
    updates = int(tokens / (sequences * accumulated * processes * length))
    return Choice(
        arch, found["flop"] / batch / 6, tokens, tokens / found["epoch_tokens"], sequences, accumulated, updates
    )
