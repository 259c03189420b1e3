"""What the tests of this folder train on, and what they compare of a training."""

import json
import os
import random
import sys
import sysconfig
from pathlib import Path

import torch
from forked import run
from recipe_helpers import arguments_of

from alibert_fairseq.launch.plan import CPU_ARGUMENTS


def training_environment(directory: Path) -> dict[str, str]:
    """What recipes need: fairseq's commands, one thread (sums in one order), a data-bin of random words."""
    draw = random.Random(1)
    lines = [" ".join(f"w{draw.randrange(60)}" for _ in range(draw.randrange(5, 40))) for _ in range(200)]
    for number in range(10, 200, 10):
        lines[number] = ""  # between two documents
    (directory / "train.txt").write_text("\n".join(lines) + "\n")
    data_bin, scripts = str(directory / "data-bin"), sysconfig.get_path("scripts")
    environment = os.environ | {"DATA_BIN": data_bin, "OMP_NUM_THREADS": "1", "PATH": f"{scripts}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "fairseq_cli.preprocess", "--only-source", "--destdir", data_bin]
    command += ["--trainpref", directory / "train.txt", "--validpref", directory / "train.txt", "--workers", "1"]
    run(*command, cwd=directory, env=environment)
    return environment


def without_launch(recipe: Path, place: Path, environment: dict[str, str], *options: str) -> Path:
    """The folder in which the recipe has trained on this machine, with two processes on CPU and without `launch`.

    The processes have the environment that torchrun sets.
    """
    save = place / "save"
    variables = {"DATA_BIN": environment["DATA_BIN"], "SAVE_DIR": str(save)}
    arguments = arguments_of(recipe, place, *options, *CPU_ARGUMENTS, **variables)
    run("fairseq-train", *arguments, cwd=place, env=environment, processes=2)
    return save


def tensors(directory: Path) -> dict[str, torch.Tensor]:
    """Every tensor of the last checkpoint, model and optimizer, by its path in the file."""
    checkpoint = torch.load(directory / "checkpoint_last.pt", weights_only=False)  # made by this test a moment ago
    found: dict[str, torch.Tensor] = {}
    _collect("model", checkpoint["model"], found)
    _collect("optimizer", checkpoint["last_optimizer_state"], found)
    assert sum(name.startswith("optimizer") for name in found) > 10
    return found


def _collect(path: str, value: object, found: dict[str, torch.Tensor]) -> None:
    if isinstance(value, torch.Tensor):
        found[path] = value
    elif isinstance(value, dict):
        for name, part in value.items():
            _collect(f"{path}.{name}", part, found)


def metrics(directory: Path) -> list[dict]:
    """The lines of metrics.jsonl that are whole, without their times."""
    path = directory / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) | {"seconds": 0} for line in lines if line.endswith(b"\n")]
