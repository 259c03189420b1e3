"""A run that began at commit 057498c resumes to the same losses.

checkpoint_057498c.pt is update 6 of `tiny_training.OPTIONS` with `--max-update 10 --save-interval-updates 6`. The code
of that commit trained it. LOSSES are those of updates 7 to 10, as the code of commit e5fb6c8 resumes it without
dropout.
"""

import json
import shutil
from pathlib import Path

import pytest
from forked import run
from tiny_training import ENVIRONMENT, OPTIONS, SCRIPTS, make_data_bin

CHECKPOINT = Path(__file__).with_name("checkpoint_057498c.pt")
LOSSES = [4.633, 4.239, 4.474, 4.455]


def test_it_resumes(repository, tmp_path):
    data_bin = make_data_bin(tmp_path)
    (tmp_path / "save").mkdir()
    shutil.copy(CHECKPOINT, tmp_path / "save" / "checkpoint_last.pt")
    command = [SCRIPTS / "fairseq-train", data_bin, "--user-dir", repository / "alibert_fairseq", *OPTIONS]
    command += ["--save-dir", tmp_path / "save", "--max-update", "10", "--dropout", "0", "--attention-dropout", "0"]
    run(*command, env=ENVIRONMENT, cwd=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "save" / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == [7, 8, 9, 10]
    assert [line["loss"] for line in lines] == pytest.approx(LOSSES, abs=0.002)
