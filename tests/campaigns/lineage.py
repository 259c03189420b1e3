"""Does `alibert lineage` name the update that really read a document, and does `alibert retrain` equal its reference?

    python tests/campaigns/lineage.py DATA_BIN --output lineage [--documents 50] [--updates 300] [--seed 1]

DATA_BIN is one of binarize. A model of two layers trains on it with the order of recipes/pretrain/tiny_modern.sh. Its
twin trains on a data-bin of the same sizes, in which every token is the number of its document, and notes what it
reads. For each drawn document, the update that `lineage` names must be the first that the twin has read it in. Then the
document that was read last of all drawn ones is taken out: `retrain` must give the weights of a training that never had
it. Prints a table; exits with 1 for faults.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
sys.path.insert(0, str(HELPERS))
from recipe_helpers import arguments_of  # noqa: E402
from same_training import differences  # noqa: E402

from alibert_fairseq.lineage.documents import TrainingDocuments, train_prefixes  # noqa: E402
from alibert_fairseq.lineage.find import first_uses  # noqa: E402
from alibert_fairseq.lineage.run import read_run  # noqa: E402
from preprocess.databin.document_records import read_records  # noqa: E402
from preprocess.databin.fairseq_writer import Writer  # noqa: E402
from preprocess.databin.split_reader import document_places, line_sizes, token_ids  # noqa: E402
from preprocess.tokenizer.special_tokens import read_symbols  # noqa: E402

RECIPE = Path(__file__).resolve().parents[2] / "recipes/pretrain/tiny_modern.sh"
FIRST = 4  # ids of special tokens before
SMALL = ["--encoder-layers", "2", "--distributed-world-size", "1", "--cpu", "--num-workers", "0"]


def write_twin(data_bin: Path, output: Path) -> int:
    """The data-bin with the number of its document in the place of each token; returns how many documents there are."""
    output.mkdir(parents=True)
    documents, total = TrainingDocuments(str(data_bin)), 0
    for prefix in train_prefixes(data_bin):
        sizes, ids = line_sizes(prefix), np.array(token_ids(prefix))
        for number, (first, end) in enumerate(document_places(prefix).tolist(), documents.first[str(prefix)]):
            ids[first:end] = FIRST + number
        with Writer(output / prefix.name, ids.dtype) as writer:
            writer.add(ids, np.array(sizes))
    total = documents.total
    for name in ("valid.bin", "valid.idx", "mix.json"):
        if (data_bin / name).is_file():
            shutil.copyfile(data_bin / name, output / name)
    symbols = max(total, len(read_symbols(data_bin / "dict.txt")))
    (output / "dict.txt").write_text("".join(f"▁{number} 1\n" for number in range(symbols)), encoding="utf-8")
    return total


def train(data_bin: Path, save: Path, updates: int, record: Path | None = None) -> None:
    """Train with the recipe; `record` notes the tokens of each update."""
    options = [
        "--max-update",
        str(updates),
        "--total-num-update",
        str(updates),
        "--save-interval-updates",
        "50",
        *SMALL,
    ]
    options += ["--keep-interval-updates", "-1", "--no-epoch-checkpoints", "--disable-validation"]
    words = arguments_of(RECIPE, save.parent, *options, DATA_BIN=str(data_bin), SAVE_DIR=str(save))
    start = [sys.executable, HELPERS / "recorded_training.py", record] if record else ["fairseq-train"]
    subprocess.run(
        [*map(str, start), *words], check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )


def first_reads(record: Path) -> dict[int, int]:
    """{number of a document: the first update that read it}, by what the twin has noted."""
    found: dict[int, int] = {}
    for line in map(json.loads, record.read_text().splitlines()):
        for token in line["tokens"]:
            found.setdefault(token - FIRST, line["update"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_bin", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    data_bin, output = options.data_bin.absolute(), options.output.absolute()
    total = write_twin(data_bin, output / "twin")
    train(output / "twin", output / "twin-save", options.updates, output / "record")
    train(data_bin, output / "save", options.updates)
    reads = first_reads(output / "record")
    names = [record.id for prefix in train_prefixes(data_bin) for record in read_records(prefix)]
    drawn = random.Random(options.seed).sample(range(total), options.documents)
    uses = first_uses(read_run(output / "save"), [names[number] for number in drawn], [])
    right = [use.update == reads.get(number) for number, use in zip(drawn, uses, strict=True)]
    named = [use for use in uses if use.update]
    print(
        f"| documents | {total:,} |\n| drawn | {len(drawn)} |\n| the replay confirms the named update | {sum(right)} |"
    )
    print(f"| first updates | {min(use.update for use in named)} to {max(use.update for use in named)} |")
    last = max(named, key=lambda use: use.update)
    (output / "ids").write_text(last.name + "\n")
    command = [sys.executable, "-m", "alibert_fairseq.lineage.retrain", output / "save", "--without", output / "ids"]
    subprocess.run([*map(str, command), "--output", str(output / "again")], check=True, capture_output=True)
    train(output / "again/data-bin", output / "never", options.updates)
    for early in (output / "never").glob("checkpoint_*_*.pt"):
        if int(early.stem.rsplit("_", 1)[1]) <= (last.checkpoint_updates or 0):
            early.unlink()  # of before the start
    found = differences(output / "again/checkpoints", output / "never")
    print(f"| taken out: first read in update | {last.update} |")
    print(f"| the training starts after update | {last.checkpoint_updates} |")
    print(f"| differences to a training that never had it | {len(found)} |")
    changed = differences(output / "again/checkpoints", output / "save")
    print(f"| differences to the training that had it | {len(changed):,} |")
    sys.exit(0 if all(right) and not found and changed else 1)


if __name__ == "__main__":
    main()
