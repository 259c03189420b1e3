"""Documents to a data-bin: byte for byte what fairseq-preprocess makes of the same tokens, in one pass over all cores.

    python -m preprocess.binarize --tokenizer TOKDIR --train train.jsonl --valid valid.jsonl --output data-bin

Every line of text becomes its pieces and `</s>`; an empty line stands between documents. The output holds
{train,valid}.{bin,idx}, dict.txt, the tokenizer's files and manifest.json. `fairseq-preprocess --only-source --srcdict
dict.txt` writes the same .bin, .idx and dict.txt from the pieces written out as text, for our own tokenizers: it knows
no other place of the special tokens than fairseq's. With a published model's (alibert_fairseq.hf.load) the ids are
AutoTokenizer's.
"""

import argparse
import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from tqdm import tqdm

from preprocess.blocks import blocks_of, with_separators
from preprocess.documents import read_documents
from preprocess.files import InputError, InputLog, Marker, directory_written_whole, exit_with_sentence, refuse_foreign
from preprocess.indexed_dataset import Writer
from preprocess.long_lines import Cuts
from preprocess.options import at_least
from preprocess.parallel import EncoderPool

MARKER = Marker.of_command("binarize")
TOKENIZER_FILES = ("dict.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@dataclass
class Counts:
    """What one split holds. `tokens` are pieces, the ends of lines not among them."""

    documents: int = 0
    lines: int = 0
    tokens: int = 0
    unknowns: int = 0
    lines_without_token: int = 0  # left out: the end of a line alone would look like the end of a document
    cuts: Cuts = field(default_factory=Cuts)

    def __str__(self) -> str:
        cuts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in asdict(self.cuts).items())
        return (
            f"{self.documents:,} documents, {self.lines:,} lines, {self.tokens:,} tokens, {self.unknowns:,} of them "
            f"unknown\n dropped  {self.lines_without_token:,} lines without a token\n     cut  {cuts}"
        )


def binarize(tokenizer: Path, splits: dict[str, list[Path]], output: Path, workers: int) -> dict[str, Counts]:
    """Write the data-bin `output`; `splits` maps "train", "valid", ... to document files.

    Raises InputError for unreadable input, for a tokenizer that does not fit its dict.txt, and for an `output` that
    holds foreign files; then nothing is written.
    """
    refuse_foreign(output, MARKER)
    if not (tokenizer / "dict.txt").is_file():
        raise InputError(
            f"{tokenizer / 'dict.txt'}: no such file; give a directory of preprocess.train_tokenizer or of "
            "alibert_fairseq.hf.load."
        )
    manifest: dict = {"command": "binarize", "tokenizer": {}, "splits": {}}
    counts = {}
    with directory_written_whole(output, MARKER) as directory, EncoderPool(tokenizer, workers) as pool:
        for split, paths in splits.items():
            log = InputLog()
            counts[split] = _write_split(directory / split, paths, pool, log)
            manifest["splits"][split] = asdict(counts[split]) | {"inputs": log.manifest()}
        for name in TOKENIZER_FILES:
            if (tokenizer / name).is_file():
                shutil.copyfile(tokenizer / name, directory / name)
                manifest["tokenizer"][name] = hashlib.sha256((directory / name).read_bytes()).hexdigest()
        text = json.dumps(manifest, ensure_ascii=False, indent=2)
        (directory / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return counts


def _write_split(prefix: Path, paths: list[Path], pool: EncoderPool, log: InputLog) -> Counts:
    counts, last, layout = Counts(), None, pool.encoder.layout
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with Writer(prefix, pool.encoder.dtype) as writer, tqdm(total=total, unit="B", unit_scale=True) as bar:
        bar.set_description(prefix.name)
        for block in pool.encode(blocks_of(read_documents(paths, log), counts.cuts)):
            ids, sizes = with_separators(block, last, layout.end)
            writer.add(ids, sizes)
            last = block.documents[-1] if len(block.documents) else last
            counts.documents += int(np.count_nonzero(sizes == 1))
            counts.lines += len(block.sizes)
            counts.tokens += len(block.ids) - len(block.sizes)
            counts.unknowns += int(np.count_nonzero(ids == layout.unknown))
            counts.lines_without_token += block.empty_lines
            bar.update(log.bytes_read() - bar.n)
    if not counts.lines:
        raise InputError(f"{paths[0]}: the tokenizer finds no token in this text; check the corpus and the tokenizer.")
    counts.documents += 1  # one more than there are empty lines between them
    return counts


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True, type=Path, help="of preprocess.train_tokenizer or hf.load")
    parser.add_argument("--train", required=True, nargs="+", type=Path, metavar="FILE", help="documents to train on")
    parser.add_argument("--valid", nargs="+", type=Path, metavar="FILE", help="documents to validate on")
    parser.add_argument("--output", required=True, type=Path, help="the data-bin to write")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--workers",
        type=at_least(1),
        default=cores,
        help=f"processes (default {cores}: the cores this process may use)",
    )
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the cores are shared out by --workers
    splits = {name: getattr(options, name) for name in ("train", "valid") if getattr(options, name)}
    for split, counts in binarize(options.tokenizer, splits, options.output, options.workers).items():
        print(f"{split:>8}  {counts}")
    print(f" written  {options.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
