"""Packed rows: every sequence once, none cut, next to no padding; and a row is worth its sequences alone."""

import numpy as np
import pytest
import torch
from fairseq.data import ListDataset
from model_helpers import SHAPE, Task, dictionary

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.data.packed import Packed
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel
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


BODIES = {
    "bert": lambda: AliBertModel(EncoderConfig(**SHAPE), dictionary()),
    "modern": lambda: ModernModel(ModernConfig(**SHAPE, local_attention=8), dictionary()),
    "electra": lambda: ElectraModel(ElectraConfig(**SHAPE), dictionary()),
    "electra, modern": lambda: ElectraModernModel(ElectraModernConfig(**SHAPE, local_attention=8), dictionary()),
}
SUMS = {
    "masked": ("loss", "correct", "sample_size"),
    "electra": ("generator_loss", "generator_correct", "discriminator_loss", "replaced", "flagged", "judged"),
    "electra, modern": ("generator_loss", "encoder_loss", "discriminator_loss", "replaced", "flagged", "judged"),
}


@pytest.mark.parametrize("body", BODIES)
def test_the_loss_of_packed_rows_is_that_of_their_sequences_alone(body):
    torch.manual_seed(0)
    packed, electra = Packed(sequences(40), ROOM, seed=1), body.startswith("electra")
    data = MaskedDataset(packed, dictionary(), MaskingRule(1.0, 0.0), 1, np.arange(4, 44), with_uniforms=electra)
    batch = data.collater([data[index] for index in range(len(data))])
    assert batch["net_input"]["has_padding"] and (batch["net_input"]["sequences"] == -1).any()
    model, sums = BODIES[body]().double().eval(), SUMS.get(body, SUMS["masked"])
    mlm, detection = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task), ElectraLoss(ElectraCriterionConfig(), Task)
    criterion = detection if electra else mlm
    together, alone = criterion(model, batch)[2], dict.fromkeys(sums, 0.0)
    for index in range(len(data)):
        sample, numbers = data[index], packed.numbers(index)
        for number in range(numbers.max() + 1):
            own = torch.from_numpy(numbers == number)
            one = {name: torch.from_numpy(value)[own][None] for name, value in sample.items() if name != "id"}
            inputs = {"src_tokens": one["source"]}
            if electra:
                inputs |= {name: one[name] for name in ("original", "uniforms")}
            own_batch = {"net_input": inputs, "target": one["target"], "ntokens": 1, "nsentences": 1}
            logged = criterion(model, own_batch)[2]
            alone = {name: alone[name] + float(logged[name]) for name in sums}
    assert {name: float(together[name]) for name in sums} == pytest.approx(alone, rel=1e-9)
    assert together["sample_size"] > 40 and alone[sums[0]] > 100
