"""Documents of patients as a k-anonymous data-bin, and which of its tokens may be learned, found by brute force."""

from collections import defaultdict
from itertools import groupby
from pathlib import Path

import numpy as np
from binarize_helpers import items

from preprocess.anonymity.build import AnonymityRule
from preprocess.binarize import binarize
from preprocess.databin.document_records import read_records
from preprocess.documents.document import Document, write_document
from preprocess.tokenizer.special_tokens import read_symbols

TEXT = "le la de un une patient fièvre à sous toux pas prenez médecin mg zut § œdème".split()


def random_documents(seed: int, documents: int = 14, patients: int = 5) -> list[Document]:
    """Short documents of few words; § is no piece of the tiny tokenizer, and `toux`, `zut` are several."""
    generator, written = np.random.default_rng(seed), []
    for number in range(documents):
        words = generator.choice(TEXT[: int(generator.integers(3, len(TEXT) + 1))], (4, 6))
        lines = [" ".join(line[: generator.integers(1, 7)]) for line in words[: generator.integers(1, 5)]]
        patient = f"p{generator.integers(patients)}"
        written.append(Document(f"d{number}", "lettres", lines, metadata={"patient": patient}))
    return written


def write_documents(path: Path, documents: list[Document]) -> Path:
    """A file of documents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        for document in documents:
            write_document(handle, document)
    return path


def anonymous(place: Path, tokenizer: Path, documents: list[Document], k: int = 2, n: int = 3, **others) -> Path:
    """The data-bin of these documents."""
    train = write_documents(place / "text" / "train.jsonl", documents)
    binarize(tokenizer, {"train": [train]}, place / "out", anonymity=AnonymityRule(k, n), **others)
    return place / "out"


def bits(prefix: Path) -> list[list[int]]:
    """Of each line, which tokens may be learned."""
    lines = items(prefix)
    marks = np.unpackbits(np.fromfile(f"{prefix}.predictable", np.uint8))
    ends = np.cumsum([len(line) for line in lines])
    assert len(marks) == -(-ends[-1] // 8) * 8 and not marks[ends[-1] :].any()
    return [part.tolist() for part in np.split(marks[: ends[-1]], ends[:-1])]


def words(line: list[int], symbols: list[str]) -> list[tuple[int, ...]]:
    """The words of a line without its end, by the mark ▁. The unknown token starts one too."""
    starts = [place for place, token in enumerate(line) if place == 0 or token == 3 or symbols[token].startswith("▁")]
    return [tuple(line[first:last]) for first, last in zip(starts, [*starts[1:], len(line)], strict=True)]


def oracle(prefixes: list[Path], k: int, n: int) -> dict[Path, list[list[int]]]:
    """What `bits` must be: a token whose n-grams of 1 to n words all have k patients, none with the unknown token."""
    symbols = ["", "", "", "", *read_symbols(prefixes[0].parent / "dict.txt"), ""]
    patients, lines = defaultdict(set), {}
    for prefix in prefixes:
        names = [record.patient or (record.source, record.id) for record in read_records(prefix)]
        groups = [list(group) for alone, group in groupby(items(prefix), lambda line: len(line) == 1) if not alone]
        lines[prefix] = [
            (words(line[:-1], symbols), name) for name, group in zip(names, groups, strict=True) for line in group
        ]
        for line, name in lines[prefix]:
            for size in range(1, n + 1):
                for first in range(len(line) - size + 1):
                    patients[tuple(line[first : first + size])].add(name)

    def is_common(ngram) -> bool:
        return len(patients[tuple(ngram)]) >= k and all(3 not in word for word in ngram)

    found = {}
    for prefix in prefixes:
        found[prefix] = []
        for line, _ in lines[prefix]:
            marks = []
            for place, word in enumerate(line):
                around = [
                    line[first : first + size]
                    for size in range(1, n + 1)
                    for first in range(max(0, place - size + 1), min(place, len(line) - size) + 1)
                ]
                marks += [int(all(map(is_common, around)))] * len(word)
            found[prefix].append([*marks, marks[-1]])
    return found
