"""Compare tokenizers on one text: how many pieces a word takes, what is unknown, what the vocabulary holds twice.

    python -m preprocess.compare_tokenizers TOKDIR... --text test.txt --output comparison.json

A TOKDIR is any directory with a tokenizer.json, a published model's too. Choose a text none of them was trained on.
"""

import argparse
import json
import re
import time
from pathlib import Path

from tokenizers import Tokenizer
from tqdm import tqdm

from preprocess.documents import read_documents
from preprocess.files import InputError, exit_with_sentence, written_whole
from preprocess.normalizer import BOUNDARY
from preprocess.tokenizer_quality import duplicates

BATCH = 1000  # lines a call: the library spreads them over the cores
LETTERS = re.compile(r"[^\W\d_]{2,}")  # words for "whole words": what every tokenizer's idea of a word contains


def compare(paths: list[Path], text: Path) -> dict[str, dict[str, float]]:
    """The figures of each tokenizer, by its directory."""
    lines = [line for document in read_documents([text]) for line in document.lines]
    return {str(path): measure(_load(path), lines, str(path)) for path in paths}


def measure(tokenizer: Tokenizer, lines: list[str], name: str = "") -> dict[str, float]:
    """Figures of one tokenizer; shares of tokens, or of the words of two letters or more that are one token."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    lone, unknown = vocabulary.get(BOUNDARY), _unknown(tokenizer)
    tokens = lones = unknowns = words = whole = 0
    seconds = 0.0
    for start in tqdm(range(0, len(lines), BATCH), desc=name, unit_scale=BATCH, unit="line", mininterval=1):
        batch = lines[start : start + BATCH]
        begun = time.perf_counter()
        encodings = tokenizer.encode_batch(batch, add_special_tokens=False)
        seconds += time.perf_counter() - begun
        for line, encoding in zip(batch, encodings, strict=True):
            tokens += len(encoding.ids)
            lones += encoding.ids.count(lone)
            unknowns += encoding.ids.count(unknown)
            known = zip(encoding.ids, encoding.offsets, strict=True)
            spans = {span for number, span in known if number != unknown}
            found = [match.span() in spans for match in LETTERS.finditer(line)]
            words, whole = words + len(found), whole + sum(found)
    return {
        "pieces": len(vocabulary),
        "tokens": tokens,
        "tokens_per_word": round(tokens / sum(len(line.split()) for line in lines), 4),
        "unknown_share": round(unknowns / max(tokens, 1), 6),
        "lone_boundary_share": round(lones / max(tokens, 1), 6),
        "whole_word_share": round(whole / max(words, 1), 4),
        "duplicates": len(duplicates(vocabulary)),
        "tokens_per_second": round(tokens / seconds),
    }


def _load(path: Path) -> Tokenizer:
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{file}: no such file; give directories that hold a tokenizer.json.")
    try:
        tokenizer = Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises a bare Exception for what it cannot read
        raise InputError(f"{file}: not a tokenizer ({error}); give directories that hold a tokenizer.json.") from None
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The id of the unknown token, where the model has one."""
    model = json.loads(tokenizer.to_str())["model"]
    return model["unk_id"] if "unk_id" in model else tokenizer.token_to_id(model.get("unk_token") or "")


def table(figures: dict[str, dict[str, float]]) -> str:
    """One row a tokenizer, one column a figure."""
    columns = ["tokenizer", *next(iter(figures.values()))]
    rows = [columns] + [[name, *(f"{value:,}" for value in row.values())] for name, row in figures.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tokenizers", nargs="+", type=Path, help="directories that hold a tokenizer.json")
    parser.add_argument("--text", required=True, type=Path, help="documents file, .txt or .jsonl")
    parser.add_argument("--output", type=Path, help="also write the figures to this JSON file")
    arguments = parser.parse_args()
    figures = compare(arguments.tokenizers, arguments.text)
    print(table(figures))
    if arguments.output:
        with written_whole(arguments.output) as handle:
            json.dump(figures, handle, ensure_ascii=False, indent=2)
            handle.write("\n")


if __name__ == "__main__":
    exit_with_sentence(main)
