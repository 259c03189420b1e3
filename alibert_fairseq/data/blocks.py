"""From a split of a data-bin to sequences of at most `tokens_per_sample` tokens, each opened by <s>."""

import os
from pathlib import Path

import numpy as np
from fairseq import utils
from fairseq.data import BaseWrapperDataset, PrependTokenDataset, TokenBlockDataset, data_utils
from torch import Tensor

from alibert_common.errors import InputError
from alibert_fairseq.data.dictionary import mask_id
from alibert_fairseq.data.lines import Sized, tokens_between
from alibert_fairseq.data.mixed_lines import Mix, MixedLines
from alibert_fairseq.data.token_view import Readings, viewed
from preprocess.databin.fairseq_writer import check_split
from preprocess.mixing.mix_file import split_name

SHORTEST_ROOM = 3  # tokens: a line of more is cut into parts of two at least, for one alone ends a document
BREAK_MODES = ("none", "complete", "complete_doc")


def load_blocks(
    data: str, split: str, epoch: int, dictionary, tokens_per_sample: int, break_mode: str, combine: bool,
    mix: Mix | None = None, readings: Readings | None = None,
):  # fmt: skip
    """Load one split and cut it into blocks; errors as in load_lines."""
    lines = load_lines(data, split, epoch, dictionary, combine, mix, readings)
    room = tokens_per_sample - 1  # one less for <s>
    if room < 1:
        raise InputError(f"--tokens-per-sample {tokens_per_sample}: no room for a token beside <s>; give at least 2.")
    if break_mode != "none":
        if room < SHORTEST_ROOM:
            raise InputError(
                f"--tokens-per-sample {tokens_per_sample}: too few for whole lines; give {SHORTEST_ROOM + 1} or more."
            )
        lines = LongLinesCut(lines, room)
    if not (np.asarray(lines.sizes) > 1).any():
        raise InputError(f"{split_path(data, split, epoch)}.bin: holds no line with a token; binarize the text again.")
    blocks = Blocks(lines, lines.sizes, room, pad=dictionary.pad(), eos=dictionary.eos(), break_mode=break_mode)
    return PrependTokenDataset(blocks, dictionary.bos())


def load_lines(
    data: str, split: str, epoch: int, dictionary, combine: bool, mix: Mix | None = None,
    readings: Readings | None = None,
):  # fmt: skip
    """Load the lines of one split. `data` may name several data-bins, `a:b:c`, one used per epoch.

    With a mix, the split is one epoch of its corpora. Tokens are read as `readings` say. Raises InputError for a
    missing or truncated split, one whose ids go beyond the dictionary, and a split that is in no corpus of the mix.
    """
    path = split_path(data, split, epoch)
    if mix is None:
        return _load(path, dictionary, combine, readings)
    *corpora, other = [split_path(data, split_name(number), epoch) for number in range(len(mix.weights) + 1)]
    if os.path.isfile(f"{other}.idx"):
        raise InputError(f"{other}.idx: belongs to no corpus of mix.json; make the data-bin again.")
    loaded = [_load(corpus, dictionary, False, readings) for corpus in corpora]
    return MixedLines(loaded, mix, epoch, dictionary.eos(), path)


def _load(path: str, dictionary, combine: bool, readings: Readings | None):
    """Load lines. A spread of them is looked at: an id that dict.txt has not shows a data-bin of another one."""
    check_split(Path(path))
    lines = data_utils.load_indexed_dataset(path, dictionary, combine=combine)
    mask = mask_id(dictionary)
    entries = mask if mask == len(dictionary) - 1 else len(dictionary)  # behind dict.txt, but for published models'
    for index in spread(lines):
        if len(lines[index]) and int(lines[index].max()) >= entries:
            raise InputError(
                f"{path}.bin, line {index + 1}: token id {int(lines[index].max())} is not in dict.txt "
                f"({entries} entries); binarize the text again with the tokenizer of this dict.txt."
            )
    return viewed(lines, path, readings) if readings else lines


def split_path(data: str, split: str, epoch: int) -> str:
    """Where a split lies in the data-bin of this epoch, without the ending."""
    paths = utils.split_paths(data)
    return os.path.join(paths[(epoch - 1) % len(paths)], split)


def spread(lines) -> np.ndarray:
    """The numbers of at most 1,000 lines, from the first to the last."""
    return np.linspace(0, len(lines) - 1, num=min(len(lines), 1000), dtype=int)


class Blocks(TokenBlockDataset):
    """fairseq's blocks. The lines of one are read together."""

    def __getitem__(self, index):
        first, offset, last = self.block_to_dataset_index[index].tolist()
        begin, end = self.slice_indices[index].tolist()
        return tokens_between(self.dataset, first, last, offset, end - begin)


class LongLinesCut(Sized, BaseWrapperDataset):
    """Cuts each line longer than `limit` tokens into parts of at most `limit`: nothing is lost, no block overflows.

    The parts of a line differ by a token at most: a last part of one token would read as the end of a document.
    Memory: 12 bytes a line, and at most 32 while they are counted.
    """

    def __init__(self, dataset, limit: int):
        super().__init__(dataset)
        sizes = np.asarray(dataset.sizes)
        parts = np.maximum(1, -(-sizes // limit))  # (lines,), rounded up
        self.line = np.repeat(np.arange(len(sizes), dtype=np.int32), parts)  # (parts,)
        self.start, self._sizes = np.zeros(len(self.line), np.int32), sizes[self.line]
        cut = np.flatnonzero(self._sizes > limit)
        line = self.line[cut]
        part = cut - (np.cumsum(parts, dtype=np.int64) - parts)[line]
        self.start[cut], end = (number * sizes[line] // parts[line] for number in (part, part + 1))
        self._sizes[cut] = end - self.start[cut]

    def between(self, first: int, last: int, skipped: int = 0, count: int | None = None) -> Tensor:
        """(T,) tokens of the parts `first` to `last`, as `tokens_between` says."""
        if count is None:
            count = int(self._sizes[first : last + 1].sum()) - skipped
        start = int(self.start[first]) + skipped
        return tokens_between(self.dataset, int(self.line[first]), int(self.line[last]), start, count)

    def __getitem__(self, index):
        return self.between(index, index)
