"""A training of seconds: a data-bin of random words, and the options of a model of 4,000 weights."""

import os
import random
import sys
from pathlib import Path

from forked import run

SCRIPTS = Path(sys.executable).parent
OPTIONS = [
    "--task", "alibert_mlm", "--criterion", "alibert_mlm", "--arch", "alibert_tiny", "--encoder-layers", "1",
    "--encoder-embed-dim", "8", "--encoder-ffn-embed-dim", "8", "--encoder-attention-heads", "2",
    "--embedding-dim", "8", "--tokens-per-sample", "32", "--max-positions", "32", "--optimizer", "alibert_adam",
    "--lr", "0.01", "--lr-scheduler", "polynomial_decay", "--warmup-updates", "2", "--total-num-update", "20",
    "--batch-size", "4", "--num-workers", "0", "--seed", "7", "--log-format", "simple", "--log-interval", "1",
    "--disable-validation", "--no-epoch-checkpoints", "--cpu",
]  # fmt: skip
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def make_data_bin(folder: Path) -> Path:
    """Always the same."""
    draw = random.Random(1)
    lines = [" ".join(f"w{draw.randrange(20)}" for _ in range(draw.randrange(5, 30))) for _ in range(60)]
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "fairseq_cli.preprocess", "--only-source", "--destdir", folder / "bin"]
    command += ["--workers", "1", "--trainpref", folder / "train.txt", "--validpref", folder / "train.txt"]
    run(*command, cwd=folder, env=ENVIRONMENT)
    return folder / "bin"
