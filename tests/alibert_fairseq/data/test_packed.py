"""Packed rows: every sequence once, none cut, next to no padding; and a row is worth its sequences alone."""

import numpy as np
import pytest
import torch
from fairseq.data import ListDataset
from model_helpers import SHAPE, Task, dictionary

from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.data.packed import Packed
from alibert_fairseq.models.modern import ModernConfig, ModernModel

ROOM = 32


def sequences(number: int = 200):
    lengths = np.random.default_rng(0).integers(3, ROOM + 1, number)
    rows = [torch.cat([torch.zeros(1).long(), torch.randint(4, 44, (int(n) - 1,))]) for n in lengths]
    return ListDataset(rows, lengths)


def test_every_sequence_is_in_one_row_whole_and_rows_are_nearly_full():
    source = sequences()
    packed = Packed(source, ROOM, seed=1)
    assert sorted(packed.members.tolist()) == list(range(200)) and packed.sizes.max() <= ROOM
    assert packed.sizes.sum() / (len(packed) * ROOM) > 0.9
    for index in range(len(packed)):
        row, numbers, members = packed[index], packed.numbers(index), packed._row(index)
        assert len(row) == len(numbers) == packed.size(index)
        for place, member in enumerate(members):
            assert torch.equal(row[torch.from_numpy(numbers == place)], source[int(member)])


def test_rows_depend_on_seed_and_epoch_alone_and_fixed_ones_on_the_seed():
    first, again, other = (Packed(sequences(), ROOM, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.members, again.members) and not np.array_equal(first.members, other.members)
    again.set_epoch(2)
    assert not np.array_equal(first.members, again.members)
    again.set_epoch(1)
    assert np.array_equal(first.members, again.members)
    fixed = Packed(sequences(), ROOM, 1, fixed=True)
    before = fixed.members.copy()
    fixed.set_epoch(2)
    assert np.array_equal(before, fixed.members)


def test_no_sequences_give_no_rows():
    assert len(Packed(ListDataset([], np.zeros(0, dtype=int)), ROOM, 1)) == 0


def test_the_loss_of_packed_rows_is_that_of_their_sequences_alone():
    torch.manual_seed(0)
    packed = Packed(sequences(40), ROOM, seed=1)
    data = MaskedDataset(packed, dictionary(), MaskingRule(1.0, 0.0), 1, np.arange(4, 44))
    batch = data.collater([data[index] for index in range(len(data))])
    assert batch["net_input"]["has_padding"] and (batch["net_input"]["sequences"] == -1).any()
    model = ModernModel(ModernConfig(**SHAPE, local_attention=8), dictionary()).double().eval()
    criterion = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)
    together, count, _ = criterion(model, batch)
    alone = 0.0
    for index in range(len(data)):
        sample, numbers = data[index], packed.numbers(index)
        for number in range(numbers.max() + 1):
            own = torch.from_numpy(numbers == number)
            one = {name: torch.from_numpy(sample[key])[own][None] for name, key in (("ids", "source"), ("t", "target"))}
            if one["t"].ne(1).any():
                inputs = {"src_tokens": one["ids"], "has_padding": False}
                alone += criterion(model, {"net_input": inputs, "target": one["t"], "ntokens": 1, "nsentences": 1})[0]
    assert together.item() == pytest.approx(alone.item(), rel=1e-12) and count > 40
