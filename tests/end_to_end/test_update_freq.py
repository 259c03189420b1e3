"""Two processes train what one process trains that adds up the gradients of two batches, for every objective."""

import pytest
import torch
from fairseq import checkpoint_utils
from forked import run
from long_cases import long_except
from test_pretraining import ENVIRONMENT, command, losses


@pytest.mark.parametrize("objective", long_except(["sop", "modern", "electra_modern"], "sop", "electra_modern"))
def test_two_processes_are_update_freq_2(objective, data_bin, repository, tmp_path):
    assert_same_training(objective, data_bin, repository, tmp_path, ["--max-update", "4"], processes_batches=1)


def test_the_last_update_of_an_epoch_counts_every_sample(data_bin, repository, tmp_path):
    """11 batches, 4 an update: the last one has two batches of one process, one and an empty one of the other."""
    epoch = ["--train-subset", "valid", "--max-epoch", "1", "--batch-size", "6"]
    assert assert_same_training("mlm", data_bin, repository, tmp_path, epoch, processes_batches=2) == 3


def assert_same_training(objective, data_bin, repository, tmp_path, short, processes_batches) -> int:
    """The number of updates that two processes made, of one batch an update or of more."""
    short = [*short, "--dropout", "0", "--attention-dropout", "0", "--sample-break-mode", "none"]
    two, one = (command(objective, data_bin, tmp_path / name, repository, *short) for name in ("two", "one"))
    distributed = ["--cpu", "--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]
    batches = ["--update-freq", str(processes_batches)]
    log = run(*two, *distributed, *batches, cwd=tmp_path, env=ENVIRONMENT, processes=2)
    other = run(*one, "--update-freq", str(2 * processes_batches), cwd=tmp_path, env=ENVIRONMENT)
    assert losses(log) and losses(log) == pytest.approx(losses(other), abs=0.002)
    weights = [
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / name / "checkpoint_last.pt"))["model"]
        for name in ("two", "one")
    ]
    for name, ours in weights[0].items():
        # four updates move a weight by some 1e-2; what is left is the order of additions, in single precision
        assert torch.allclose(ours, weights[1][name], atol=2e-5), name
    return len(losses(log))
