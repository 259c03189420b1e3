"""One recipe through `launch`, on two Slurm nodes and on this machine: it does what it does without `launch`."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from long_cases import long_except
from trainings import tensors, training_environment, without_launch

# It reads $DATA_BIN, writes to $SAVE_DIR and passes "$@" on, as every recipe. ELECTRA's goes through Slurm in
# test_requeue.py, interrupted, and is compared with one left in peace there.
RECIPE = "tests/slurm/stock_masked_lm.sh"
SHORT = ["--max-update", "5"]
PLACES = {
    "two_slurm_nodes": ["--partition", "test", "--nodes", "2", "--cpu-processes-per-node", "1", "--time", "10"],
    "this_machine": ["--cpu-processes-per-node", "2"],
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    return training_environment(tmp_path_factory.mktemp("data"))


def test_launched_run_equals_one_without_launch(environment, repository, tmp_path, tmp_path_factory, request):
    """Weights and optimizer state are `torch.equal`, and two processes did train together."""
    recipe = [str(repository / RECIPE), *SHORT]
    expected = tensors(without_launch(Path(recipe[0]), tmp_path_factory.mktemp("alone"), environment, *SHORT))
    done = launch(recipe, "this_machine", environment, repository, tmp_path, request)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "training on 2 devices" in done.stdout
    assert "2 of 2 ranks ended well" in done.stdout
    found = tensors(tmp_path)
    assert found.keys() == expected.keys()
    assert not [key for key, value in expected.items() if not torch.equal(found[key], value)]


@pytest.mark.parametrize("place", long_except(PLACES, "two_slurm_nodes"))
def test_failing_rank_ends_the_job(place, environment, repository, tmp_path, request):
    """Rank 1 fails before it meets rank 0, which would wait half an hour for it; `launch` here gives up sooner."""
    recipe = tmp_path / "fails.sh"
    whole = (repository / RECIPE).read_text()
    recipe.write_text('[ "$RANK" = 0 ] || exit 7\n' + whole)
    done = launch([str(recipe)], place, environment, repository, tmp_path, request)
    assert done.returncode == 7, done.stdout + done.stderr
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "rank 1" in sentence and "exit code 7" in sentence
    assert Path(sentence.rpartition("log: ")[2]).is_file()
    assert str(recipe) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


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
