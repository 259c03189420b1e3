"""Data-bins of several corpora in which a token tells its document: no token occurs twice in the text."""

from pathlib import Path

import numpy as np
from model_helpers import dictionary, write_lines

from preprocess.mixing.mix_file import split_name, write_mix

PIECES = 3000


def documents_of(number: int, first: int, seed: int) -> list[list[list[int]]]:
    """So many documents of 2 to 5 lines of 1 to 9 tokens, numbered from `first` on."""
    generator = np.random.default_rng(seed)
    documents = []
    for _ in range(number):
        lines = []
        for _ in range(generator.integers(2, 6)):
            lines.append(list(range(first, first + int(generator.integers(1, 10)))))
            first = lines[-1][-1] + 1
        documents.append(lines)
    assert first < 4 + PIECES
    return documents


def lines_of(documents) -> list[list[int]]:
    """The lines as a data-bin has them: </s>, 2, ends each and stands alone between documents."""
    lines = []
    for document in documents:
        lines += ([[2]] if lines else []) + [[*line, 2] for line in document]
    return lines


class MixedText:
    """A data-bin: a split train, train1 and so on for each corpus, and `valid`.

    sizes: {corpus: documents}. weights: {corpus: weight}, what mix.json says; None for a data-bin without it.
    """

    def __init__(self, directory: Path, sizes: dict, weights: dict | None, seed=1):
        directory.mkdir()
        self.directory, self.corpora = directory, []
        table = dictionary(PIECES)
        rows = "".join(f"{table[i]} 1\n" for i in range(4, len(table) - 1))
        (directory / "dict.txt").write_text(rows, encoding="utf-8")
        first = 4
        for number, documents in enumerate(sizes.values()):
            self.corpora.append(documents_of(documents, first, seed + number))
            first = self.corpora[-1][-1][-1][-1] + 1
            write_lines(directory / split_name(number), lines_of(self.corpora[-1]))
        self.valid = documents_of(20, first, seed + 100)
        write_lines(directory / "valid", lines_of(self.valid))
        if weights:
            write_mix(directory, weights)
        # (corpus, document) of each token of the training text, and the tokens of each (corpus, document)
        self.tokens = {
            (corpus, number): [token for line in document for token in line]
            for corpus, documents in enumerate(self.corpora)
            for number, document in enumerate(documents)
        }
        self.owner = {token: owner for owner, tokens in self.tokens.items() for token in tokens}

    def order(self, stream: list[int]) -> list[tuple[int, int]]:
        """The documents in a stream of tokens without special ones; fails unless each is whole and in order."""
        found, at = [], 0
        while at < len(stream):
            owner = self.owner[stream[at]]
            assert stream[at : at + len(self.tokens[owner])] == self.tokens[owner]
            found.append(owner)
            at += len(self.tokens[owner])
        return found
