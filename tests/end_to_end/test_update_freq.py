"""Two processes train what one process trains that adds up the gradients of two batches, for every objective."""

import sys

import pytest
import torch
from commands import run
from fairseq import checkpoint_utils
from test_pretraining import ENVIRONMENT, OBJECTIVES, command, free_port, losses


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_two_processes_are_update_freq_2(objective, data_bin, repository, tmp_path):
    short = ["--max-update", "4", "--dropout", "0", "--attention-dropout", "0", "--sample-break-mode", "none"]
    two, one = (command(objective, data_bin, tmp_path / name, repository, *short) for name in ("two", "one"))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", free_port()]
    distributed = ["--cpu", "--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]
    log = run(*torchrun, *two, *distributed, cwd=tmp_path, env=ENVIRONMENT)
    other = run(*one, "--update-freq", "2", cwd=tmp_path, env=ENVIRONMENT)
    assert len(losses(log)) == 4 and losses(log) == pytest.approx(losses(other), abs=0.002)
    weights = [
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / name / "checkpoint_last.pt"))["model"]
        for name in ("two", "one")
    ]
    for name, ours in weights[0].items():
        # four updates move a weight by some 1e-2; what is left is the order of additions, in single precision
        assert torch.allclose(ours, weights[1][name], atol=2e-5), name
