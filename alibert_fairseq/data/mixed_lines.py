"""The lines of one epoch of a mix of corpora: copies of whole documents, in another order every epoch.

    core, weight 3          c1 | c2
    satellite, weight 1     s1 | s2 | s3 | s4 | s5
    epoch 1                 s4 | c2 | c1 | s1 | c1 | s5 | c2 | s3 | s2 | c2 | c1
    epoch 2                 c1 | s2 | c2 | s5 | ...

The law of the draws is that of preprocess/mixing/mix_file.py. A document is a run of lines of text; a line that is
</s> alone ends it.
Shapes: D documents of all corpora, N copies of documents in the epoch, L lines of the epoch.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from fairseq.data import ConcatDataset, FairseqDataset
from torch import Tensor

from alibert_common.errors import InputError
from alibert_fairseq.data.lines import Sized, part_of, tokens_between
from preprocess.databin.split_reader import documents_in
from preprocess.mixing.mix_file import Use, copies, describe, order_of_use

logger = logging.getLogger(__name__)

AT_ONCE = 1 << 14  # documents whose lines are looked up together: some megabytes


class Mix(NamedTuple):
    """What decides how corpora are mixed: {corpus: weight} in the order of the splits, and the seed."""

    weights: dict[str, float]
    seed: int


class MixedLines(Sized, FairseqDataset):
    """The lines of one epoch. They depend on the text, the mix and the epoch alone.

    Invariants: the lines of a document stand together and in order; between two documents stands one line, </s> alone.
    Tokens are read from the data-bin on access. Memory: 4 bytes a line and 17 to 20 bytes a document of the epoch.
    `document` (N,) says which documents are copies of one another.
    """

    def __init__(self, corpora: Sequence, mix: Mix, epoch: int, eos: int, name: str = "mix"):
        super().__init__()
        self.lines, self.separator = ConcatDataset(corpora), torch.tensor([eos])
        edges, counts, uses = [], [], []
        for number, (lines, corpus) in enumerate(zip(corpora, mix.weights, strict=True)):
            sizes, weight = np.asarray(lines.sizes), mix.weights[corpus]
            documents = documents_in(sizes)
            count = copies(len(documents), weight, mix.seed, epoch, number)
            _refuse_without_documents(name, corpus, weight, count)
            tokens = np.add.reduceat(sizes[: documents[-1, 1]], documents.ravel()[:-1], dtype=np.int64)[::2] + 1
            uses.append(Use(corpus, len(count), weight, int(tokens.sum()), int(tokens @ count)))
            counts.append(count)
            edges.append(documents + sum(map(len, corpora[:number])))
        logger.info("%s, epoch %d: %s", name, epoch, "; ".join(describe(uses)))
        self.document = order_of_use(counts, mix.seed, epoch)
        first, last = np.concatenate(edges).T
        self.first = first[self.document]  # (N,) in the numbers of self.lines
        self.start = np.zeros(len(self.document) + 1, dtype=np.int64)  # (N + 1,) in the numbers of this dataset
        np.cumsum((last - first + 1)[self.document], out=self.start[1:])
        self._sizes = self._look_up_sizes()

    def _look_up_sizes(self) -> np.ndarray:
        """(L,) int32."""
        text, sizes = self.lines.sizes, np.empty(self.start[-1], dtype=np.int32)
        for at in range(0, len(self.first), AT_ONCE):
            start = self.start[at : at + AT_ONCE + 1]
            shift = np.repeat(self.first[at : at + AT_ONCE] - start[:-1], np.diff(start))
            sizes[start[0] : start[-1]] = text.take(np.arange(start[0], start[-1]) + shift, mode="clip")
        sizes[self.start[1:] - 1] = len(self.separator)
        return sizes[:-1]  # nothing follows the last document

    def between(self, first: int, last: int, skipped: int = 0, count: int | None = None) -> Tensor:
        """(T,) tokens of the lines `first` to `last`, as `tokens_between` says."""
        tokens: list[Tensor] = []
        place = int(self.start.searchsorted(first, side="right")) - 1
        while first <= last:
            start, end = self.start[place : place + 2].tolist()  # end - 1: the separator
            shift, stop = int(self.first[place]) - start, min(last, end - 2)
            if stop == last and not tokens:  # all in one document
                return tokens_between(self.lines, first + shift, last + shift, skipped, count)
            if first < end - 1:
                tokens.append(tokens_between(self.lines, first + shift, stop + shift))
            if last >= end - 1:
                tokens.append(self.separator)
            first, place = end, place + 1
        return part_of(torch.cat(tokens), skipped, count)

    def __getitem__(self, index):
        return self.between(index, index)


def _refuse_without_documents(name: str, corpus: str, weight: float, count: np.ndarray) -> None:
    if not len(count):
        raise InputError(f"{name}: {corpus} holds no document, so there is nothing to mix; binarize the text again.")
    if not count.any():
        raise InputError(f"{name}: weight {weight:g} takes none of the {len(count)} documents of {corpus}; raise it.")
