"""What a data-bin must hold, computed line by line, and what it holds, read without our writer."""

from pathlib import Path

import numpy as np
from corpus_helpers import tiny_tokenizer

from preprocess.databin.fairseq_writer import HEADER


def items(prefix: Path) -> list[list[int]]:
    """The lists of ids of a split."""
    count = int.from_bytes(open(f"{prefix}.idx", "rb").read()[18:26], "little")
    sizes = np.fromfile(f"{prefix}.idx", np.int32, count, offset=HEADER.size)
    ids = np.fromfile(f"{prefix}.bin", np.uint16)
    return [item.tolist() for item in np.split(ids, np.cumsum(sizes)[:-1])]


def expected(text: str) -> list[list[int]]:
    """Those of a text of documents, by the tiny tokenizer: one item a line, an empty one between documents."""
    tokenizer = tiny_tokenizer()
    documents = [part.split("\n") for part in text.strip("\n").replace("\n\n\n", "\n\n").split("\n\n")]
    encoded = [[tokenizer.encode(line, add_special_tokens=False).ids + [2] for line in lines] for lines in documents]
    return [item for number, lines in enumerate(encoded) for item in ([[2]] if number else []) + lines]


def contents(directory: Path) -> dict[str, bytes]:
    """Every file of a directory, by its path in it."""
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}
