"""`alibert continue`: a published model, continued in several ways for equal minutes, and compared on dev sets."""

import argparse
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from alibert.paths import environment
from alibert_common.cli import program
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import read_json, write_json, write_text
from alibert_common.shipped import RECIPES
from downstream.report.read_runs import folders_of, load_all

DESCRIPTION = """Continue a published model by masked language modelling, by the causal detour and by replaced token
detection, where its family has them. Each takes the same minutes. Then fine-tune all of them and compare them with the
published model on the dev splits. The command says which to keep.

    alibert continue camembert-base --mix mixed --data sets --minutes 60 --output study

Options of fairseq-train follow `--`. A second call resumes."""
SETTINGS, TABLE = "settings.json", "continuations.md"
PUBLISHED = "published"


class Way(NamedTuple):
    """A row of the comparison. start: the folder of hf.load that it begins with."""

    name: str
    start: str
    variant: str | None  # of continue.sh; None: nothing is trained


def main(arguments: list[str]) -> None:
    """Run the verb `continue`."""
    ours, more = arguments, []
    if "--" in arguments:
        ours, more = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    args = parser().parse_args(ours)
    for folder in (args.folder, args.mix):
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; give the published model's, and an output of mix as --mix.")
    scoring = _scoring(args)
    args.output.mkdir(parents=True, exist_ok=True)
    others = ("output", "only", "seeds")  # more sets or seeds need no other training
    settings = {name: str(value) for name, value in vars(args).items() if name not in others} | {"options": more}
    _refuse_others(args.output, settings)
    write_json(args.output / SETTINGS, settings, shared=True)
    starts = ["start", *(["start-new-words"] if args.tokenizer or args.add_tokens else [])]
    for start in starts:  # all of them first: loading is quick, and refuses what cannot be
        _load(args, start)
    for start in starts:
        _binarize(args, start)
    ways = ways_of({start: (args.output / start / "options").read_text(encoding="utf-8") for start in starts})
    began = time.monotonic()
    for number, way in enumerate(ways, 1):
        _continue(args, way, more)
        minutes = (time.monotonic() - began) / 60
        left = args.minutes * sum(not (args.output / other.name).exists() for other in ways[number:])
        print(
            f"== {number} of {len(ways)}: {way.name} ({minutes:.0f} min, {left:.0f} min of training left)", flush=True
        )
    _run("downstream.evaluate", *(args.output / way.name for way in ways), *scoring)
    tasks = scoring[scoring.index("--only") + 1].split(",")
    text = table(args.output / "scores", [way.name for way in ways], tasks, args.minutes)
    write_text(args.output / TABLE, text, shared=True)
    print(text)


def parser() -> argparse.ArgumentParser:
    """The options of `alibert continue`."""
    raw = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(program("alibert continue"), description=DESCRIPTION, formatter_class=raw)
    add = made.add_argument
    add("folder", type=Path, help="Hugging Face folder of the published model")
    add("--mix", type=Path, required=True, help="text to continue on, an output of mix")
    add("--data", type=Path, required=True, help="folder that holds the data sets to compare on")
    add("--minutes", type=float, required=True, help="minutes of each training")
    add("--output", type=Path, required=True, help="the directory to write")
    add("--generator", type=Path, help="generator of ELECTRA or DeBERTa (default FOLDER/generator)")
    add("--new-head", action="store_true", help="random weights for a head that the folder lacks (default: refused)")
    words = made.add_mutually_exclusive_group().add_argument
    words("--tokenizer", type=Path, help="tokenizer of ours, for another training of each way (default none)")
    words("--add-tokens", type=Path, metavar="FILE", help="more words, for another training of each way (default none)")
    add(
        "--longest-word", type=int, metavar="CHARACTERS",
        help="characters of the longest word that a WordPiece splits (default: the published tokenizer's)",
    )  # fmt: skip
    add("--only", metavar="TASK,...", help="tasks to compare on (default: one recipe of each set that is there)")
    add("--recipes", type=Path, help="folder of recipes (default: this project's)")
    add("--protocol", help="fine-tuning protocol (default: tuned)")
    add("--seeds", type=int, help="number of fine-tuning seeds (default: the protocol's)")
    return made


def _scoring(args: argparse.Namespace) -> list[str]:
    """The options of downstream.evaluate. Raises InputError for wrong ones now, not after hours of training."""
    chosen = {f"--{name}": getattr(args, name) for name in ("only", "recipes", "protocol", "seeds")}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    words = ["--data", args.data, "--dev-only", *(word for pair in chosen.items() for word in pair)]
    words = [str(word) for word in [*words, "--output", args.output / "scores"]]
    from alibert_fairseq.callbacks.budget import SHORTEST
    from downstream.evaluate.__main__ import build_parser, refuse  # here: --help needs none of these
    from downstream.evaluate.plan import plan

    if not SHORTEST <= args.minutes < math.inf:
        raise InputError(f"--minutes {args.minutes:g}: give {SHORTEST:g} or more.")
    given = build_parser().parse_args([PUBLISHED, *words])
    refuse(given)
    found = {job.recipe.stem: job.data for job in plan(given)[0]}
    if not found:
        raise InputError(f"{args.data}: no data of {args.only or 'any recipe'} in it; see the recipes' `folder`.")
    if args.only:
        return words
    left_out = other_forms(found)
    if left_out:
        print(f"left out, as other forms of these sets: {', '.join(left_out)}; --only takes them", flush=True)
    return [*words, "--only", ",".join(name for name in found if name not in left_out)]


def other_forms(data: dict[str, Path]) -> list[str]:
    """Recipes that would count a set twice in a mean: fracco_raw beside fracco, with the same data."""
    return [
        name
        for name, place in data.items()
        if any(name.startswith(f"{other}_") and place == its for other, its in data.items())
    ]


def _refuse_others(output: Path, settings: dict) -> None:
    """Raise InputError where the output belongs to another comparison, of which a model was loaded."""
    file = output / SETTINGS
    if (output / "start").exists() and (not file.is_file() or read_json(file) != settings):
        raise InputError(f"{file}: of a comparison with other settings; give the same, or another --output.")


def _load(args: argparse.Namespace, start: str) -> None:
    place, words = args.output / start, []
    if start != "start":
        words = ["--tokenizer", args.tokenizer] if args.tokenizer else ["--add-tokens", args.add_tokens]
    given = ["--generator", args.generator] if args.generator else []
    given += ["--new-head"] * args.new_head
    if args.longest_word is not None and "--tokenizer" not in words:
        given += ["--longest-word", args.longest_word]
    if not place.exists():
        _run("alibert_fairseq.hf.load", args.folder, "--output", place, *given, *words)


def _binarize(args: argparse.Namespace, start: str) -> None:
    place = _data_bin(args, start)
    if not place.exists():
        _run("preprocess.binarize", "--tokenizer", args.output / start, "--mix", args.mix, "--output", place)


def _data_bin(args: argparse.Namespace, start: str) -> Path:
    return args.output / start.replace("start", "data-bin")


def ways_of(options: dict[str, str]) -> list[Way]:
    """The ways that fit a family, by the `options` of hf.load of each start. The published model stands first."""
    first = next(iter(options))
    arch = options[first].split("--arch ")[1].split()[0]
    if arch.startswith("electra"):
        variants = {"detection": ""}
    else:
        variants = {"mlm": ""}
        if "--convolution-width" not in options[first] or "--convolution-width 0" in options[first]:
            variants["detour"] = "detour"
        if arch.startswith("alibert_modern"):
            variants["detection"] = "detection"
    names = {start: start.removeprefix("start") for start in options}
    return [
        Way(PUBLISHED, first, None),
        *(Way(f"{name}{names[start]}", start, variant) for start in options for name, variant in variants.items()),
    ]


def _continue(args: argparse.Namespace, way: Way, more: list[str]) -> None:
    """Train, unless it is done, and export."""
    model, start = args.output / way.name, args.output / way.start
    if model.exists():
        return
    checkpoint = start / "checkpoint.pt"
    if way.variant is not None:
        place = args.output / "checkpoints" / way.name
        recipe = ["bash", RECIPES / "pretrain" / "continue.sh", "--budget-minutes", args.minutes, *more]
        variables = {"FROM": start, "DATA_BIN": _data_bin(args, way.start), "SAVE_DIR": place, "VARIANT": way.variant}
        _call(recipe, **{name: str(value) for name, value in variables.items()})
        checkpoint = place / "checkpoint_last.pt"
    _run("alibert_fairseq.hf.export", "--checkpoint", checkpoint, "--tokenizer", start, "--output", model)


def _run(module: str, *words: object) -> None:
    _call([sys.executable, "-m", module, *words])


def _call(words: list, **variables: str) -> None:
    command = [str(word) for word in words]
    print(f"\n{' '.join([*(f'{name}={value}' for name, value in variables.items()), *command])}", flush=True)
    process = subprocess.Popen(command, env=environment(**variables))
    try:
        code = process.wait()
    except KeyboardInterrupt as stopped:
        if stopped.args:  # SIGTERM or SIGHUP, which reached this process alone; a terminal's Ctrl-C reaches both
            process.terminate()
        process.wait()  # a training saves a checkpoint first
        raise
    if code:
        sys.exit(code if code > 0 else 1)  # it has said why


def table(scores: Path, names: list[str], tasks: list[str], minutes: float) -> str:
    """Markdown: the dev score of each model on each set, their mean, and which model to keep."""
    runs = {(run.name, run.task): run.score for run in load_all(folders_of(scores)).runs}
    tasks = sorted({task for _, task in runs}.intersection(tasks))
    lines = [f"Mean dev scores, {minutes:g} min of training each; ± is the deviation over seeds of fine-tuning.", ""]
    lines += [f"| | {' | '.join(tasks)} | mean |", "|---" * (len(tasks) + 2) + "|"]
    means = {}
    for name in names:
        found = [runs[name, task] for task in tasks if (name, task) in runs]
        if len(found) == len(tasks):
            means[name] = (statistics.fmean(one["mean"] for one in found), _error(found))
        cells = [_cell(runs.get((name, task))) for task in tasks]
        lines.append(f"| {' | '.join([name, *cells, f'{means[name][0]:.3f}' if name in means else ''])} |")
    return "\n".join([*lines, "", verdict(means)]) + "\n"


def _cell(score: dict | None) -> str:
    if score is None:
        return ""
    return f"{score['mean']:.3f}" + (f" ± {score['deviation']:.3f}" if score["deviation"] is not None else "")


def _error(scores: list[dict]) -> float | None:
    """Standard error of the mean over sets, from the deviations over seeds; None with one seed."""
    if any(len(score["values"]) < 2 for score in scores):
        return None
    return math.sqrt(sum(score["deviation"] ** 2 / len(score["values"]) for score in scores)) / len(scores)


def verdict(means: dict[str, tuple[float, float | None]]) -> str:
    """Which model to keep: the best, if it is above the published one by more than two standard errors."""
    best = max(means, key=lambda name: means[name][0])
    (high, error), (low, other) = means[best], means[PUBLISHED]
    if best == PUBLISHED:
        return "Keep the published model: none of the others is better on dev."
    if error is None or other is None:
        return f"Best on dev: {best}, by {high - low:.3f}. One seed shows no noise: give --seeds 3 before you decide."
    if high - low <= 2 * math.hypot(error, other):
        return f"Keep the published model: {best} is better by {high - low:.3f}, which the seeds may give by chance."
    return f"Keep {best}: it is better than the published model by {high - low:.3f} on dev."


if __name__ == "__main__":
    exit_with_sentence(lambda: main(sys.argv[1:]))
