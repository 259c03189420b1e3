"""Ten losses of every objective, to see whether a change of the code changes what is trained.

    python tests/golden/make.py          # writes tests/golden/losses.json
    python tests/golden/make.py --check  # compares instead

The data-bin is made from the shipped sample without any trained tokenizer: a word is an id, so nothing but this
repository, fairseq and torch decides the numbers. Each objective trains ten updates on a CPU in one process and one
thread, without dropout and once with it, with the options below; the losses are those of fairseq's log, in bits, to
three decimals.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from preprocess.databin.fairseq_writer import Writer, id_type

ROOT = Path(__file__).resolve().parents[2]
LOSSES = Path(__file__).with_name("losses.json")
SPECIALS = 4  # <s> <pad> </s> <unk>
WORDS = 1000
# Largest difference, in bits. Another processor or torch adds in another order; in replaced token detection that can
# turn a sample into another, and one label of 500 weighs 50 / 500 nats. Another objective differs by far more.
TOLERANCE = {"replaced token detection": 0.5}
OTHERS = 0.02

SIZE = ["--encoder-layers", "2", "--encoder-embed-dim", "64", "--encoder-ffn-embed-dim", "128"]
SHARED = [
    *SIZE, "--encoder-attention-heads", "2", "--tokens-per-sample", "64", "--batch-size", "8", "--lr", "0.003",
    "--lr-scheduler", "fixed", "--max-update", "10", "--seed", "11",
]  # fmt: skip
WITHOUT_DROPOUT = ["--dropout", "0", "--attention-dropout", "0"]
ADAM = ["--optimizer", "alibert_adam", "--clip-norm", "1.0"]
MASKED_LM = [
    "--task", "alibert_mlm", "--criterion", "alibert_mlm", "--arch", "alibert_tiny", "--embedding-dim", "64", *ADAM,
]  # fmt: skip
PAIRS = [*WITHOUT_DROPOUT, "--task", "segment_pairs", "--criterion", "segment_pairs"]
OBJECTIVES = {
    "masked language modelling": [*WITHOUT_DROPOUT, *MASKED_LM],
    "masked language modelling, dropout": MASKED_LM,
    "masked language modelling, modern body": [
        "--task", "alibert_mlm", "--criterion", "alibert_mlm", "--arch", "alibert_modern_tiny", "--embedding-dim", "64",
        "--optimizer", "muon", "--clip-norm", "1.0",
    ],
    "replaced token detection": [
        *WITHOUT_DROPOUT, "--task", "electra", "--criterion", "electra", "--arch", "electra_tiny",
        "--embedding-dim", "32", *ADAM,
    ],
    "next sentence prediction": [
        *PAIRS, "--sentence-objective", "nsp", "--arch", "segment_bert_tiny", "--embedding-dim", "64",
        "--optimizer", "lamb",
    ],
    "sentence order prediction": [
        *PAIRS, "--sentence-objective", "sop", "--arch", "albert_tiny", "--embedding-dim", "32",
        "--mask-unit", "ngram", "--optimizer", "lamb", "--lamb-no-bias-correction", "--clip-norm", "1.0",
    ],
}  # fmt: skip


def write_data_bin(folder: Path) -> None:
    """Every word of the sample's texts as it stands; the commonest WORDS are ids, the others <unk>."""
    texts = sorted((ROOT / "recipes" / "sample" / "brat").rglob("*.txt"))
    documents = [[line.split() for line in text.read_text(encoding="utf-8").splitlines()] for text in texts]
    counts = Counter(word for document in documents for line in document for word in line)
    words = sorted(counts, key=lambda word: (-counts[word], word))[:WORDS]
    ids = {word: number for number, word in enumerate(words, SPECIALS)}
    (folder / "dict.txt").write_text("".join(f"▁{word} {counts[word]}\n" for word in words), encoding="utf-8")
    dtype = id_type(SPECIALS + len(words))
    for split, part in (("train", documents), ("valid", documents[-5:])):
        with Writer(folder / split, dtype) as writer:
            for number, document in enumerate(part):
                lines = [[ids.get(word, 3) for word in line] + [2] for line in document if line]
                lines = ([[2]] if number else []) + lines
                sizes = np.array([len(line) for line in lines], dtype=np.int32)
                writer.add(np.array([i for line in lines for i in line], dtype), sizes)


def command(options: list[str], data_bin: Path) -> list[str]:
    """A training of ten updates."""
    return [
        shutil.which("fairseq-train", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"),
        str(data_bin), "--user-dir", str(ROOT / "alibert_fairseq"), *SHARED, *options, "--save-dir", str(data_bin),
        "--no-save", "--disable-validation", "--num-workers", "0", "--cpu", "--log-format", "simple",
        "--log-interval", "1",
    ]  # fmt: skip


def log_of(command: list[str], place: Path) -> str:
    """What the training prints."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command, cwd=place, env={**os.environ, "OMP_NUM_THREADS": "1"}, **streams).stdout


def make(names, log_of=log_of) -> dict[str, list[float]]:
    """Losses of the objectives named; `log_of` runs a command in a folder."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write_data_bin(Path(folder))
        for name in names:
            log = log_of(command(OBJECTIVES[name], Path(folder)), Path(folder))
            found[name] = [float(value) for value in re.findall(r"train_inner .*? loss=([\d.]+)", log)]
            if len(found[name]) != 10:
                raise SystemExit(log[-3000:])
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the losses written, and write nothing")
    check = parser.parse_args().check
    losses = make(OBJECTIVES)
    if not check:
        LOSSES.write_text(json.dumps(losses, indent=1) + "\n", encoding="utf-8")
    golden = json.loads(LOSSES.read_text(encoding="utf-8"))
    worst = {name: max(abs(a - b) for a, b in zip(losses[name], golden[name], strict=True)) for name in losses}
    for name, difference in worst.items():
        print(f"{name}: {losses[name][0]} to {losses[name][-1]} bits, largest difference {difference:.3f}")
    sys.exit(any(difference > TOLERANCE.get(name, OTHERS) for name, difference in worst.items()))


if __name__ == "__main__":
    main()
