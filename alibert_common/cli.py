"""Names of commands in their usage lines, and types of options that several commands have."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError

# The command `alibert` sets this to itself and its verb, before it runs another command.
started_as: str | None = None


def program(command: str) -> str:
    """Return the name for a usage line: `alibert VERB` if the user typed that, else `command`."""
    return started_as or command


class Option(NamedTuple):
    """The kind of values that an option takes."""

    dest: str
    kind: object  # its type
    flag: bool  # it takes no value
    many: bool  # it takes several values at once
    repeated: bool  # it may be given several times


class OptionParser(argparse.ArgumentParser):
    """A parser that knows its options by name, so that a YAML file can set them."""

    @property
    def options(self) -> dict[str, Option]:
        """The options by each of their names, including those of groups."""
        options = {}
        for name, action in self._option_string_actions.items():
            many, repeated = action.nargs in ("+", "*"), isinstance(action, argparse._AppendAction)
            options[name] = Option(action.dest, action.type, action.nargs == 0, many, repeated)
        return options


def command_parser(command: str, description: str | None) -> OptionParser:
    """The parser of `python -m COMMAND`; its help shows the description as it stands."""
    as_it_stands = argparse.RawDescriptionHelpFormatter
    return OptionParser(program(f"python -m {command}"), description=description, formatter_class=as_it_stands)


def at_least(smallest: int) -> Callable[[str], int]:
    """Return a type for argparse: an integer of at least `smallest`."""

    def integer(argument: str) -> int:
        if (number := int(argument)) < smallest:
            raise argparse.ArgumentTypeError(f"'{argument}': give {smallest} or more")
        return number

    return integer


def whole_numbers(argument: str) -> tuple[int, ...]:
    """Read an argument: whole numbers above 0 with commas between them, each once."""
    numbers = tuple(int(part) for part in argument.split(","))
    if min(numbers) < 1 or len(set(numbers)) < len(numbers):
        raise argparse.ArgumentTypeError(f"'{argument}': give numbers above 0, each once, as 1,4,16")
    return numbers


def share_or_one(argument: str) -> float:
    """Read an argument: a number from 0 to 1."""
    if not 0 <= (value := float(argument)) <= 1:
        raise argparse.ArgumentTypeError(f"'{argument}': give a number from 0 to 1")
    return value


def share(argument: str) -> float:
    """Read an argument: a number of at least 0 and below 1."""
    if not 0 <= (value := float(argument)) < 1:
        raise argparse.ArgumentTypeError(f"'{argument}': give a share of at least 0 and below 1")
    return value


def named_path(argument: str) -> tuple[str, str]:
    """Read an argument: (name, path) of NAME=PATH."""
    name, equals, path = argument.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"'{argument}': give NAME=PATH, as quaero=QUAERO_FrenchMed/corpus")
    return name, path


def named(arguments: list[str], option: str, default_names: bool) -> dict[str, Path]:
    """Return {name: path} of NAME=PATH arguments. Raises InputError for a name that is missing or repeated.

    With default_names, a PATH alone gets its last part as name, and an existing PATH may have a = in it (epochs=3).
    """
    paths: dict[str, Path] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if default_names and (not equals or Path(argument).exists()):
            name, path = Path(argument).resolve().name, argument
        if not name or not path:
            raise InputError(f"{option} {argument}: write NAME=PATH.")
        if name in paths:
            raise InputError(f"{option} {argument}: {name!r} is there twice; write NAME=PATH with another name.")
        paths[name] = Path(path)
    return paths
