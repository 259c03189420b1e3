"""Lines that are read together are those that are read one by one."""

import numpy as np
import pytest
import torch
from fairseq.data import ListDataset, TokenBlockDataset
from mix_helpers import MixedText, lines_of
from model_helpers import dictionary, write_lines

from alibert_common.errors import InputError
from alibert_fairseq.data.blocks import BREAK_MODES, Blocks, LongLinesCut, load_blocks, load_lines
from alibert_fairseq.data.lines import tokens_between
from alibert_fairseq.data.mixed_lines import Mix

ROWS = [[5, 6, 2], [2], [7, 8, 9, 10, 11, 12, 13, 14, 2], [15, 2], [2], [2], [16, 17, 18, 19, 2], [20, 2]]
SHARD = [[21, 22, 23, 2], [24, 2]]


def plain(folder):
    write_lines(folder / "train", ROWS)
    return load_lines(str(folder), "train", 1, dictionary(3000), False), ROWS


def two_shards(folder):
    write_lines(folder / "train", ROWS)
    write_lines(folder / "train1", SHARD)
    return load_lines(str(folder), "train", 1, dictionary(3000), True), ROWS + SHARD


def mixed(folder):
    text = MixedText(folder / "mixed", {"core": 3, "satellite": 8}, None)
    mix = Mix({"core": 2.0, "satellite": 1.0}, 5)
    lines = load_lines(str(text.directory), "train", 1, dictionary(3000), True, mix)
    order = text.order([token for line in range(len(lines)) for token in lines[line].tolist() if token != 2])
    return lines, lines_of([text.corpora[corpus][number] for corpus, number in order])


def in_memory(folder):
    return ListDataset([torch.tensor(row) for row in ROWS], np.array([len(row) for row in ROWS])), ROWS


@pytest.mark.parametrize("source", [plain, two_shards, mixed, in_memory])
def test_any_lines_together_are_the_same_tokens(source, tmp_path):
    lines, rows = source(tmp_path)
    for first in range(len(rows)):
        for last in range(first, len(rows)):
            found = tokens_between(lines, first, last)
            assert found.dtype == torch.int64
            assert found.tolist() == [token for row in rows[first : last + 1] for token in row]


@pytest.mark.parametrize("source", [plain, two_shards, mixed, in_memory])
@pytest.mark.parametrize("mode", ["none", "complete", "complete_doc"])
def test_blocks_are_those_of_fairseq(mode, source, tmp_path):
    lines, rows = source(tmp_path)
    for room in (4, 5, 16):
        cut = LongLinesCut(lines, room)
        parts = [part.tolist() for part in (cut[i] for i in range(len(cut)))]
        assert [token for part in parts for token in part] == [token for row in rows for token in row]
        blocks = Blocks(cut, cut.sizes, room, pad=1, eos=2, break_mode=mode)
        assert len(blocks) > 1
        for index in range(len(blocks)):
            assert blocks[index].tolist() == TokenBlockDataset.__getitem__(blocks, index).tolist()


@pytest.mark.parametrize("mode", BREAK_MODES)
@pytest.mark.parametrize("room", range(3, 9))
def test_blocks_lose_no_token(mode, room, tmp_path):
    write_lines(tmp_path / "train", [[*range(5, 4 + size), 2] for size in (3, 5, 7, 9, 2, 11)])
    blocks = load_blocks(str(tmp_path), "train", 1, dictionary(3000), room + 1, mode, False)
    assert sum(len(blocks[index]) - 1 for index in range(len(blocks))) == 37


def test_blocks_that_cannot_be_are_refused(tmp_path):
    write_lines(tmp_path / "train", ROWS)
    write_lines(tmp_path / "valid", [[2], [2]])
    for mode in BREAK_MODES[1:]:
        with pytest.raises(InputError, match="--tokens-per-sample 3: too few for whole lines; give 4 or more"):
            load_blocks(str(tmp_path), "train", 1, dictionary(3000), 3, mode, False)
    for mode in BREAK_MODES:
        with pytest.raises(InputError, match="valid.bin: holds no line with a token"):
            load_blocks(str(tmp_path), "valid", 1, dictionary(3000), 16, mode, False)
