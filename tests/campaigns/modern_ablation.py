"""What each choice of the modern form is worth: each taken away once, at equal minutes.

    python tests/campaigns/modern_ablation.py DATA_BIN TOKENIZER DATA --output ablation [--minutes 3] [--seeds 3]
        [--widths 128 256] [--only WORD ...] [--core 0] [--parts pretraining optimizers batches fine-tuning]

DATA_BIN, TOKENIZER: of tests/campaigns/speedrun.sh. DATA: a folder with QUAERO below it. Each row of PRETRAINING is
recipes/pretrain/tiny_modern.sh with other options, for so many minutes on one core. Its figures are updates, and bits a
masked token of held-out text, which is the same for all rows. OPTIMIZERS has Adam, LAMB and Muon at several learning
rates, BATCHES has batches that grow with the epoch. Each row of FINE_TUNING takes something from the tagger over the
encoders of the first row; its figures are F1 on the dev sets of QUAERO. A second call resumes: what is done is not done
again. Prints tables of Markdown: mean and standard deviation.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

from held_out_bits import held_out

ROOT = Path(__file__).resolve().parents[2]
SETS = ("quaero_emea", "quaero_medline")
MUON = {"--optimizer", "--lr", "--muon-lr", "--muon-weight-decay"}
# What is taken from the recipe's options, and what is given.
PRETRAINING: dict[str, tuple[set[str], list[str]]] = {
    "the recipe": (set(), []),
    "BERT's body": (
        {"--max-positions"},
        "--arch alibert_tiny --position-init sinusoidal --dropout 0 --attention-dropout 0 "
        "--max-positions 128 --encoder-ffn-embed-dim {ffn}".split(),
    ),
    "Adam in place of Muon": (
        MUON,
        "--optimizer alibert_adam --alibert-adam-betas 0.9,0.98 --lr 3e-3 --weight-decay 0.01".split(),
    ),
    "LAMB in place of Muon": (MUON, "--optimizer lamb --lr 1e-2 --weight-decay 0.01".split()),
    "output bias of word frequencies": (set(), ["--output-bias", "unigram"]),
    "linear decay from the start": (
        {"--lr-scheduler"},
        "--lr-scheduler polynomial_decay".split(),
    ),
    "masking rate of 0.15": ({"--mask-prob"}, ["--mask-prob", "0.15"]),
    "masking rate from 0.30 to 0.15": (set(), ["--mask-prob-end", "0.15"]),
    "blocks of 128 from the start": ({"--length-schedule"}, []),
    "the average of the weights": (set(), ["--store-ema", "--ema-decay", "0.99"]),
    "z-loss": (set(), ["--z-loss", "1e-4"]),
    "one to three words masked together": (set(), ["--mask-unit", "ngram"]),
    "every 16th update predicts the next token": (set(), ["--causal-share", "0.0625"]),
}
OPTIMIZERS = {
    f"{name}, {rate}": (MUON, options.format(rate=rate).split())
    for name, rates, options in (
        ("Adam", ("3e-4", "1e-3", "3e-3"),
         "--optimizer alibert_adam --alibert-adam-betas 0.9,0.98 --lr {rate} --weight-decay 0.01"),
        ("LAMB", ("5e-3", "1e-2", "2e-2"), "--optimizer lamb --lr {rate} --weight-decay 0.01"),
        ("Muon", ("0.01", "0.02", "0.04"), "--optimizer muon --lr 3e-3 --muon-lr {rate} --muon-weight-decay 0.2"),
    )
    for rate in rates
}  # fmt: skip
# fairseq's --update-freq changes with the epoch, so an epoch is a tenth of the speedrun's.
SHORT_EPOCHS = "bdpm_notices=0.02,pamj_cas_cliniques=0.6,tico19_fr=0.4,mesconseilscovid=0.4,hpo_fr=0.3"
BATCHES = {
    name: (set(), ["--mix-weights", SHORT_EPOCHS, *options.split()])
    for name, options in (
        ("2,048 tokens an update", ""),
        ("1,024, 2,048 and 4,096 tokens", "--batch-size 8 --update-freq 1,2,4"),
    )
}
WIDTHS = {
    "128": [],
    "256": "--encoder-embed-dim 256 --encoder-ffn-embed-dim 688 --encoder-attention-heads 4".split(),
}
BATCH = ["--batch-size", "16"]  # half of the recipe's: some minutes are better spent on more updates
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
    "the rates of the protocol cpu": ([*TAGGER, "--set", "learning_rate=5e-4", "--set", "head_learning_rate=1e-2"], ""),
    "learning rates by layer, 0.8": ([*TAGGER, "--set", "layer_decay=0.8"], ""),
    "without characters": (TAGGER, "whole = of._characters\nof._characters = lambda *a: 0 * whole(*a)"),
    "without features of words": (TAGGER, "features = of._features\nof._features = lambda *a: 0 * features(*a)"),
    "without the count of a word": (TAGGER, "tagger.how_often = lambda words: [0] * len(words)"),
    "without a CRF": (TAGGER, INDEPENDENT),
    "without pooling": (TAGGER, "of._pooled = staticmethod(lambda states, words: (states[words.first],) * 2)"),
    "without hidden subwords": (TAGGER, "network.TOKEN_DROPOUT = 0.0"),
    "without the penalty on O": (TAGGER, "tagger.OUTSIDE = ()"),
    "without the scores of a document": (TAGGER, "tagger.SHARES = (0.0,)"),
    "without replaced words": ([*TAGGER, "--set", "replaced_words=0.0"], ""),
    "the plain head": (["--protocol", "cpu"], ""),
}


def recipe_options() -> list[tuple[str, list[str]]]:
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
    return [(name, values) for name, values in pairs if name != "--save-dir"]


def pretrain(row: str, width: str, seed: int, options: argparse.Namespace, place: Path) -> tuple[float, float]:
    """Train and export; updates, and held-out bits of what is exported."""
    log = place / "log"
    if not (place / "model").exists():
        place.mkdir(parents=True, exist_ok=True)
        left_out, more = (PRETRAINING | OPTIMIZERS | BATCHES)[row]
        words = [word for name, values in recipe_options() if name not in left_out for word in (name, *values)]
        words += [*BATCH, *WIDTHS[width], *(word.format(ffn=4 * int(width)) for word in more)]
        words += ["--seed", str(seed), "--budget-minutes", str(options.minutes), "--save-dir", str(place / "save")]
        words += ["--disable-validation", "--bf16-autocast", "--muon-bf16"][: 3 if "--muon-lr" in words else 2]
        run(["fairseq-train", str(options.data_bin), *words], log, options.core)
        export = ["--checkpoint", place / "save" / "checkpoint_last.pt", "--tokenizer", options.tokenizer]
        export += ["--average"] * ("--store-ema" in more)
        run(
            [sys.executable, "-m", "alibert_fairseq.hf.export", *export, "--output", place / "model"], log, options.core
        )
        for file in (place / "save").glob("*.pt"):
            file.unlink()
    found = place / "bits.json"
    if not found.exists():
        updates = re.findall(r"@ (\d+) updates", log.read_text())[-1]
        found.write_text(json.dumps([int(updates), held_out(place / "model", options.data_bin)[0]]))
    return tuple(json.loads(found.read_text()))


def fine_tune(row: str, model: Path, name: str, options: argparse.Namespace, output: Path) -> float:
    """F1 on dev, one seed."""
    form, before = FINE_TUNING[row]
    metrics = output / "seed-1" / "metrics.json"
    if not metrics.exists():
        words = [str(ROOT / "recipes" / "finetune" / f"{name}.yaml"), "--data", options.data, "--model", model, *form]
        words += ["--dev-only", "--seeds", "1", "--output", output]
        code = f"{BEFORE}{before}\nfrom downstream import finetune\nfinetune.main()"
        output.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-c", code, *words], output.with_suffix(".log"), options.core)
    return json.loads(metrics.read_text())["dev"]["micro"]["f1"]


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
    """Mean and standard deviation; updates are whole numbers."""
    digits = 0 if isinstance(values[0], int) else 3
    return f"{statistics.mean(values):.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if values[1:] else "")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    for name in ("data_bin", "tokenizer", "data"):
        add(name, type=lambda text: Path(text).resolve())
    add("--output", type=lambda text: Path(text).resolve(), required=True)
    add("--minutes", type=float, default=3, help="of each pretraining (default: 3)")
    add("--seeds", type=int, default=3, help="pretrainings of each row (default: 3)")
    add("--widths", nargs="+", choices=WIDTHS, default=list(WIDTHS), help="(default: 128 256)")
    add("--only", nargs="+", default=[], help="rows that hold one of these words (default: all)")
    add("--core", type=int, default=0, help="core that trains (default: 0)")
    add(
        "--parts",
        nargs="+",
        default=["pretraining", "fine-tuning"],
        help="tables to make, also optimizers and batches (default: pretraining fine-tuning)",
    )
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    for part, rows in (("pretraining", PRETRAINING), ("optimizers", OPTIMIZERS), ("batches", BATCHES)):
        if part in options.parts:
            table_of_pretraining(rows_of(rows, options), options)
    if "fine-tuning" in options.parts:
        table_of_fine_tuning(options)


def place_of(row: str, width: str, seed: int, options: argparse.Namespace) -> Path:
    """The folder of one pretraining."""
    return options.output / width / re.sub(r"\W+", "-", row) / str(seed)


def rows_of(table: dict, options: argparse.Namespace) -> list[str]:
    """The rows that are asked for."""
    return [row for row in table if not options.only or any(word in row for word in options.only)]


def table_of_pretraining(rows: list[str], options: argparse.Namespace) -> None:
    """Seeds outermost, so that what else the machine does is spread over the rows."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(1, options.seeds + 1):
        for width in options.widths:
            for row in rows:
                pair = pretrain(row, width, seed, options, place_of(row, width, seed, options))
                found.setdefault((row, width), []).append(pair)
    print("| pretraining | width | updates | bits |\n|---|---|---|---|")
    for (row, width), pairs in found.items():
        columns = " | ".join(spread(list(column)) for column in zip(*pairs, strict=True))
        print(f"| {row} | {width} | {columns} |")


def table_of_fine_tuning(options: argparse.Namespace) -> None:
    """One training for each encoder of the first row."""
    print("| fine-tuning | width | EMEA | MEDLINE |\n|---|---|---|---|")
    for width in options.widths:
        for row in rows_of(FINE_TUNING, options):
            places = [place_of("the recipe", width, seed, options) for seed in range(1, options.seeds + 1)]
            word = re.sub(r"\W+", "-", row)
            columns = " | ".join(
                spread([fine_tune(row, place / "model", name, options, place / word / name) for place in places])
                for name in SETS
            )
            print(f"| {row} | {width} | {columns} |", flush=True)


if __name__ == "__main__":
    main()
