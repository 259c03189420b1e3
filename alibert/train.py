"""`alibert train`: fairseq-train with this plugin, and a help that shows the options of what was chosen.

fairseq-train prints only its general options. Here `--help` shows those of the chosen task, criterion, model, optimizer
and learning rate schedule first.
"""

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from alibert.paths import user_dir
from alibert_common.cli import program
from alibert_common.errors import InputError

# The criterion and the smallest model of each task of the plugin; its optimizers and its schedules.
TASKS = {
    "alibert_mlm": ("alibert_mlm", "alibert_tiny"),
    "electra": ("electra", "electra_tiny"),
    "segment_pairs": ("segment_pairs", "segment_bert_tiny"),
}
OPTIMIZERS = ("alibert_adam", "lamb")
SCHEDULES = ("bert", "electra", "nvidia")
CHOICES = ("--task", "--criterion", "--arch", "-a", "--optimizer", "--lr-scheduler")
BATCH_SIZES = ("--batch-size", "--max-sentences", "--max-tokens")  # fairseq asserts that one of them is given
OF_THE_MODEL = "default: that of --arch"  # in the help of options, where no model is chosen
USAGE = """usage: {program} DATA_BIN --save-dir DIR --task TASK [options]

Pretrain on a data-bin: fairseq-train with the tasks, models and optimizers of this plugin.
"""
SHORT = """
  --task TASK          {tasks}, or one of fairseq's
  --criterion NAME     the loss, of the same name as the task
  --arch NAME          the model: {archs}, or a larger one (_small, _base)
  --optimizer NAME     {optimizers}, or one of fairseq's
  --lr-scheduler NAME  {schedules}, or one of fairseq's

The options depend on these choices:

    {program} --task electra --help
    {program} --task electra --arch electra_base --optimizer lamb --lr-scheduler electra --help

The recipes of pretraining (`alibert recipes`, folder pretrain) are complete examples.
"""


class HelpFormatter(argparse.HelpFormatter):
    """Adds the default of an option where its help does not name one, or names the model instead."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = (action.help or "").replace("%", "%%") if "%(" not in (action.help or "") else action.help or ""
        empty = action.default in (None, False, "", argparse.SUPPRESS) or str(action.default).startswith("${")
        if not empty and OF_THE_MODEL in text:
            return text.replace(OF_THE_MODEL, "default %(default)s")
        return text if empty or "default" in text else f"{text} (default %(default)s)"


def main(arguments: list[str]) -> None:
    """The verb `train`."""
    if {"-h", "--help"} & set(arguments):
        print(chosen_help(arguments) if given(arguments, *CHOICES, "--user-dir") else short_help())
        return
    if not given(arguments, "--arch", "-a"):
        raise InputError("--arch: missing; `alibert train --help` lists the models.")
    if not given(arguments, *BATCH_SIZES):
        raise InputError("--batch-size: missing; give the sequences of a batch, or --max-tokens.")
    sys.argv = [program("alibert train"), *with_user_dir(arguments)]
    fairseq("fairseq_cli.train").cli_main()


def with_user_dir(arguments: list[str]) -> list[str]:
    """The arguments, with --user-dir if it is not among them."""
    return arguments if given(arguments, "--user-dir") else [*arguments, "--user-dir", str(user_dir())]


def given(arguments: list[str], *options: str) -> bool:
    """Whether one of the options is among the arguments."""
    return any(one.partition("=")[0] in options for one in arguments)


def fairseq(module: str) -> Any:
    """A module of fairseq. Raises InputError where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] not in ("fairseq", "fairseq_cli", "hydra", "omegaconf"):
            raise
        raise InputError(
            f"{missing.name}: not installed, but pretraining needs it; run: uv pip install 'alibert_fairseq[fairseq]'."
        ) from None


def short_help() -> str:
    """The help without a choice, which imports nothing."""
    name, archs = program("alibert train"), ", ".join(arch for _, arch in TASKS.values())
    lists = {"optimizers": ", ".join(OPTIMIZERS), "schedules": ", ".join(SCHEDULES), "tasks": ", ".join(TASKS)}
    return USAGE.format(program=name) + SHORT.format(program=name, archs=archs, **lists)


def chosen_help(arguments: list[str]) -> str:
    """The options of what the arguments choose, then the general options of fairseq."""
    arguments = with_user_dir([one for one in arguments if one not in ("-h", "--help")])
    sys.argv = [program("alibert train"), *arguments]  # where fairseq looks for --user-dir
    general = fairseq("fairseq.options").get_training_parser()
    choices, _ = general.parse_known_args(arguments)
    criterion, arch = TASKS.get(choices.task, (choices.criterion, choices.arch))
    if not given(arguments, "--criterion"):
        choices.criterion = criterion
    choices.arch = choices.arch or arch
    own = argparse.ArgumentParser(usage=argparse.SUPPRESS, add_help=False, formatter_class=HelpFormatter)
    for title, add_options, defaults in option_groups(choices):
        add_options(own.add_argument_group(title))
        own.set_defaults(**defaults)
    general.usage, general.formatter_class = argparse.SUPPRESS, HelpFormatter
    general.description = "General options of fairseq"
    return "\n".join([USAGE.format(program=program("alibert train")), own.format_help(), general.format_help()])


def option_groups(choices: argparse.Namespace) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(title, function that adds the options to a group, defaults that differ) of each choice."""
    models, tasks, registry = (import_module(f"fairseq.{name}") for name in ("models", "tasks", "registry"))
    from_dataclass = import_module("fairseq.dataclass.utils").gen_parser_from_dataclass
    yield f"--task {choices.task}", tasks.TASK_REGISTRY[choices.task].add_args, {}
    found = {name: str(getattr(choices, name, None) or "") for name in registry.REGISTRIES}
    if found["criterion"]:
        yield _registered(registry, from_dataclass, "criterion", found["criterion"])
    if choices.arch:
        sizes = argparse.Namespace()
        if choices.arch in models.ARCH_CONFIG_REGISTRY:
            models.ARCH_CONFIG_REGISTRY[choices.arch](sizes)
        yield f"--arch {choices.arch}", models.ARCH_MODEL_REGISTRY[choices.arch].add_args, vars(sizes)
    for kind in ("optimizer", "lr_scheduler", "tokenizer", "bpe"):
        if found[kind]:
            yield _registered(registry, from_dataclass, kind, found[kind])


def _registered(registry: Any, from_dataclass: Any, kind: str, name: str) -> tuple[str, Any, dict[str, Any]]:
    cls = registry.REGISTRIES[kind]["registry"][name]
    config = registry.REGISTRIES[kind]["dataclass_registry"].get(name)

    def add_options(group: argparse._ArgumentGroup) -> None:
        if hasattr(cls, "add_args"):
            cls.add_args(group)
        elif config:
            from_dataclass(group, config())

    return f"--{kind.replace('_', '-')} {name}", add_options, {}
