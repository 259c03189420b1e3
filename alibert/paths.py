"""Where the plugin and the recipes lie, in a checkout and in an installed wheel."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from alibert_common.cli import program
from alibert_common.errors import InputError
from alibert_common.shipped import RECIPES


def user_dir() -> Path:
    """Return the folder for fairseq's option --user-dir. Raises InputError where the plugin is not installed."""
    spec = find_spec("alibert_fairseq")
    if spec is None or spec.origin is None:
        raise InputError("alibert_fairseq: no such package; install the project again.")
    return Path(spec.origin).parent


def print_user_dir(arguments: list[str]) -> None:
    """Run the verb `user-dir`."""
    _parse("alibert user-dir", "Print the path for fairseq's option --user-dir.", arguments)
    print(user_dir())


def print_recipes(arguments: list[str]) -> None:
    """Run the verb `recipes`."""
    _parse("alibert recipes", "Print the folder of the shipped recipes and of the sample corpus.", arguments)
    print(RECIPES)


def quickstart(arguments: list[str]) -> None:
    """Run the verb `quickstart`: the script of that name, in the environment of this Python."""
    script = str(RECIPES / "quickstart.sh")
    os.execvpe("bash", ["bash", script, *arguments], environment(ALIBERT_ENVIRONMENT=sys.prefix))


def environment(**variables: str) -> dict[str, str]:
    """Return the environment with these variables, in which the programs of this Python come first on PATH."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return os.environ | {"PATH": programs} | variables


def _parse(name: str, description: str, arguments: list[str]) -> None:
    argparse.ArgumentParser(program(name), description=description).parse_args(arguments)
