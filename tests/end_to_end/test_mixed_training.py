"""`fairseq-train` on a mix of two corpora: each epoch another, said in the log, and the same after a resume."""

import re
import shutil

import pytest
from forked import finish
from forked import run as run_forked
from test_pretraining import ENVIRONMENT, assert_same, command, losses

from preprocess.mixing.mix_file import write_mix


@pytest.fixture(scope="module")
def mixed(data_bin, tmp_path_factory):
    """The sample's few validation documents as the core, used four and a half times beside the others."""
    place = shutil.copytree(data_bin, tmp_path_factory.mktemp("mixed") / "data-bin")
    for ending in ("bin", "idx"):
        (place / f"train.{ending}").rename(place / f"train1.{ending}")
        shutil.copy(place / f"valid.{ending}", place / f"train.{ending}")
    write_mix(place, {"core": 4.5, "satellite": 1.0})
    return place


def shares(log: str) -> list[tuple[str, ...]]:
    """Epoch, weight and tokens of the core, tokens of the satellite, of each line that says what an epoch has."""
    core, satellite = (
        r"core: [\d,]+ documents, weight ([\d.]+), ([\d,]+) tokens an epoch, [\d.]+% of the mix",
        r"satellite: [\d,]+ documents, weight 1, ([\d,]+) tokens an epoch, [\d.]+% of the mix",
    )
    return re.findall(rf"train, epoch (\d+): {core} .*; {satellite}", log)


def test_epochs_differ_and_a_resumed_run_ends_with_the_same_bits(mixed, repository, tmp_path):
    def train(save, *more):
        options = ("--batch-size", "64", "--max-epoch", "2", *more)
        return run_forked(*command("mlm", mixed, tmp_path / save, repository, *options), cwd=tmp_path, env=ENVIRONMENT)

    log = train("whole")
    first, second, *_ = shares(log)
    assert first[:2] == ("1", "4.5") and second[:2] == ("2", "4.5")
    assert first[2] != second[2] and first[3] == second[3]  # another half of the core once more, the whole satellite
    updates = len(losses(log))
    assert updates >= 8
    begun = train("broken", "--max-update", str(3 * updates // 4))  # in the middle of the second epoch
    resumed = train("broken")
    assert len(losses(begun)) + len(losses(resumed)) == updates
    assert shares(begun)[:2] == [first, second] and shares(resumed)[0] == second
    assert_same(tmp_path / "whole" / "checkpoint_last.pt", tmp_path / "broken" / "checkpoint_last.pt")


def test_weights_of_the_command_line_and_wrong_ones(mixed, repository, tmp_path):
    def train(weights):
        run = command("mlm", mixed, tmp_path / "save", repository, "--max-update", "1", "--mix-weights", weights)
        return finish(run, cwd=tmp_path, env=ENVIRONMENT)

    status, log = train("core=2")
    assert status and re.search(r"error: .*mix.json: --mix-weights leaves out satellite; give a weight for each", log)
    assert "Traceback" not in log
    status, log = train("core=2,satellite=1")
    assert status == 0 and shares(log)[0][1] == "2"
