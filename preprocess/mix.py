"""Mix a small core corpus and larger satellites by weight, and set documents apart for validation.

    python -m preprocess.mix core.jsonl=3 satellite.jsonl=0.5 --output mixed --valid 0.02 --seed 1

A weight repeats the training documents of its file: 3 writes each three times, 2.5 twice and a seeded half of them a
third time, 0.5 a seeded half of them once. Validation documents are never repeated and never in training.
"""

import argparse
import hashlib
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from preprocess.documents import Document, Size, read_documents, write_document
from preprocess.files import InputError, InputLog, Marker, directory_written_whole, exit_with_sentence, refuse_foreign

MARKER = Marker.of_command("mix")


@dataclass
class Source:
    """One corpus of the mix, and what became of it."""

    path: Path
    weight: float
    read: Size = field(default_factory=Size)
    train: Size = field(default_factory=Size)  # what is written: copies count
    valid: Size = field(default_factory=Size)
    left_out: int = 0  # training documents that a weight below 1 left out


@dataclass
class Split:
    """Which texts are set apart: those whose draw is below `share`, and the texts named in `chosen`."""

    seed: int
    share: float
    chosen: set[float] = field(default_factory=set)

    def holds_out(self, document: Document) -> bool:
        """Whether the document is for validation: a function of seed and text, so copies are on one side only."""
        drawn = draw(self.seed, "split", document)
        return drawn < self.share or drawn in self.chosen


def draw(seed: int, purpose: str, document: Document) -> float:
    """A number in [0, 1), uniform over texts; equal texts draw equal numbers, whatever their id and file."""
    key = f"{seed}/{purpose}".encode()
    digest = hashlib.blake2b(document.text.encode(), digest_size=8, key=hashlib.sha256(key).digest()).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53  # 53 bits: what a float holds exactly


def mix(sources: list[Source], output: Path, share: float, seed: int) -> dict:
    """Write train.jsonl, valid.jsonl and manifest.json under `output`; returns the manifest.

    Raises InputError for sources that cannot be read and when nothing is left to train on.
    """
    refuse_foreign(output, MARKER)
    for source in sources:
        if output.resolve() in source.path.resolve().parents:
            raise InputError(f"{source.path}: lies in {output}, which would be replaced; give another --output.")
    split, log = Split(seed, share), InputLog()
    for source in sources:
        _survey(source, split, log)
    with directory_written_whole(output, MARKER) as directory:
        with _create(directory / "train.jsonl") as train, _create(directory / "valid.jsonl") as valid:
            for passage in range(max(math.ceil(source.weight) for source in sources)):
                for source in sources:
                    _write_passage(source, passage, split, train, valid)
        if not any(source.train.documents for source in sources):
            raise InputError(f"{sources[0].path}: no document is left to train on; lower --valid or add documents.")
        if share and not any(source.valid.documents for source in sources):
            raise InputError(
                f"{sources[0].path}: a single document, and none can be set apart for validation; put a blank line "
                "between documents, or give a folder with a file for each."
            )
        manifest = {"command": "mix", "seed": seed, "valid": share, "inputs": log.manifest()}
        manifest["sources"] = [asdict(source) | {"path": str(source.path)} for source in sources]
        with _create(directory / "manifest.json") as handle:
            handle.write(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
    return manifest


def _survey(source: Source, split: Split, log: InputLog) -> None:
    """Count the source, and make sure that it gives validation a document when it has two or more different ones."""
    lowest, highest = 1.0, 0.0
    for document in read_documents([source.path], log):
        source.read.add(document)
        drawn = draw(split.seed, "split", document)
        lowest, highest = min(lowest, drawn), max(highest, drawn)
    if split.share and split.share <= lowest < highest:
        split.chosen.add(lowest)


def _write_passage(source: Source, passage: int, split: Split, train: IO[str], valid: IO[str]) -> None:
    """Write what passage number `passage` over the source writes: copies lie far apart, sources alternate."""
    if passage >= source.weight:
        return
    odds = min(source.weight - passage, 1.0)
    for document in read_documents([source.path]):
        if split.holds_out(document):
            if passage == 0:
                source.valid.add(document)
                write_document(valid, document)
        elif odds == 1.0 or draw(split.seed, "weight", document) < odds:
            source.train.add(document)
            write_document(train, document)
        elif passage == 0:
            source.left_out += 1


def _create(path: Path) -> IO[str]:
    return open(path, "w", encoding="utf-8", newline="\n")


def _source(argument: str) -> Source:
    path, _, weight = argument.rpartition("=")
    try:
        value = float(weight)
    except ValueError:
        value = 0.0
    if not path or not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{argument}': write FILE=WEIGHT with a weight above 0, as in core.jsonl=2.5")
    return Source(Path(path), value)


def _share(argument: str) -> float:
    if not 0 <= (value := float(argument)) < 1:
        raise argparse.ArgumentTypeError(f"'{argument}': give a share of at least 0 and below 1")
    return value


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=_source, metavar="FILE=WEIGHT", help="documents and their weight")
    parser.add_argument("--output", required=True, type=Path, help="directory to write")
    parser.add_argument(
        "--valid", type=_share, default=0.02,
        help="share of the documents of every file set apart for validation: drawn by their texts, so that "
        "each stays on its side when others come; at least one of each file with two "
        "(default 0.02: some 100,000 words of a corpus of 5 million, whose masked words give the loss to some 0.02)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default 1: any will do, it is recorded)")
    options = parser.parse_args()
    manifest = mix(options.sources, options.output, options.valid, options.seed)
    for source in options.sources:
        print(f"{source.path} x {source.weight:g}")
        print(f"{'read':>8}  {source.read}\n{'train':>8}  {source.train}\n{'valid':>8}  {source.valid}")
        print(f"{'dropped':>8}  {source.left_out:,} documents left out by the weight")
    print(f"{'written':>8}  {options.output} (seed {manifest['seed']})")


if __name__ == "__main__":
    exit_with_sentence(main)
