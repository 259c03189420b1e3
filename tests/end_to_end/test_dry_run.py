"""`launch --dry-run`: AliBERT's cluster on paper, from a few updates on this machine."""

import os
import re
import subprocess
import sys


def dry_run(recipe, *options, **environment):
    command = [sys.executable, "-m", "alibert_fairseq.launch", str(recipe), "--dry-run", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)


def test_aliberts_twelve_nodes(repository, data_bin, tmp_path):
    """960 x 512 tokens an update; BERT-base on the sample's vocabulary. Nothing is left behind."""
    recipe = repository / "recipes" / "pretrain" / "alibert_base.sh"
    options = ["--nodes", "12", "--gpus-per-node", "4", "--requeue", "--logs", str(tmp_path / "logs")]
    fp16 = ["--", "--fp16"]
    own = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(repository), "CUDA_VISIBLE_DEVICES": ""}
    done = dry_run(recipe, *options, *fp16, **own, DATA_BIN=str(data_bin), SAVE_DIR=str(tmp_path / "save"))
    assert done.returncode == 0 and "world size   48" in done.stdout and "#SBATCH --nodes=12" in done.stdout
    assert "update       960 x 512 tokens: 48 GPUs x 20 = 960 sequences, 491,520 tokens" in done.stdout
    assert "GiB (counted, without --fp16)" in done.stdout
    held, kept = re.search(
        r"8[67] M parameters, .* optimizer ([\d.]+) GiB, activations ([\d.]+) GiB", done.stdout
    ).groups()
    # four numbers of four bytes a parameter, and its copy of two for bfloat16
    assert 1.25 < float(held) < 1.6 and 2 < float(kept) < 8
    tflop = float(re.search(r"\(([\d.]+) TFLOP at 100", done.stdout)[1])
    assert 5 < tflop < 6.5  # 6 x 85 M x 10,240 tokens = 5.2, and the attention and the vocabulary
    assert not (tmp_path / "save").exists() and not (tmp_path / "logs").exists()
    without = dry_run(recipe, *options, **{name: value for name, value in own.items() if name != "DATA_BIN"})
    assert without.returncode == 1
    assert without.stdout.splitlines()[-1].startswith("no estimate: the recipe says: error: DATA_BIN is not set")
