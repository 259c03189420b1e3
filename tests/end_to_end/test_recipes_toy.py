"""Every recipe with --toy, to its checkpoint: the loss falls; what starts from a checkpoint starts from its weights.

The recipe is run with a stand-in for `fairseq-train` that writes down its arguments, and they are run by `forked`.
"""

import functools
import os
import re
from pathlib import Path

import pytest
from fairseq import checkpoint_utils
from forked import run as run_forked
from long_cases import long_except
from recipe_helpers import arguments_of, recipes_of, start_for

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPES = [path.name for path in recipes_of(REPOSITORY)]
ALWAYS = [f"{name}.sh" for name in (
    "alibert_base", "alibert_electra_base", "bioalbert", "oubiobert_phase1", "oubiobert_phase2", "tiny_modern",
)]  # fmt: skip
STARTS_FROM = {
    "oubiobert_phase2.sh": "oubiobert_phase1.sh",
    "oubiobert_continual.sh": "oubiobert_phase1.sh",
    "bio_electra_pp.sh": "bio_electra_small.sh",
}
UPDATES = {"bio_electra_pp.sh": 60}  # of them 30 of bio_electra_small.sh's; 30 of every other
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture(scope="module")
def toy(data_bin, tmp_path_factory):
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
        arguments = arguments_of(recipe, place, "--toy", **variables)
        return save, run_forked("fairseq-train", *arguments, "--cpu", cwd=place, env=ENVIRONMENT)

    def toy_folder(name: str) -> Path:
        return run(name)[0]

    return run


def test_detection_of_the_modern_form_trains_from_its_masked_language_model(toy, data_bin, tmp_path):
    places = {"FROM": str(toy("tiny_modern.sh")[0]), "DATA_BIN": str(data_bin), "SAVE_DIR": str(tmp_path / "save")}
    recipe = REPOSITORY / "recipes" / "pretrain" / "tiny_modern.sh"
    arguments = arguments_of(recipe, tmp_path, "--toy", VARIANT="detection", **places)
    curve = losses(run_forked("fairseq-train", *arguments, "--cpu", cwd=tmp_path, env=ENVIRONMENT))
    assert len(curve) == 6 and curve[-1] < curve[0]


def losses(log: str) -> list[float]:
    """`loss` in bits, of every five updates."""
    return [float(value) for value in re.findall(r"train_inner .*? loss=([\d.]+)", log)]


@pytest.mark.parametrize("name", long_except(RECIPES, *ALWAYS))
def test_a_toy_trains_to_its_checkpoint(name, toy):
    save, log = toy(name)
    curve = losses(log)
    assert len(curve) == 6
    state = checkpoint_utils.load_checkpoint_to_cpu(str(save / "checkpoint_last.pt"))
    assert state["optimizer_history"][-1]["num_updates"] == UPDATES.get(name, 30)
    before = losses(toy(STARTS_FROM[name])[1]) if name in STARTS_FROM else curve
    assert curve[-1] < 0.98 * before[0]  # where random weights begin
    assert name not in STARTS_FROM or curve[0] < sum(before) / len(before)
