"""Every recipe with --toy, to its checkpoint: the loss falls; what starts from a checkpoint starts from its weights.

The recipe is run with a stand-in for `fairseq-train` that writes down its arguments; one process that has everything
imported forks for each list of them, which spares ten seconds of imports a recipe.
"""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fairseq import checkpoint_utils
from recipe_helpers import arguments_of, recipes_of, start_for

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPES = [path.name for path in recipes_of(REPOSITORY)]
STARTS_FROM = {
    "oubiobert_phase2.sh": "oubiobert_phase1.sh",
    "oubiobert_continual.sh": "oubiobert_phase1.sh",
    "bio_electra_pp.sh": "bio_electra_small.sh",
}
UPDATES = {"bio_electra_pp.sh": 60}  # of them 30 of bio_electra_small.sh's; 30 of every other
TRAINER = """
import json, os, sys, traceback
import torch._dynamo  # an optimizer imports it
from fairseq_cli import train
import alibert_fairseq
for line in sys.stdin:
    log, *sys.argv = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT, 0o644), 1)
        os.dup2(1, 2)
        try:
            train.cli_main()
            status = 0
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """A function: `fairseq-train` with these arguments, its output."""
    place = tmp_path_factory.mktemp("logs")
    own = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", TRAINER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=place, env=own, **pipes) as process:

        def run(name: str, arguments: list[str]) -> str:
            log = place / f"{name}.log"
            print(json.dumps([str(log), "fairseq-train", *arguments, "--cpu"]), file=process.stdin, flush=True)
            status = process.stdout.readline().strip()
            text = log.read_text()
            assert status == "0", text[-4000:]
            return text

        yield run


@pytest.fixture(scope="module")
def toy(train, data_bin, tmp_path_factory):
    """A function: the folder of a recipe's checkpoints and its output, each recipe being run once."""

    @functools.cache
    def run(name: str) -> tuple[Path, str]:
        place = tmp_path_factory.mktemp(name)
        save = place / "checkpoints"
        variables = start_for(REPOSITORY / "recipes" / "pretrain" / name, place)
        variables |= {"DATA_BIN": str(data_bin), "SAVE_DIR": str(save)}
        if name in STARTS_FROM:
            variables["FROM"] = str(toy_folder(STARTS_FROM[name]))
        recipe = REPOSITORY / "recipes" / "pretrain" / name
        return save, train(name, arguments_of(recipe, place, "--toy", **variables))

    def toy_folder(name: str) -> Path:
        return run(name)[0]

    return run


def losses(log: str) -> list[float]:
    """`loss` in bits, of every five updates."""
    return [float(value) for value in re.findall(r"train_inner .*? loss=([\d.]+)", log)]


@pytest.mark.parametrize("name", RECIPES)
def test_a_toy_trains_to_its_checkpoint(name, toy):
    save, log = toy(name)
    curve = losses(log)
    assert len(curve) == 6
    state = checkpoint_utils.load_checkpoint_to_cpu(str(save / "checkpoint_last.pt"))
    assert state["optimizer_history"][-1]["num_updates"] == UPDATES.get(name, 30)
    before = losses(toy(STARTS_FROM[name])[1]) if name in STARTS_FROM else curve
    assert curve[-1] < 0.98 * before[0]  # where random weights begin
    assert name not in STARTS_FROM or curve[0] < sum(before) / len(before)
