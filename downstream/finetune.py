"""Fine-tune a Hugging Face encoder on a task and score it: `python -m downstream.finetune RECIPE --model DIR`.

With --baseline NAME in place of the model, score what it has to beat (docs/downstream/baselines.md).

Reads the recipe, its data and the model's folder; writes to the output folder what downstream/experiment/run.py says. A
second call with the same settings goes on from what is finished.
"""

import argparse
import dataclasses
import hashlib
from pathlib import Path

from alibert_common.errors import InputError, exit_with_sentence
from downstream.data.splits import Splits, read_folds, with_fewer
from downstream.experiment.results import versions
from downstream.experiment.run import Experiment, unseen_labels
from downstream.learners.base import Learner
from downstream.learners.baselines.base import Baseline
from downstream.learners.baselines.registry import BASELINES
from downstream.learners.from_args import asked_for, learner_of
from downstream.tasks import load_task
from downstream.tasks.base import Task
from downstream.training.protocol import Protocol, by_task, load_protocol
from downstream.tuning.result import Choice, read_selection, refuse_other

NETWORKS = "vectors"  # the default of baselines that are networks
DEFAULT_PROTOCOL = "tuned"  # made for what most users have: small corpora, and encoders of any size


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m downstream.finetune", description=__doc__.split("\n\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", type=Path, help="a local Hugging Face folder with a fast tokenizer")
    source.add_argument(
        "--baseline",
        choices=list(BASELINES),
        help=f"learn the task without an encoder (cnn, rnn: --protocol {NETWORKS})",
    )
    source.add_argument("--check", action="store_true", help="only read the recipe and its data; say what they hold")
    weights = add_options(parser)
    weights.add_argument(
        "--cosine",
        action="store_true",
        help="train nothing: cosines of the encoder's mean vectors, for ranking and similarity (a baseline)",
    )
    parser.add_argument(
        "--vectors-text",
        type=Path,
        metavar="FILE",
        help="text that the vectors of --baseline cnn and rnn are learned from; default: the training texts",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of the protocol, to see what it does on dev; needs --dev-only",
    )
    parser.add_argument("--selection", type=Path, help="selection.json of downstream.search: train with what it chose")
    parser.add_argument(
        "--seeds",
        type=int,
        help="how many, counted from 1; default: as many as the protocol says; a baseline that draws nothing has one",
    )
    parser.add_argument(
        "--train-documents",
        type=int,
        metavar="N",
        help="train on N documents, drawn by each seed, for as many updates as on all; default: all documents",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="default runs/finetune/TASK-PROTOCOL[-SETTING]-MODEL, or runs/finetune/TASK-BASELINE[-PROTOCOL][-SETTING]",
    )
    parser.add_argument("--dev-only", action="store_true", help="do not read the test split; to choose settings")
    parser.add_argument("--overwrite", action="store_true", help="throw away what an earlier run left in the output")
    return parser.parse_args(argv)


def add_options(parser: argparse.ArgumentParser):
    """What downstream.search takes, too. Returns the group of those that say what becomes of the weights."""
    parser.add_argument("recipe", type=Path, help="the task's yaml file, for example recipes/finetune/sample.yaml")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument(
        "--random-init",
        action="store_true",
        help="keep the model's architecture and tokenizer, draw its weights anew (a baseline)",
    )
    weights.add_argument(
        "--frozen", action="store_true", help="train a linear probe of the encoder and nothing else (a baseline)"
    )
    parser.add_argument(
        "--protocol",
        help="how to train: a file of protocols/ beside the recipe, or one of ours (docs/downstream/protocols.md); "
        f"default {DEFAULT_PROTOCOL}, made for small encoders and corpora",
    )
    parser.add_argument("--data", type=Path, help="folder of the recipe's splits; default: the recipe's own")
    parser.add_argument("--bf16", action="store_true", help="bf16 autocast: faster on GPUs and on CPUs that have it")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default auto: a GPU if any")
    return weights


def main(argv: list[str] | None = None) -> None:
    """The command line; `argv` in place of that of the process."""
    args = arguments(argv)
    if args.seeds is not None and args.seeds < 1:
        raise InputError(f"--seeds {args.seeds}: at least one seed is needed.")
    task = load_task(args.recipe)
    if args.check:
        return print(check(args, task))
    experiment = set_up(args, task)
    if args.overwrite:
        experiment.clear()
    num_seeds = args.seeds or experiment.conditions["protocol"].get("seeds", Protocol.seeds)
    something_is_drawn = experiment.learner.draws or args.train_documents
    print(experiment.run(num_seeds if something_is_drawn else 1))


def names_of(task: Task) -> tuple[str, str]:
    """By which a protocol may have values of a task's own."""
    return task.recipe.task, task.recipe.kind


def choice_of(args: argparse.Namespace, task: Task) -> Choice:
    """The protocol and how its settings were chosen. Raises InputError for two choices at once."""
    if args.baseline:
        protocol = load_protocol(args.recipe, args.protocol or NETWORKS, args.set, names_of(task))
        name = f"baseline {args.baseline}" + (f" ({args.protocol})" if args.protocol else "")
        return Choice(name, protocol, args.set)
    if args.selection is None:
        name = args.protocol or DEFAULT_PROTOCOL
        protocol = load_protocol(args.recipe, name, args.set, names_of(task))
        return Choice(name, protocol, args.set, by_task=by_task(args.recipe, name, args.set))
    if args.protocol or args.set:
        raise InputError("--selection has the protocol and its settings already; leave out --protocol and --set.")
    record = read_selection(args.selection)
    name = record["protocol"]["name"]
    searched = load_protocol(args.recipe, name, [], names_of(task), record["grid"], str(args.selection))
    as_in_file = load_protocol(args.recipe, name, [], names_of(task)).grid == record["grid"]
    differing = by_task(args.recipe, name, []) if as_in_file else {}  # --grid of the search is the same for all tasks
    return Choice(name, searched.settled(record["settings"]), record=record, by_task=differing)


def limit_length(task: Task, protocol: Protocol) -> None:
    """Where the protocol fixes the longest sequence, the recipe's gives way."""
    if protocol.max_tokens is not None:
        task.recipe = dataclasses.replace(task.recipe, max_tokens=protocol.max_tokens)


def check(args: argparse.Namespace, task: Task) -> str:
    """What the recipe's splits hold, a line each, and a digest of all that scores depend on but the model.

    Raises InputError where a run would, the model apart.
    """
    protocol = choice_of(args, task).protocol
    limit_length(task, protocol)
    folds = read_folds(task, args.recipe, args.data, args.dev_only)
    lines = []
    for number, splits in enumerate(folds, 1):
        task.begin(splits["train"].items)
        for name, part in splits.items():
            found = ", ".join(f"{count} {label}" for label, count in task.describe(part.items).items())
            past = "".join(f"; {count} {what}" for what, count in part.counts.items() if count)
            past += f"; {told}" if (told := unseen_labels(task, part.items)) else ""
            lines.append(f"fold {number}, " * (len(folds) > 1) + f"{name}: {len(part.items)} items ({found}){past}")
    digest = hashlib.sha256(repr((task.recipe, protocol, folds)).encode()).hexdigest()
    return "\n".join([*lines, f"sha256 of recipe, protocol and documents: {digest}"])


def set_up(args: argparse.Namespace, task: Task) -> Experiment:
    """Read and check everything before the first update, so that bad input costs seconds."""
    kind = asked_for(args, task)
    if issubclass(kind, Baseline):
        learner, choice = learner_of(args, task, kind, None), None
    else:
        choice = choice_of(args, task)
        refuse_open(args, choice)
        refuse_by_hand(args)
        limit_length(task, choice.protocol)
        learner = learner_of(args, task, kind, choice.protocol)
    folds = read_folds(task, args.recipe, args.data, args.dev_only)
    for splits in folds:
        task.begin(splits["train"].items)
        if args.train_documents is not None:
            with_fewer(task, splits["train"], args.train_documents, seed=1)  # is refused before anything is cleared
    conditions = conditions_of(task, learner, folds) | (choice.conditions() if choice else {})
    if choice and choice.record:
        refuse_other(choice.record, conditions, args.selection)
    told = choice.told() if choice else {"by": f"{conditions['protocol']['name']}, as it stands"}
    conditions |= {"selection": told, "dev_only": args.dev_only, "train_documents": args.train_documents}
    output = args.output or default_output(args, task, choice)
    return Experiment(task, learner, folds, output, conditions, args.train_documents)


def refuse_open(args: argparse.Namespace, choice: Choice) -> None:
    """Raises InputError for a protocol that leaves something to be chosen."""
    if choice.protocol.grid and args.baseline:
        raise InputError(
            f"--protocol {args.protocol}: it leaves {', '.join(choice.protocol.grid)} to be chosen on dev, and no "
            "search is of baselines; choose another protocol."
        )
    if choice.protocol.grid:
        raise InputError(
            f"--protocol {choice.name}: it leaves {', '.join(choice.protocol.grid)} to be chosen on dev; run python -m "
            f"downstream.search {args.recipe} --model {args.model} --protocol {choice.name} first."
        )


def refuse_by_hand(args: argparse.Namespace) -> None:
    """Raises InputError for a test score of changed settings: whoever tries several has chosen on test."""
    if args.set and not args.dev_only:
        raise InputError(
            f"--set {args.set[0]}: settings changed by hand are scored on dev alone. Add --dev-only; for a test score "
            "choose them with downstream.search, or write them down as a protocol beside the recipe."
        )


def conditions_of(task: Task, learner: Learner, folds: list[Splits]) -> dict:
    """What scores depend on, but the seed, in plain figures."""
    return {
        "task": task.recipe.task,
        "kind": task.recipe.kind,
        "recipe": task.recipe.as_dict(),
        **learner.conditions,
        "data_sha256": [{name: part.sha256 for name, part in splits.items()} for splits in folds],
        "versions": versions(),
    }


def default_output(args: argparse.Namespace, task: Task, choice: Choice | None) -> Path:
    """choice: None for a baseline that has no protocol."""
    if args.baseline:
        parts = [task.recipe.task, args.baseline, *([args.protocol] if args.protocol else []), *args.set]
    elif choice is None:
        parts = [task.recipe.task, "cosine", args.model.resolve().name]
    else:
        how = ["selected"] if choice.record else choice.changed
        parts = [task.recipe.task, choice.name, *how, args.model.resolve().name]
    parts += ["random"] * args.random_init + ["frozen"] * args.frozen + ["dev-only"] * args.dev_only
    parts += [f"{args.train_documents}-documents"] if args.train_documents else []
    return Path("runs/finetune") / "-".join(parts)


if __name__ == "__main__":
    exit_with_sentence(main)
