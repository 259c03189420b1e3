"""--shard-optimizer-state: half of the moments on each of two processes, and the same bits."""

import os
import re
import shutil

import pytest
import torch
from fairseq import checkpoint_utils
from forked import finish
from long_cases import long_except

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
# At these rates the norm of all gradients is above the clip, LAMB's own in the first.
OPTIMIZERS = {
    "lamb": ["--optimizer", "lamb", "--lr", "0.01", "--layer-lr-decay", "0.8"],
    "muon": ["--optimizer", "muon", "--lr", "0.002", "--clip-norm", "1.0"],
}
CPU = ["--cpu", "--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]


@pytest.fixture
def train(data_bin, repository, tmp_path):
    """A function: (exit status, log) of a training of two processes in the folder `save`, up to an update."""

    def start(optimizer, save, updates, *more, processes=2):
        command = [
            "fairseq-train",
            data_bin,
            "--user-dir",
            repository / "alibert_fairseq",
            "--save-dir",
            tmp_path / save,
        ]
        command += ["--task", "electra", "--criterion", "electra", "--arch", "electra_tiny", "--encoder-layers", "2"]
        command += ["--tokens-per-sample", "64", "--batch-size", "4", *OPTIMIZERS[optimizer], *CPU, *more]
        command += ["--max-update", updates, "--disable-validation", "--no-epoch-checkpoints", "--num-workers", "0"]
        return finish(command, cwd=tmp_path, env=ENVIRONMENT, processes=processes)

    return start


def state_of(path) -> tuple[dict, dict, list]:
    """(weights, moments, step counts)."""
    state = checkpoint_utils.load_checkpoint_to_cpu(str(path / "checkpoint_last.pt"))
    optimizer = state["last_optimizer_state"]
    moments = {(n, name): value for n, found in optimizer["state"].items() for name, value in found.items()}
    return state["model"], moments, [group["step"] for group in optimizer["param_groups"]]


def assert_same(first, second) -> None:
    """torch.equal on every tensor."""
    for ours, theirs in zip(state_of(first)[:2], state_of(second)[:2], strict=True):
        assert ours.keys() == theirs.keys() and len(ours) > 30
        assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
    assert state_of(first)[2] == state_of(second)[2]


@pytest.mark.parametrize("optimizer", long_except(OPTIMIZERS))
def test_the_same_bits_with_and_without_sharding_and_from_one_to_the_other(optimizer, train, tmp_path):
    for save, parts in {
        "plain": [(8, [])],
        "both": [(3, ["--shard-optimizer-state"]), (5, []), (8, ["--shard-optimizer-state"])],
    }.items():
        for updates, more in parts:
            status, log = train(optimizer, save, updates, *more)
            assert status == 0, log[-3000:]
            share = re.search(r"keeps the moments of (\d+) of (\d+) parameters", log)
            assert bool(share) is bool(more)
            if share:
                assert 0.4 < int(share[1]) / int(share[2]) < 0.6
        if save != "plain":
            assert_same(tmp_path / "plain", tmp_path / save)
    assert "gnorm" in log and max(float(norm) for norm in re.findall(r"gnorm (\d+\.\d+)", log)) > 1


def test_a_sharded_run_goes_on_with_one_process(train, tmp_path):
    """Of the same update; the moments are those that were saved."""
    assert train("lamb", "two", 3, "--shard-optimizer-state")[0] == 0
    saved = state_of(tmp_path / "two")
    shutil.copytree(tmp_path / "two", tmp_path / "one")
    status, log = train("lamb", "one", 4, "--update-freq", "2", processes=1)
    assert status == 0, log[-3000:]
    assert state_of(tmp_path / "one")[2] == [step + 1 for step in saved[2]]


def test_one_process_keeps_all_as_it_does_without_sharding(train, tmp_path):
    """So that a recipe with it runs everywhere."""
    assert train("lamb", "plain", 3, processes=1)[0] == 0
    status, log = train("lamb", "alone", 3, "--shard-optimizer-state", processes=1)
    assert status == 0 and "one process keeps the moments of all parameters" in log
    assert_same(tmp_path / "plain", tmp_path / "alone")
