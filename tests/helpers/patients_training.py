"""A data-bin of documents of patients with canaries, and a training of seconds on it."""

import json
import random
import sys
from pathlib import Path

from corpus_helpers import write_tokenizer
from forked import run
from tiny_training import ENVIRONMENT, OPTIONS

from alibert_common.files import write_json
from preprocess.binarize import binarize
from preprocess.canaries.canaries import CanaryRule
from preprocess.documents.document import Document, write_document
from preprocess.train_tokenizer import TRANSFORMERS_CONFIG

PLUGIN = str(Path(__file__).parents[2] / "alibert_fairseq")
WORDS = "fièvre toux patient greffe cuisse foie rein douleur Martin Dupont 1234 75011 matin soir".split()


def write_documents(file: Path, number: int, seed: int, patients: bool = True) -> Path:
    """So many documents of three lines, two of each patient."""
    draw = random.Random(seed)
    with open(file, "w", encoding="utf-8") as handle:
        for place in range(number):
            lines = [" ".join(draw.choice(WORDS) for _ in range(6)) for _ in range(3)]
            metadata = {"patient": f"{file.stem}-{place // 2}"} if patients else {}
            write_document(handle, Document(f"{file.stem}-{place}", "lettres", lines, metadata=metadata))
    return file


def make_data_bin(folder: Path, documents: int = 260, held_out: int = 60, each: int = 3, patients: bool = True) -> Path:
    """A data-bin with `each` canaries in one document and in eight."""
    splits = {
        split: [write_documents(folder / f"{split}.jsonl", number, number, patients)]
        for split, number in (("train", documents), ("valid", held_out))
        if number
    }
    rule = CanaryRule(each, (1, 8)) if each else None
    tokenizer = write_tokenizer(folder / "tokenizer")
    write_json(tokenizer / "tokenizer_config.json", TRANSFORMERS_CONFIG)
    binarize(tokenizer, splits, folder / "data-bin", canaries=rule)
    return folder / "data-bin"


def train(folder: Path, data_bin: Path, updates: int = 12, name: str = "save", *others: str) -> Path:
    """Checkpoints every four updates."""
    options = [*OPTIONS, "--max-update", updates, "--total-num-update", "20", "--save-interval-updates", "4"]
    options += [
        "--max-positions",
        "128",
        "--keep-interval-updates",
        "-1",
        "--user-dir",
        PLUGIN,
        "--save-dir",
        folder / name,
    ]
    run("fairseq-train", data_bin, *options, *others, cwd=folder, env=ENVIRONMENT)
    return folder / name


def audit(folder: Path, save: Path, *options: object, output: str = "audit") -> tuple[int, str]:
    """Exit status and output of `alibert audit`."""
    from forked import finish

    command = [sys.executable, "-m", "alibert_fairseq.audit.command", save, "--output", folder / output, *options]
    return finish(command, cwd=folder, env=ENVIRONMENT)


def figures(folder: Path, output: str = "audit") -> dict:
    """audit.json of an audit."""
    return json.loads((folder / output / "audit.json").read_text(encoding="utf-8"))
