"""`alibert train`: fairseq-train with this plugin, and a help that shows the options of what was chosen.

fairseq-train prints only its general options. Here `--help` shows those of the chosen task, criterion, model, optimizer
and learning rate schedule first.
"""

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

from alibert.paths import user_dir
from alibert_common.cli import program
from alibert_common.errors import InputError

# The smallest model of each task of the plugin, whose criterion has the task's name; its optimizers and its schedules.
TASKS = {"alibert_mlm": "alibert_tiny", "electra": "electra_tiny", "segment_pairs": "segment_bert_tiny"}
OPTIMIZERS = ("alibert_adam", "lamb", "muon")
SCHEDULES = ("bert", "electra", "nvidia", "wsd")
CHOICES = ("--task", "--criterion", "--arch", "-a", "--optimizer", "--lr-scheduler")
BATCH_SIZES = ("--batch-size", "--max-sentences", "--max-tokens")  # fairseq asserts that one of them is given
OF_THE_MODEL = "default: that of --arch"  # in the help of options, where no model is chosen
USAGE = """usage: {program} DATA_BIN --save-dir DIR --task TASK [options]

Pretrain on a data-bin: fairseq-train with the tasks, models and optimizers of this plugin.
"""
SHORT = f"""
  --task TASK          {", ".join(TASKS)}, or one of fairseq's
  --criterion NAME     the loss, of the same name as the task
  --arch NAME          the model: {", ".join(TASKS.values())}, or a larger one (_small, _base)
  --optimizer NAME     {", ".join(OPTIMIZERS)}, or one of fairseq's
  --lr-scheduler NAME  {", ".join(SCHEDULES)}, or one of fairseq's

The options depend on these choices:

    {{program}} --task electra --help
    {{program}} --task electra --arch electra_base --optimizer lamb --lr-scheduler electra --help

The recipes of pretraining (`alibert recipes`, folder pretrain) are complete examples.
"""


class HelpFormatter(argparse.HelpFormatter):
    """Add the default of an option where its help does not name one, or names the model instead."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = (action.help or "").replace("%", "%%") if "%(" not in (action.help or "") else action.help or ""
        empty = action.default in (None, False, "", argparse.SUPPRESS) or str(action.default).startswith("${")
        if not empty and OF_THE_MODEL in text:
            return text.replace(OF_THE_MODEL, "default %(default)s")
        return text if empty or "default" in text else f"{text} (default %(default)s)"


def main(arguments: list[str]) -> None:
    """Run the verb `train`."""
    if {"-h", "--help"} & set(arguments):
        short = (USAGE + SHORT).format(program=program("alibert train"))  # which imports nothing
        print(chosen_help(arguments) if given(arguments, *CHOICES, "--user-dir") else short)
        return
    if not given(arguments, "--arch", "-a"):
        raise InputError("--arch: missing; `alibert train --help` lists the models.")
    if not given(arguments, *BATCH_SIZES):
        raise InputError("--batch-size: missing; give the sequences of a batch, or --max-tokens.")
    sys.argv = [program("alibert train"), *with_user_dir(arguments)]
    fairseq("fairseq_cli.train").cli_main()


def with_user_dir(arguments: list[str]) -> list[str]:
    """Return the arguments, with --user-dir if it is not among them."""
    return arguments if given(arguments, "--user-dir") else [*arguments, "--user-dir", str(user_dir())]


def given(arguments: list[str], *options: str) -> bool:
    """Return whether one of the options is among the arguments."""
    return any(argument.partition("=")[0] in options for argument in arguments)


def fairseq(module: str) -> Any:
    """Import a module of fairseq. Raises InputError where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] not in ("fairseq", "fairseq_cli", "hydra", "omegaconf"):
            raise
        raise InputError(
            f"{missing.name}: not installed, but pretraining needs it; run: uv pip install 'alibert_fairseq[fairseq]'."
        ) from None


def chosen_help(arguments: list[str]) -> str:
    """Return the help: the options of the chosen task, model and so on, then the general options of fairseq."""
    arguments = with_user_dir([word for word in arguments if word not in ("-h", "--help")])
    sys.argv = [program("alibert train"), *arguments]  # where fairseq looks for --user-dir
    general = fairseq("fairseq.options").get_training_parser()
    choices, _ = general.parse_known_args(arguments)
    if choices.task in TASKS and not given(arguments, "--criterion"):
        choices.criterion = choices.task
    choices.arch = choices.arch or TASKS.get(choices.task)
    own = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False, formatter_class=HelpFormatter)
    for title, add_options, defaults in option_groups(choices):
        add_options(own.add_argument_group(title))
        own.set_defaults(**defaults)
    general.usage, general.formatter_class = argparse.SUPPRESS, HelpFormatter
    general.description = "General options of fairseq"
    return "\n".join([USAGE.format(program=program("alibert train")), own.format_help(), general.format_help()])


def option_groups(choices: argparse.Namespace) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield (title, function that adds the options to a group, defaults that differ) for each choice."""
    models, tasks, registry = (import_module(f"fairseq.{name}") for name in ("models", "tasks", "registry"))
    from_dataclass = import_module("fairseq.dataclass.utils").gen_parser_from_dataclass
    yield f"--task {choices.task}", tasks.TASK_REGISTRY[choices.task].add_args, {}
    for kind in ("criterion", "arch", "optimizer", "lr_scheduler", "tokenizer", "bpe"):
        if not (name := str(getattr(choices, kind, None) or "")):
            continue
        title = f"--{kind.replace('_', '-')} {name}"
        if kind == "arch":
            sizes = argparse.Namespace()
            if name in models.ARCH_CONFIG_REGISTRY:
                models.ARCH_CONFIG_REGISTRY[name](sizes)
            yield title, models.ARCH_MODEL_REGISTRY[name].add_args, vars(sizes)
        elif hasattr(cls := registry.REGISTRIES[kind]["registry"][name], "add_args"):
            yield title, cls.add_args, {}
        elif config := registry.REGISTRIES[kind]["dataclass_registry"].get(name):
            yield title, partial(from_dataclass, dataclass_instance=config()), {}
