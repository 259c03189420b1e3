"""The command line of a training, read and checked once: argv in, one frozen RunConfig out.

Nothing here imports torch, so a mistake in a path, a recipe or an option is reported at once.
"""

import argparse
import dataclasses
from pathlib import Path

from alibert_common.cli import program
from alibert_common.errors import InputError
from downstream.data.data_folder import data_folder
from downstream.data.recipe import Recipe
from downstream.learners.registry import BASELINES, COSINE, ENCODER, FORMS, Kind
from downstream.training.model_folder import refuse_no_model
from downstream.training.protocol import by_task, load_protocol
from downstream.training.selection import Choice, read_selection

NETWORKS = "vectors"  # the default protocol of baselines that are networks
DEFAULT_PROTOCOL = "tuned"  # made for what most users have: small corpora, and encoders of any size


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """What is trained and scored, on which data, and where the output goes.

    recipe: with the protocol's max_tokens where the protocol has one. choice: the protocol and how it was chosen; None
    for a baseline without a protocol. data: the folder of the splits. The fields with a default are options.
    """

    recipe: Recipe
    data: Path
    kind: Kind
    choice: Choice | None
    output: Path
    model: Path | None = None
    random_init: bool = False
    frozen: bool = False
    bf16: bool = False
    device: str = "auto"
    vectors_text: Path | None = None
    vectors_model: Path | None = None
    selection: Path | None = None
    seeds: int | None = None
    train_documents: int | None = None
    dev_only: bool = False
    overwrite: bool = False


def build_parser() -> argparse.ArgumentParser:
    """The options of downstream.finetune."""
    parser = argparse.ArgumentParser(
        prog=program("python -m downstream.finetune"),
        description="Fine-tune a Hugging Face encoder on a task and score it.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", type=Path, help="local Hugging Face folder with a fast tokenizer")
    source.add_argument("--baseline", choices=list(BASELINES),
        help=f"baseline to train without an encoder (cnn and rnn use --protocol {NETWORKS})")  # fmt: skip
    source.add_argument("--check", action="store_true", help="only read the recipe and its data, and print the counts")
    add_options(parser).add_argument("--cosine", action="store_true",
        help="cosines of the encoder's mean vectors, without training (a baseline)")  # fmt: skip
    add = parser.add_argument
    add("--vectors-text", type=Path, metavar="FILE",
        help="text for the word vectors of a baseline that has them (default: the training texts)")  # fmt: skip
    add("--vectors-model", type=Path, metavar="DIR",
        help="encoder whose input embeddings are the vectors of crf_clusters (default: vectors of a text)")  # fmt: skip
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="changed setting of the protocol, scored on dev only; needs --dev-only")  # fmt: skip
    add("--selection", type=Path, help="selection.json of downstream.search, whose settings are used")
    add("--seeds", type=int, help="number of seeds, counted from 1 (default: the protocol's; 1 for most baselines)")
    add("--train-documents", type=int, metavar="N",
        help="number of training documents, drawn anew for each seed (default: all documents)")  # fmt: skip
    add("--output", type=Path, help="output folder (default: runs/finetune/TASK-PROTOCOL-MODEL, with the changed "
        "settings in the name)")  # fmt: skip
    add("--dev-only", action="store_true", help="leave the test split unread, to choose settings")
    add("--overwrite", action="store_true", help="remove the results of an earlier run from the output folder first")
    return parser


def add_options(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the options that finetune, search and curves share. Returns the group of those about the weights."""
    add, weights = parser.add_argument, parser.add_mutually_exclusive_group()
    add("recipe", type=Path, help="the task's YAML file, for example recipes/finetune/sample.yaml")
    weights.add_argument("--random-init", action="store_true",
        help="random weights in place of the model's; architecture and tokenizer stay (a baseline)")  # fmt: skip
    add("--form", choices=FORMS,
        help="stronger form: tagger for named entities, bi-encoder for rankings, label-attention for labels of texts "
        "(default: a plain head)")  # fmt: skip
    weights.add_argument("--frozen", action="store_true", help="linear probe of the unchanged encoder (a baseline)")
    add("--protocol", help="training protocol: a file of protocols/ beside the recipe, or one of the built-in ones "
        f"(default: {DEFAULT_PROTOCOL})")  # fmt: skip
    add("--data", type=Path, help="folder of the recipe's splits, or a folder that holds it under the recipe's "
        "`folder` (default: the recipe's own)")  # fmt: skip
    add("--bf16", action="store_true", help="bf16 autocast, faster on most GPUs and some CPUs")
    add_device(parser)
    return weights


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    devices = ("auto", "cpu", "cuda")
    parser.add_argument("--device", choices=devices, default="auto", help="device (default: auto, a GPU if any)")


def run_config(args: argparse.Namespace) -> RunConfig:
    """The run that the options of build_parser describe. Raises InputError for a bad option, recipe, path or model."""
    from downstream.tasks import load_task  # here: it imports numpy, and --help needs none of it

    if args.seeds is not None and args.seeds < 1:
        raise InputError(f"--seeds {args.seeds}: at least one seed is needed.")
    recipe = load_task(args.recipe).recipe
    kind = ENCODER if args.check else kind_of(args, recipe.kind)
    choice = choice_of(args, recipe) if kind.has_protocol else None
    if choice and not args.check:
        _refuse_open(args, choice)
    if args.model:
        refuse_no_model(args.model)
    return config_of(args, recipe, kind, choice, args.output or default_output(args, recipe, choice), args.dev_only)


def config_of(
    args: argparse.Namespace, recipe: Recipe, kind: Kind, choice: Choice | None, output: Path, dev_only: bool
) -> RunConfig:
    """The run of these options. Raises InputError where the recipe's splits are not there."""
    data = data_folder(recipe, args.recipe, args.data, dev_only)
    if choice and choice.protocol.max_tokens is not None:
        recipe = dataclasses.replace(recipe, max_tokens=choice.protocol.max_tokens)
    options = [field.name for field in dataclasses.fields(RunConfig) if field.default is not dataclasses.MISSING]
    given = {name: getattr(args, name) for name in options if name in args} | {"dev_only": dev_only}
    return RunConfig(recipe, data, kind, choice, output, **given)


# What may change nothing, in the order in which it is told.
MAY_BE_IDLE = "protocol set selection random_init frozen form cosine vectors_text vectors_model bf16".split()


def kind_of(args: argparse.Namespace, family: str) -> Kind:
    """Raises InputError for a learner that does not serve the family, and for options that would change nothing."""
    kind, words = ENCODER, "--model"
    if getattr(args, "baseline", None):
        kind, words = BASELINES[args.baseline], f"--baseline {args.baseline}"
    elif args.form:
        kind, words = FORMS[args.form], f"--form {args.form}"
    elif getattr(args, "cosine", False):
        kind, words = COSINE, "--cosine"
    given = [
        f"--{name.replace('_', '-')}" for name in MAY_BE_IDLE if getattr(args, name, None) not in (None, False, [])
    ]
    given += ["--device cuda"] * (args.device == "cuda")
    idle = [option for option in given if option not in kind.options]
    if idle:
        raise InputError(f"{words}: {', '.join(idle)} would change nothing; leave it out.")
    if family not in kind.families:
        others = ", ".join(name for name, baseline in BASELINES.items() if family in baseline.families)
        raise InputError(
            f"{words}: does not serve {family}, only {', '.join(kind.families)}; "
            f"baselines that serve {family}: {others}."
        )
    return kind


def choice_of(args: argparse.Namespace, recipe: Recipe) -> Choice:
    """The protocol and how its settings were chosen. Raises InputError for two choices at once."""
    names = recipe.names
    if args.selection is None:
        name = args.protocol or (NETWORKS if args.baseline else DEFAULT_PROTOCOL)
        protocol = load_protocol(args.recipe, name, args.set, names)
        if args.baseline:
            name = f"baseline {args.baseline}" + (f" ({args.protocol})" if args.protocol else "")
            return Choice(name, protocol, args.set)
        return Choice(name, protocol, args.set, by_task=by_task(args.recipe, name, args.set))
    if args.protocol or args.set:
        raise InputError("--selection has the protocol and its settings already; leave out --protocol and --set.")
    record = read_selection(args.selection)
    name = record["protocol"]["name"]
    searched = load_protocol(args.recipe, name, [], names, record["grid"], str(args.selection))
    as_in_file = load_protocol(args.recipe, name, [], names).grid == record["grid"]
    differing = by_task(args.recipe, name, []) if as_in_file else {}  # --grid of the search is the same for all tasks
    return Choice(name, searched.settled(record["settings"]), record=record, by_task=differing)


def _refuse_open(args: argparse.Namespace, choice: Choice) -> None:
    """Raise InputError for a protocol that leaves something to be chosen, and for a test score of settings changed by
    hand: trying several would choose on test."""
    if choice.protocol.grid:
        remedy = f"; run python -m downstream.search {args.recipe} --model {args.model} --protocol {choice.name} first"
        if args.baseline:
            remedy = ", and baselines have no search; choose another protocol"
        name, left = args.protocol or choice.name, ", ".join(choice.protocol.grid)
        raise InputError(f"--protocol {name}: it leaves {left} to be chosen on dev{remedy}.")
    if args.set and not args.dev_only:
        raise InputError(
            f"--set {args.set[0]}: settings changed by hand are scored on dev alone. Add --dev-only; for a test score "
            "choose them with downstream.search, or write them down as a protocol beside the recipe."
        )


def default_output(args: argparse.Namespace, recipe: Recipe, choice: Choice | None) -> Path:
    """The output folder of a run without --output. choice: None for a baseline without a protocol."""
    if args.check:
        return Path("runs/finetune")
    if args.baseline:
        parts = [recipe.task, args.baseline, *([args.protocol] if args.protocol else []), *args.set]
    elif choice is None:
        parts = [recipe.task, "cosine", args.model.resolve().name]
    else:
        changes = ["selected"] if choice.record else choice.changed
        parts = [recipe.task, choice.name, *changes, args.model.resolve().name]
    parts += [args.form] * (args.form is not None and choice is not None and choice.name != args.form)
    parts += ["random"] * args.random_init + ["frozen"] * args.frozen + ["dev-only"] * args.dev_only
    parts += [f"{args.train_documents}-documents"] if args.train_documents else []
    return Path("runs/finetune") / "-".join(parts)
