"""One recipe through `launch`: on two Slurm nodes and on this machine it must do exactly what `torchrun` does."""

import functools
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from trainings import tensors, training_environment, under_torchrun

# Name: recipe, arguments that make it short. Each recipe reads $DATA_BIN, writes to $SAVE_DIR and passes "$@" on.
# ELECTRA's goes through Slurm in test_requeue.py, interrupted, and is compared with torchrun's there.
SHORT = "--max-update 4 --batch-size 4 --warmup-updates 1 --encoder-layers 2 --disable-validation".split()
RECIPES = {
    "stock_masked_lm": ("tests/slurm/stock_masked_lm.sh", ["--max-update", "5"]),
    "alibert_mlm": ("recipes/pretrain/tiny_mlm.sh", SHORT),
}
PLACES = {
    "two_slurm_nodes": ["--partition", "test", "--nodes", "2", "--cpu-processes-per-node", "1", "--time", "10"],
    "this_machine": ["--cpu-processes-per-node", "2"],
}
# A run takes 10 seconds of one core, most of it imports: the local executor is tried with one recipe, Slurm with all.
RUNS = [(name, "two_slurm_nodes") for name in RECIPES] + [("stock_masked_lm", "this_machine")]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    return training_environment(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def reference(environment, repository, tmp_path_factory):
    """A function: every tensor of the checkpoint a recipe leaves under `torchrun` with two processes, made once."""

    @functools.cache
    def trained(name: str) -> dict[str, torch.Tensor]:
        return tensors(under_torchrun(recipe_of(name, repository), tmp_path_factory.mktemp("torchrun"), environment))

    return trained


@pytest.mark.parametrize("name, place", RUNS)
def test_launched_run_equals_torchrun(name, place, reference, environment, repository, tmp_path, request):
    """Weights and optimizer state are `torch.equal` to torchrun's, and two processes did train together."""
    done = launch(recipe_of(name, repository), place, environment, repository, tmp_path, request)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "training on 2 devices" in done.stdout
    assert "2 of 2 ranks ended well" in done.stdout
    found, expected = tensors(tmp_path), reference(name)
    assert found.keys() == expected.keys()
    assert not [key for key, value in expected.items() if not torch.equal(found[key], value)]


@pytest.mark.parametrize("place", PLACES)
def test_failing_rank_ends_the_job(place, environment, repository, tmp_path, request):
    """Rank 1 fails before it meets rank 0, which would wait half an hour for it; `launch` here gives up sooner."""
    recipe = tmp_path / "fails.sh"
    whole = (repository / RECIPES["stock_masked_lm"][0]).read_text()
    recipe.write_text('[ "$RANK" = 0 ] || exit 7\n' + whole)
    done = launch([str(recipe)], place, environment, repository, tmp_path, request)
    assert done.returncode == 7, done.stdout + done.stderr
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "rank 1" in sentence and "exit code 7" in sentence
    assert Path(sentence.rpartition("log: ")[2]).is_file()
    assert str(recipe) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def recipe_of(name: str, repository: Path) -> list[str]:
    """The recipe's path and its arguments."""
    path, arguments = RECIPES[name]
    return [str(repository / path), *arguments]


def launch(recipe, place, environment, repository, directory, request) -> subprocess.CompletedProcess:
    """`python -m alibert_fairseq.launch RECIPE ... -- ARGUMENTS`, from another directory than the checkout's."""
    own = {"SAVE_DIR": str(directory), "PYTHONPATH": str(repository)}
    if place == "two_slurm_nodes":
        own["SLURM_CONF"] = str(request.getfixturevalue("two_node_slurm").configuration)
    options = [*PLACES[place], "--logs", str(directory / "logs"), "--", *recipe[1:]]
    command = [sys.executable, "-m", "alibert_fairseq.launch", recipe[0], *options]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment | own, cwd=directory, **streams) as process:
        try:
            said, complained = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            process.terminate()  # which ends its job, as a kill would not
            raise
    return subprocess.CompletedProcess(command, process.returncode, said, complained)
