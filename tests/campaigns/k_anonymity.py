"""What does k-anonymous training hide, and what does it cost? The results are in docs/results/k_anonymity.md.

    python tests/campaigns/k_anonymity.py DATA --output k-anonymity [--updates 600] [--seeds 3] [--k 1 2 5 10]

DATA is the folder with fr_raw and fr_ner. The text is the cases and the advice, with 24 canaries in 1, in 4,
in 9 and in 64 documents. Each document counts as a patient. For each k, tokenizer, data-bin and proof are
made with --min-patients k (none for 1). recipes/pretrain/tiny_modern.sh trains on them with each seed, on
a core of its own. Each model is fine-tuned on QUAERO's EMEA part. The second table counts what may be
learned of the secrets where shorter runs of words count. What is finished is not made again.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/helpers"))
from recipe_helpers import arguments_of  # noqa: E402

from alibert_fairseq.audit.exposure import exposures, probes_of  # noqa: E402
from alibert_fairseq.audit.word_scores import WordScorer  # noqa: E402
from alibert_fairseq.data.dictionary import load_dictionary  # noqa: E402
from alibert_fairseq.hf.checkpoint import read_checkpoint  # noqa: E402
from alibert_fairseq.lineage.documents import train_prefixes  # noqa: E402
from preprocess.canaries.canaries import SOURCE, read_canaries  # noqa: E402
from preprocess.databin.document_records import read_records  # noqa: E402
from preprocess.databin.predictable import Predictable  # noqa: E402
from preprocess.databin.split_reader import document_places, token_ids  # noqa: E402
from preprocess.tokenizer.load import load_tokenizer  # noqa: E402

RECIPE = ROOT / "recipes/pretrain/tiny_modern.sh"
BINARIZE = [sys.executable, "-m", "preprocess.binarize"]
CANARIES = ["--canaries", 24, "--canary-copies", "1,4,9,64"]


def run(*words: object, done: Path | None = None, log: Path | None = None) -> None:
    """Run a command of this project, unless `done` is there."""
    if done and done.exists():
        return
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True)
    if log:
        log.write_text(result.stdout + result.stderr, encoding="utf-8")
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


def make_text(data: Path, output: Path) -> None:
    """The mixed documents."""
    output.mkdir(parents=True, exist_ok=True)
    texts = [data / f"fr_raw/{name}.txt" for name in ("pamj_cas_cliniques", "mesconseilscovid")]
    stage = [sys.executable, "-m"]
    run(*stage, "preprocess.ingest", *texts, "--output", output / "documents")
    run(*stage, "preprocess.deduplicate", output / "documents", "--output", output / "unique")
    run(*stage, "preprocess.mix", output / "unique", "--output", output / "mixed", "--valid", "0.05")


def make_data_bin(output: Path, k: int) -> Path:
    """Tokenizer, data-bin and the check of the proof."""
    place, stage = output / f"k{k}", [sys.executable, "-m"]
    place.mkdir(exist_ok=True)
    rule = ["--min-patients", k] if k > 1 else []
    mixed, tokenizer, data_bin = output / "mixed", place / "tokenizer", place / "data-bin"
    run(*stage, "preprocess.train_tokenizer", mixed, "--output", tokenizer, "--vocab-size", 2000, *rule)
    run(*BINARIZE, "--tokenizer", tokenizer, "--mix", mixed, "--output", data_bin, *rule, *CANARIES)
    if rule:
        run(*stage, "preprocess.check_anonymity", data_bin, log=place / "check.log")
    return data_bin


def train(data: Path, data_bin: Path, place: Path, seed: int, updates: int) -> None:
    """Pretrain, export and fine-tune."""
    save = place / f"checkpoints-{seed}"
    options = ["--max-update", updates, "--total-num-update", updates, "--seed", seed, "--distributed-world-size", 1]
    options += ["--cpu", "--num-workers", 0, "--no-epoch-checkpoints", "--disable-validation", "--log-interval", 200]
    place.mkdir(exist_ok=True)
    words = arguments_of(RECIPE, place, *map(str, options), DATA_BIN=str(data_bin), SAVE_DIR=str(save))
    stage, model, scores = [sys.executable, "-m"], place / f"model-{seed}", place / f"quaero-{seed}"
    run("fairseq-train", *words, done=model)
    checkpoint = ["--checkpoint", save / "checkpoint_last.pt", "--tokenizer", data_bin]
    run(*stage, "alibert_fairseq.hf.export", *checkpoint, "--output", model, done=model)
    finetune = [*stage, "downstream.finetune", ROOT / "recipes/finetune/quaero_emea.yaml", "--protocol", "quickstart"]
    task = ["--data", data / "fr_ner/quaero", "--model", model, "--seeds", 1, "--output", scores]
    run(*finetune, *task, done=scores / "metrics.json")


def exposure(data_bin: Path, checkpoint: Path) -> dict[int, list[float]]:
    """{copies: the exposure of each canary}."""
    dictionary, canaries = load_dictionary(data_bin), read_canaries(data_bin)
    probes = probes_of(canaries, load_tokenizer(data_bin), dictionary.bos(), dictionary.eos(), seed=1)
    bits = exposures(WordScorer(read_checkpoint(checkpoint, dictionary)), probes)
    found: dict[int, list[float]] = {}
    for canary, value in zip(canaries, bits.tolist(), strict=True):
        found.setdefault(canary.copies, []).append(value)
    return found


def mean_with_interval(values: np.ndarray) -> str:
    """The mean and the interval of 95 % by the bootstrap over canaries, whose values are means over seeds."""
    drawn = np.random.default_rng(1).choice(values, (2000, len(values))).mean(1)
    return f"{np.mean(values):.2f} [{np.quantile(drawn, 0.025):.2f}, {np.quantile(drawn, 0.975):.2f}]"


def table(output: Path, ks: Sequence[int], seeds: int) -> str:
    """Exposure by copies, F1 and the share of tokens that may be learned."""
    rows = []
    for k in ks:
        place = output / f"k{k}"
        several = [
            exposure(place / "data-bin", place / f"checkpoints-{s}/checkpoint_last.pt") for s in range(1, seeds + 1)
        ]
        cells = [mean_with_interval(np.mean([one[copies] for one in several], axis=0)) for copies in several[0]]
        scores = [
            json.loads((place / f"quaero-{s}/metrics.json").read_text())["test"]["micro"]["f1"]["mean"]
            for s in range(1, seeds + 1)
        ]
        counts = json.loads((place / "data-bin/manifest.json").read_text()).get("anonymity")
        share = f"{counts['predictable_tokens'] / counts['tokens']:.1%}" if counts else "100 %"
        rows.append([str(k), share, *cells, f"{np.mean(scores):.3f} ± {np.std(scores, ddof=1):.3f}"])
    head = ["k", "tokens that may be learned", *(f"exposure, {copies}" for copies in several[0]), "QUAERO EMEA, F1"]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def secrets_table(output: Path, ks: Sequence[int]) -> str:
    """By k and the longest runs that count: tokens that may be learned, of all text and of the secrets by copies."""
    head, rows = ["k", "runs of up to", "of all text"], []
    for k, words in product(ks, (1, 2, 3)):
        data_bin = output / f"k{k}/words-{words}"
        rule = ["--tokenizer", output / f"k{k}/tokenizer", "--min-patients", k, "--ngram-words", words]
        run(*BINARIZE, "--mix", output / "mixed", "--output", data_bin, *rule, *CANARIES, done=data_bin)
        counts, shares = json.loads((data_bin / "manifest.json").read_text())["anonymity"], learned_secrets(data_bin)
        all_text = counts["predictable_tokens"] / counts["tokens"]
        rows.append([str(k), str(words), *(f"{share:.1%}" for share in (all_text, *shares.values()))])
    head += [f"secrets in {copies}" for copies in shares]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def learned_secrets(data_bin: Path) -> dict[int, float]:
    """{copies: the share of the tokens of secrets that may be learned}."""
    [split] = [prefix for prefix in train_prefixes(data_bin) if next(read_records(prefix)).source == SOURCE]
    canaries = {canary.id: canary for canary in read_canaries(data_bin)}
    tokenizer, ids, marks = load_tokenizer(data_bin), token_ids(split).tolist(), Predictable(split)
    found: dict[int, list[float]] = {canary.copies: [] for canary in canaries.values()}
    for record, (first, end) in zip(read_records(split), document_places(split).tolist(), strict=True):
        canary = canaries[record.id.rpartition("-copy-")[0]]
        secret = tokenizer.encode(canary.secret, add_special_tokens=False).ids
        place = next(at for at in range(first, end) if ids[at : at + len(secret)] == secret)
        found[canary.copies].append(float(marks.between(place, place + len(secret)).mean()))
    return {copies: float(np.mean(shares)) for copies, shares in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--k", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time (default: 2)")
    options = parser.parse_args()
    data, output = options.data.absolute(), options.output.absolute()
    make_text(data, output)
    data_bins = {k: make_data_bin(output, k) for k in options.k}
    jobs = [(k, seed) for seed in range(1, options.seeds + 1) for k in options.k]
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(
            lambda job: train(data, data_bins[job[0]], output / f"k{job[0]}", job[1], options.updates), jobs
        ):
            print("one more model is trained and scored", flush=True)
    print(table(output, options.k, options.seeds))
    print(secrets_table(output, [k for k in options.k if k > 1]))


if __name__ == "__main__":
    main()
