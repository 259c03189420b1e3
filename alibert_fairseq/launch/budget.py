"""`--budget 55m`: the size of the model, the batch and the number of updates that a time allows on this machine.

A minute of measurement says how fast the sizes train here. The training then has `--budget-minutes`: its schedules
follow the clock, and it ends on time whatever else runs on the machine.
"""

import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.files import read_json, write_json
from alibert_fairseq.launch.estimate import calibrate, options_of
from alibert_fairseq.launch.plan import Plan
from alibert_fairseq.launch.status import save_dir

FILE = "budget.json"  # in the folder of checkpoints: what was chosen
ARCH = re.compile(r"(?:--arch|-a)[ =](\w+)_(?:tiny|small|base|large)\b")
CHOSEN = {"-a", "--arch", "--max-update", "--total-num-update", "--budget-minutes"}  # and not left to the user
SIZES = ("tiny", "small", "base", "large")
# A larger model learns more in the same time if it sees about 20 tokens a weight (Hoffmann et al. 2022). Of tokens that
# are seen again, those of BERT's 40 epochs count (Devlin et al. 2019).
TOKENS_PER_WEIGHT, MOST_EPOCHS = 20, 40
# 7,000 updates of 4,096 tokens in an hour (docs/results/speedrun.md); in five minutes 2,048 learned more than 4,096
# (modern_choices.md).
USUAL_UPDATES, SMALLEST_UPDATE = 7000, 2048
FEWEST_UPDATES = 200  # leaving the plateau of word frequencies takes 100 of them (speedrun.md)
MULTIPLE = 8  # of sequences in a batch: fairseq's --required-batch-size-multiple


class Choice(NamedTuple):
    """What is trained in the time. tokens: of all processes; sequences, accumulated: of a process."""

    arch: str
    weights: float  # that a token meets: a sixth of its floating-point operations
    tokens: float
    epoch_tokens: int  # 0: not known, which is no limit
    sequences: int
    accumulated: int
    update: int  # tokens of an update
    warmup: float  # share of the updates, as in the recipe

    @property
    def updates(self) -> int:
        """Updates in the time."""
        return int(self.tokens / self.update)

    @property
    def sees_enough(self) -> bool:
        """Whether so large a model sees enough text."""
        most = MOST_EPOCHS * self.epoch_tokens or self.tokens
        return min(self.tokens, most) >= TOKENS_PER_WEIGHT * self.weights

    def words(self, minutes: float) -> list[str]:
        """The options of fairseq-train."""
        options = {
            "--arch": self.arch, "--batch-size": self.sequences, "--update-freq": self.accumulated,
            "--max-update": self.updates, "--total-num-update": self.updates, "--budget-minutes": f"{minutes:g}",
        }  # fmt: skip
        if self.warmup:
            options["--warmup-updates"] = max(1, round(self.warmup * self.updates))
        return [str(word) for pair in options.items() for word in pair]


def with_budget(plan: Plan, given: float, keep: bool) -> Plan:
    """The plan with the options of the largest model that sees enough text in so many minutes.

    keep: write the choice beside the checkpoints, so that the same command resumes with it. Raises InputError for an
    option that is chosen here, a recipe of one size only, the choice of another command, a time that is too short, and
    where nothing can be measured.
    """
    if own := [word for word in (word.partition("=")[0] for word in plan.arguments) if word in CHOSEN]:
        raise InputError(f"{own[0]}: --budget chooses it; leave it out, or leave --budget out.")
    folder = save_dir(plan)
    file = Path(folder, FILE) if folder else None
    command = {"recipe": plan.recipe.name, "minutes": given, "world_size": plan.world_size}
    if file and file.is_file():
        words = kept(file, command)
        print(f"budget: as {file} says: {' '.join(words)}")
    else:
        best = largest(plan, given)
        words = best.words(given)
        print(f"budget: {best.arch}, {best.updates:,} updates of {best.update:,} tokens", flush=True)
        if keep:
            found, why_not, _ = calibrate(replace(plan, arguments=[*words, *plan.arguments]))
            if not found:
                raise InputError(f"{plan.recipe}: --budget chose {' '.join(words)}, but {why_not}")
        if file and keep:
            write_json(file, command | {"words": words}, shared=True)
    # The words come before those of the user, which count when an option is given twice.
    return replace(plan, arguments=[*words, *plan.arguments])


def kept(file: Path, command: dict) -> list[str]:
    """The words of an earlier start. Raises InputError for a file that is damaged or of another command."""
    try:
        before = read_json(file)
        words, theirs = before["words"], {name: before[name] for name in command}
        of = f"{theirs['recipe']:s} with --budget {theirs['minutes']:g}m and world size {theirs['world_size']:d}"
        if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise TypeError
    except (KeyError, TypeError, ValueError):  # InputError is one
        raise InputError(
            f"{file}: is damaged; delete it and the checkpoints beside it, or give another SAVE_DIR."
        ) from None
    if theirs != command:
        raise InputError(f"{file}: is of {of}; give these again, or give another SAVE_DIR.")
    return words


def largest(plan: Plan, given: float) -> Choice:
    """The largest model that sees enough text, or else the smallest that there is.

    The family is that of the last --arch which the recipe gives to fairseq-train, or else of the recipe's text.
    """
    recipe = " ".join(options_of(plan)) or plan.recipe.read_text(encoding="utf-8", errors="replace")
    families = ARCH.findall(recipe)
    if not families:
        raise InputError(f"{plan.recipe}: --budget chooses among _tiny, _small, _base and _large; its --arch has none.")
    best: Choice | None = None
    why_not = ""
    for arch in (f"{families[-1]}_{size}" for size in SIZES):
        print(f"budget: measuring {arch} on this machine ...", file=sys.stderr, flush=True)
        found, why_not, refused = calibrate(replace(plan, arguments=[*plan.arguments, "--arch", arch]))
        if refused:  # there is no ALBERT of every size
            continue
        if not found:
            break
        if plan.gpu and found["device"] == "CPU":
            raise InputError("--budget measures the machine that trains; run it on a node with a GPU.")
        larger = choose(arch, found, plan.world_size, given)
        if best and not larger.sees_enough:
            break
        best = larger
    if best is None:
        raise InputError(f"{plan.recipe}: --budget measured nothing: {why_not.removesuffix('.')}.")
    if best.updates < FEWEST_UPDATES:
        enough = math.ceil(given * FEWEST_UPDATES * best.update / best.tokens)
        raise InputError(
            f"--budget: {given:g} minutes are {best.updates} updates here, and the schedule needs {FEWEST_UPDATES}; "
            f"give {enough}m or more."
        )
    return best


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
    update = sequences * accumulated * processes * length
    warmup = found["warmup_updates"] / found["max_update"] if found["max_update"] else 0
    weights, epoch_tokens = found["flop"] / batch / 6, found["epoch_tokens"]
    return Choice(arch, weights, tokens, epoch_tokens, sequences, accumulated, update, warmup)
