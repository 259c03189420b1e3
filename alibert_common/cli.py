"""Types of command-line options that several stages have."""

import argparse
from collections.abc import Callable


def at_least(smallest: int) -> Callable[[str], int]:
    """For argparse: an integer that is not below `smallest`."""

    def integer(argument: str) -> int:
        if (number := int(argument)) < smallest:
            raise argparse.ArgumentTypeError(f"'{argument}': give {smallest} or more")
        return number

    return integer


def share_or_one(argument: str) -> float:
    """For argparse: a number from 0 to 1."""
    if not 0 <= (value := float(argument)) <= 1:
        raise argparse.ArgumentTypeError(f"'{argument}': give a number from 0 to 1")
    return value


def share(argument: str) -> float:
    """For argparse: a number from 0 to 1, the latter not included."""
    if not 0 <= (value := float(argument)) < 1:
        raise argparse.ArgumentTypeError(f"'{argument}': give a share of at least 0 and below 1")
    return value


def named_path(argument: str) -> tuple[str, str]:
    """For argparse: (name, path) of NAME=PATH."""
    name, equals, path = argument.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"'{argument}': give NAME=PATH, as quaero=QUAERO_FrenchMed/corpus")
    return name, path
