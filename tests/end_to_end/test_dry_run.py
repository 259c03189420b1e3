"""`launch --dry-run`: AliBERT's cluster on paper, from a few updates on this machine."""

import os
import re
import sys
from pathlib import Path

from forked import finish


def dry_run(recipe, *options, **environment):
    command = [sys.executable, "-m", "alibert_fairseq.launch", recipe, "--dry-run", *options]
    return finish(command, cwd=Path.cwd(), env=environment)


def test_aliberts_twelve_nodes(repository, data_bin, tmp_path):
    """960 x 512 tokens an update, of one layer on the sample's vocabulary. Nothing is left behind."""
    recipe = repository / "recipes" / "pretrain" / "alibert_base.sh"
    options = ["--nodes", "12", "--gpus-per-node", "4", "--requeue", "--logs", str(tmp_path / "logs")]
    fp16 = ["--", "--fp16", "--arch", "alibert_tiny", "--required-batch-size-multiple", "2"]
    fp16 += ["--encoder-layers", "1", "--encoder-embed-dim", "256", "--encoder-ffn-embed-dim", "1024"]
    own = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(repository), "CUDA_VISIBLE_DEVICES": ""}
    status, said = dry_run(recipe, *options, *fp16, **own, DATA_BIN=str(data_bin), SAVE_DIR=str(tmp_path / "save"))
    assert status == 0 and "world size   48" in said and "#SBATCH --nodes=12" in said, said
    assert "update       960 x 512 tokens: 48 GPUs x 20 = 960 sequences, 491,520 tokens" in said
    assert "GiB (counted, without --fp16)" in said
    (kept,) = re.search(r"\b1 M parameters, .* optimizer 0\.0 GiB, activations ([\d.]+) GiB", said).groups()
    assert 0.1 <= float(kept) < 0.4
    tflop = float(re.search(r"\(([\d.]+) TFLOP at 100", said)[1])
    # 6 x (0.1 M of keys and values + 15 % of the other 0.7 M) x 10,240 tokens, and the attention and the vocabulary
    assert 0.005 < tflop < 0.03  # some sequences that are read are short
    assert not (tmp_path / "save").exists() and not (tmp_path / "logs").exists()
    status, said = dry_run(recipe, *options, **{name: value for name, value in own.items() if name != "DATA_BIN"})
    assert status == 1
    assert said.splitlines()[-1].startswith("no estimate: the recipe says: error: DATA_BIN is not set")
