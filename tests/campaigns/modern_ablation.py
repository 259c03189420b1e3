"""What each choice of the modern form is worth: each taken away once, at equal minutes.

    python tests/campaigns/modern_ablation.py DATA_BIN TOKENIZER DATA --output ablation [--minutes 5] [--seeds 3]
        [--sizes tiny small] [--only WORD ...] [--core 0]

DATA_BIN, TOKENIZER: of tests/campaigns/speedrun.sh. DATA: a folder with QUAERO below it. Each row of PRETRAINING is
recipes/pretrain/tiny_modern.sh with other options, for so many minutes on one core; then held-out bits, and F1 of the
tagger on the dev sets of QUAERO. Each row of FINE_TUNING takes something from the tagger over the first encoder of each
size. A second call resumes: what is done is not done again. Prints two tables of Markdown: mean and standard deviation.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from math import nan
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETS = ("quaero_emea", "quaero_medline")
MUON = {"--optimizer", "--lr", "--muon-lr", "--muon-weight-decay"}
# What is taken from the recipe's options, and what is given.
PRETRAINING: dict[str, tuple[set[str], list[str]]] = {
    "the recipe": (set(), []),
    "BERT's body": (
        {"--max-positions"},
        "--arch alibert_{size} --position-init sinusoidal --output-bias unigram --dropout 0 --attention-dropout 0 "
        "--max-positions 128".split(),
    ),
    "Adam in place of Muon": (
        MUON,
        "--optimizer alibert_adam --alibert-adam-betas 0.9,0.98 --lr 3e-3 --weight-decay 0.01".split(),
    ),
    "LAMB in place of Muon": (MUON, "--optimizer lamb --lr 1e-2 --weight-decay 0.01".split()),
    "output bias of zeros": (set(), ["--output-bias", "zero"]),
    "linear decay from the start": (
        {"--lr-scheduler"},
        "--lr-scheduler polynomial_decay".split(),
    ),
    "masking rate of 0.15": ({"--mask-prob", "--mask-prob-end"}, ["--mask-prob", "0.15"]),
    "masking rate of 0.30": ({"--mask-prob-end"}, []),
    "blocks of 128 from the start": ({"--length-schedule"}, []),
    "the average of the weights": (set(), ["--store-ema", "--ema-decay", "0.99"]),
    "z-loss": (set(), ["--z-loss", "1e-4"]),
}
NOT_COMPARED = ("masking rate of 0.30", "the average of the weights")  # bits of other masks, and of the last weights
BEFORE = """
import torch
from downstream.learners import chain_crf, tagger, tagger_network as network
of = network.TaggerNetwork
"""
INDEPENDENT = """
def loss(self, scores, real, continues, tags):
    return torch.nn.functional.cross_entropy(scores[real].flatten(0, -2), tags[real].flatten())
def best(self, scores, real, continues):
    return scores.argmax(-1)
chain_crf.ChainCrf.loss, chain_crf.ChainCrf.best = loss, best
"""
TAGGER = ["--form", "tagger", "--protocol", "tagger"]
FINE_TUNING = {  # options of downstream.finetune, and what is done to the network before
    "the tagger": (TAGGER, ""),
    "the protocol cpu's rates": ([*TAGGER, "--set", "learning_rate=5e-4", "--set", "head_learning_rate=1e-2"], ""),
    "without characters": (TAGGER, "whole = of._characters\nof._characters = lambda *a: 0 * whole(*a)"),
    "without features": (TAGGER, "whole_features = of._features\nof._features = lambda *a: 0 * whole_features(*a)"),
    "without transitions": (TAGGER, INDEPENDENT),
    "without pooling": (TAGGER, "of._pooled = staticmethod(lambda states, words: (states[words.first],) * 2)"),
    "without hidden subwords": (TAGGER, "network.TOKEN_DROPOUT = 0.0"),
    "without a dearer O": (TAGGER, "tagger.OUTSIDE = ()"),
    "without the scores of a document": (TAGGER, "tagger.SHARES = (0.0,)"),
    "without replaced words": ([*TAGGER, "--set", "replaced_words=0.0"], ""),
    "the plain head": (["--protocol", "cpu"], ""),
}


def recipe_options(size: str) -> list[tuple[str, list[str]]]:
    """The options of tiny_modern.sh, each with its values, as it would call fairseq-train."""
    stub = 'fairseq-train() { printf "%s\\n" "$@"; }'
    script = (ROOT / "recipes" / "pretrain" / "tiny_modern.sh").read_text()
    shared = f'. "{ROOT}/recipes/pretrain/shared.bash"\n{stub}'
    script = re.sub(r'^\. "\$\(dirname.*$', lambda _: shared, script, flags=re.MULTILINE)
    own = os.environ | {"DATA_BIN": "DATA", "SAVE_DIR": "SAVE"}
    said = subprocess.run(["bash", "-c", script], env=own, capture_output=True, text=True, check=True).stdout
    pairs: list[tuple[str, list[str]]] = []
    for word in said.split("\n")[1:-1]:
        if word.startswith("--"):
            pairs.append((word, []))
        else:
            pairs[-1][1].append(word)
    fixed = [(name, values) for name, values in pairs if name not in ("--save-dir", "--arch")]
    return [("--arch", [f"alibert_modern_{size}"]), *fixed]


def pretrain(row: str, size: str, seed: int, options: argparse.Namespace, place: Path) -> float:
    """Train and export; held-out bits at the end, of 60 batches."""
    log = place / "log"
    if not (place / "model").exists():
        place.mkdir(parents=True, exist_ok=True)
        left_out, more = PRETRAINING[row]
        words = [word for name, values in recipe_options(size) if name not in left_out for word in (name, *values)]
        words += [word.format(size=size) for word in more]
        words += ["--seed", str(seed), "--budget-minutes", str(options.minutes), "--save-dir", str(place / "save")]
        words += ["--max-valid-steps", "60"]
        run(["fairseq-train", str(options.data_bin), *words], log, options.core)
        export = ["--checkpoint", place / "save" / "checkpoint_last.pt", "--tokenizer", options.tokenizer]
        export += ["--average"] * ("--store-ema" in more)
        run(
            [sys.executable, "-m", "alibert_fairseq.hf.export", *export, "--output", place / "model"], log, options.core
        )
    found = re.findall(r"valid on 'valid' subset \| loss ([\d.]+)", log.read_text())
    return nan if row in NOT_COMPARED else float(found[-1])


def fine_tune(row: str, model: Path, name: str, options: argparse.Namespace, output: Path) -> float:
    """F1 on dev, one seed."""
    form, before = FINE_TUNING[row]
    if not output.exists():
        words = [str(ROOT / "recipes" / "finetune" / f"{name}.yaml"), "--data", options.data, "--model", model, *form]
        words += ["--dev-only", "--seeds", "1", "--output", output]
        code = f"{BEFORE}{before}\nfrom downstream import finetune\nfinetune.main()"
        output.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-c", code, *words], output.with_suffix(".log"), options.core)
    return json.loads((output / "seed-1" / "metrics.json").read_text())["dev"]["micro"]["f1"]


def run(words: list, log: Path, core: int) -> None:
    """Run on one core, all that is said to the log. Raises SystemExit when it fails."""
    own = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    # glibc gives the large blocks of every batch back to the system and fetches them anew
    own |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": "268435456"}
    with open(log, "a") as said:
        done = subprocess.run(["taskset", "-c", str(core), *map(str, words)], env=own, stdout=said, stderr=said)
    if done.returncode:
        raise SystemExit(f"error: {words[0]} ended with {done.returncode}; its output is in {log}.")


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{statistics.mean(values):.3f}" + (f" ± {statistics.stdev(values):.3f}" if values[1:] else "")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    for name in ("data_bin", "tokenizer", "data"):
        add(name, type=lambda text: Path(text).resolve())
    add("--output", type=lambda text: Path(text).resolve(), required=True)
    add("--minutes", type=float, default=5, help="of each pretraining (default: 5)")
    add("--seeds", type=int, default=3, help="pretrainings of each row (default: 3)")
    add("--sizes", nargs="+", default=["tiny", "small"], help="(default: tiny small)")
    add("--only", nargs="+", default=[], help="rows that hold one of these words (default: all)")
    add("--core", type=int, default=0, help="core that trains (default: 0)")
    options = parser.parse_args()

    def rows(table):
        return [row for row in table if not options.only or any(word in row for word in options.only)]

    print("| pretraining | size | bits | EMEA | MEDLINE |\n|---|---|---|---|---|")
    for size in options.sizes:
        for row in rows(PRETRAINING):
            found: list[list[float]] = []
            for seed in range(1, options.seeds + 1):
                place = options.output / size / re.sub(r"\W+", "-", row) / str(seed)
                bits = pretrain(row, size, seed, options, place)
                scores = [fine_tune("the tagger", place / "model", name, options, place / name) for name in SETS]
                found.append([bits, *scores])
            columns = " | ".join(spread(list(column)) for column in zip(*found, strict=True))
            print(f"| {row} | {size} | {columns} |", flush=True)
    print("\n| fine-tuning | size | EMEA | MEDLINE |\n|---|---|---|---|")
    for size in options.sizes:
        for row in rows(FINE_TUNING):
            models = [options.output / size / "the-recipe" / str(seed) for seed in range(1, options.seeds + 1)]
            word = re.sub(r"\W+", "-", row)
            columns = " | ".join(
                spread([fine_tune(row, m / "model", n, options, m / word / n) for m in models]) for n in SETS
            )
            print(f"| {row} | {size} | {columns} |", flush=True)


if __name__ == "__main__":
    main()
