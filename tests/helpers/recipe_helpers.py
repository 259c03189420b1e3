"""Running a recipe with a stand-in for `fairseq-train` that only writes down its arguments."""

import os
import subprocess
from pathlib import Path

STAND_IN = '#!/bin/sh\nprintf "%s\\n" "$@" >"$ARGUMENTS_FILE"\n'


def recipes_of(repository: Path) -> list[Path]:
    """Every recipe with numbers of its own: continue.sh has those of the model it goes on from."""
    return sorted(path for path in (repository / "recipes" / "pretrain").glob("*.sh") if path.name != "continue.sh")


def run_recipe(recipe: Path, place: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    """Run it in `place`; DATA_BIN and SAVE_DIR are set unless `variables` says otherwise, FROM and VARIANT are not."""
    (place / "bin").mkdir(exist_ok=True)
    (place / "bin" / "fairseq-train").write_text(STAND_IN)
    (place / "bin" / "fairseq-train").chmod(0o755)
    own = {"DATA_BIN": "data-bin", "SAVE_DIR": "checkpoints", "FROM": "", "VARIANT": ""} | variables
    own |= {"PATH": f"{place / 'bin'}{os.pathsep}{own.get('PATH', os.environ['PATH'])}"}
    own |= {"ARGUMENTS_FILE": str(place / "arguments")}
    command = ["bash", str(recipe), *arguments]
    return subprocess.run(command, cwd=place, env=os.environ | own, capture_output=True, text=True)


def arguments_of(recipe: Path, place: Path, *arguments: str, **variables: str) -> list[str]:
    """What the recipe hands to `fairseq-train`, as it stands there."""
    done = run_recipe(recipe, place, *arguments, **variables)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return (place / "arguments").read_text().splitlines()


def as_options(arguments: list[str]) -> dict[str, str | bool]:
    """Option by option, True for a flag; of one that is given twice the last one, as argparse has it."""
    options, name = {}, None
    for argument in arguments:
        if argument.startswith("--"):
            name = argument
            options[name] = True
        elif name is not None:
            assert options[name] is True, f"{name} has two values"
            options[name] = argument
    return options


def start_for(recipe: Path, place: Path) -> dict[str, str]:
    """The variables without which the recipe does not start: a FROM, a VARIANT."""
    text = recipe.read_text(encoding="utf-8")
    (place / "from.pt").touch()
    if "case ${VARIANT:-} in" in text:  # both can be left out
        return {}
    needed = {"FROM": str(place / "from.pt")} if '"${FROM:-}" "' in text else {}
    return needed | ({"VARIANT": "base1"} if "$VARIANT" in text or "${VARIANT" in text else {})
