"""Blocks and masked samples: nothing lost, nothing special drawn, the same draws wherever a sample falls."""

import numpy as np
import pytest
import torch
from fairseq.data import ListDataset
from model_helpers import WORDPIECE, bert_dictionary, blocks, dictionary, masked_dataset, write_lines

from alibert_common.errors import InputError
from alibert_fairseq.data.blocks import LongLinesCut, load_lines
from alibert_fairseq.data.dictionary import subword_ids
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule


def test_long_lines_are_cut_and_nothing_is_lost():
    rows = [torch.arange(n) for n in (3, 10, 1, 25, 7)]
    cut = LongLinesCut(ListDataset(rows, np.array([len(row) for row in rows])), limit=7)
    parts = [cut[i] for i in range(len(cut))]
    assert [len(part) for part in parts] == cut.sizes.tolist() == [3, 5, 5, 1, 6, 6, 6, 7, 7]
    assert torch.equal(torch.cat(parts), torch.cat(rows))


def test_targets_are_the_originals_at_drawn_positions_only():
    data = masked_dataset((20, 30, 11))
    for i in range(3):
        sample = data[i]
        drawn = sample["target"] != 1
        assert (sample["target"][drawn] == sample["original"][drawn]).all()
        assert (sample["source"][~drawn] == sample["original"][~drawn]).all()
        assert not np.isin(sample["original"][drawn], [0, 1, 2]).any()
        assert drawn.sum() == max(1, round(0.15 * len(drawn)))


def test_draws_change_with_the_epoch_but_not_for_validation():
    data, fixed = masked_dataset((200,)), masked_dataset((200,), fixed_masks=True)
    first, still = data[0]["target"].copy(), fixed[0]["target"].copy()
    for dataset in (data, fixed):
        dataset.set_epoch(2)
    assert (data[0]["target"] != first).any()
    assert (fixed[0]["target"] == still).all()


def test_draws_do_not_depend_on_the_order_of_access():
    ours, theirs = masked_dataset((50, 60, 70)), masked_dataset((50, 60, 70))
    _ = theirs[2], theirs[0]
    assert (ours[1]["source"] == theirs[1]["source"]).all()


def test_uniforms_stand_at_drawn_positions_and_differ():
    data = masked_dataset((400,), MaskingRule(0.85, 0.0), with_uniforms=True)
    sample = data[0]
    drawn = sample["target"] != 1
    assert len(set(sample["uniforms"][drawn].tolist())) == drawn.sum() and not sample["uniforms"][~drawn].any()
    assert sample["uniforms"].dtype == np.float64


def test_uniforms_change_with_the_epoch_but_not_for_validation():
    rule = MaskingRule(0.85, 0.0)
    data, fixed = (masked_dataset((400,), rule, with_uniforms=True, fixed_masks=fixed) for fixed in (False, True))
    first, still = data[0]["uniforms"], fixed[0]["uniforms"]
    for dataset in (data, fixed):
        dataset.set_epoch(2)
    assert set(data[0]["uniforms"].tolist()) & set(first.tolist()) == {0.0}  # 0 stands at positions not drawn
    assert (fixed[0]["uniforms"] == still).all()


def test_a_batch_says_whether_it_is_padded():
    even, odd = masked_dataset((12, 12)), masked_dataset((12, 15))
    assert not even.collater([even[0], even[1]])["net_input"]["has_padding"]
    batch = odd.collater([odd[0], odd[1]])
    assert batch["net_input"]["has_padding"]
    assert batch["net_input"]["src_tokens"].shape == (2, 15) and (batch["net_input"]["src_tokens"][0, 12:] == 1).all()
    assert batch["ntokens"] == 27


def test_every_epoch_has_an_order_of_its_own_with_like_lengths_together():
    data = masked_dataset(tuple([10] * 20 + [20] * 20))
    first = data.ordered_indices()
    data.set_epoch(2)
    second = data.ordered_indices()
    assert sorted(first) == sorted(second) == list(range(40)) and (first != second).any()
    assert (np.diff(data.sizes[first]) >= 0).all()


def test_a_full_block_of_real_tokens_is_masked_at_the_stated_rate():
    rows = blocks(tuple([128] * 50))
    data = MaskedDataset(rows, dictionary(), MaskingRule(0.8, 0.1), 1, np.arange(4, 44))
    drawn = sum((data[i]["target"] != 1).sum() for i in range(50))
    assert drawn == 50 * 19  # round(0.15 x 128)


def test_special_tokens_are_spared_wherever_a_dictionary_has_them():
    table = bert_dictionary()  # <s> is 3, </s> 4, the mask 5
    row = torch.tensor([3, *range(6, 16), 4, *range(6, 16), 4])
    rule = MaskingRule(0.5, 0.5, mask_prob=0.5)
    data = MaskedDataset(ListDataset([row], np.array([len(row)])), table, rule, 1, subword_ids(table))
    seen = set()
    for epoch in range(50):
        data.set_epoch(epoch)
        sample = data[0]
        drawn = sample["target"] != 0
        assert not drawn[[0, 11, 22]].any() and drawn.sum() == 12  # half of 23
        seen |= set(sample["source"][drawn].tolist())
    assert seen == {5, *range(6, 6 + len(WORDPIECE))}


def test_whole_words_are_drawn_where_words_start():
    starts = np.arange(47) % 2 == 0  # an even id starts a word
    rule = MaskingRule(0.8, 0.1, mask_prob=0.4, unit="word")
    data = MaskedDataset(blocks(tuple([40] * 20)), dictionary(), rule, 1, np.arange(4, 44), starts=starts)
    for i in range(20):
        sample = data[i]
        inside = np.flatnonzero(~starts[sample["original"]] & (np.arange(40) > 1) & (np.arange(40) < 39))
        drawn = sample["target"] != 1
        assert (drawn[inside] == drawn[inside - 1]).all() and 1 <= drawn.sum() <= 16


def test_ids_that_the_dictionary_has_not_are_refused(tmp_path):
    write_lines(tmp_path / "train", [[5, 2], [46, 2]])  # 46 is the mask, which no text holds
    with pytest.raises(InputError, match="line 2: token id 46 is not in dict.txt"):
        load_lines(str(tmp_path), "train", 1, dictionary(), False)
    assert len(load_lines(str(tmp_path), "train", 1, bert_dictionary_of(50), False)) == 2  # a mask amid the pieces


def bert_dictionary_of(entries: int):
    table = bert_dictionary()
    for number in range(entries):
        table.add_symbol(f"##{number}")
    return table
