"""Which tokens are drawn, and what becomes of them."""

import numpy as np
import pytest

from alibert_fairseq.data.masking import MaskingRule, corrupt, generator_for, select_positions

BERT = MaskingRule(mask_share=0.8, random_share=0.1)
ELECTRA = MaskingRule(mask_share=0.85, random_share=0.0)
MASK, PIECES = 999, (4, 990)


def draw(rule, index, length=200, special=()):
    tokens = np.arange(length) % 900 + 4
    candidates = np.ones(length, dtype=bool)
    candidates[list(special)] = False
    generator = generator_for(1, 1, index)
    positions = select_positions(candidates, rule.mask_prob, generator)
    return tokens, positions, corrupt(tokens, positions, rule, MASK, PIECES, generator)


def test_exactly_the_share_is_drawn_each_position_once():
    for length in (10, 128, 512):
        _, positions, _ = draw(BERT, 0, length)
        assert len(positions) == round(0.15 * length) == len(set(positions.tolist()))


def test_specials_are_never_drawn():
    for index in range(300):
        _, positions, _ = draw(BERT, index, 20, special=(0, 7, 19))
        assert not {0, 7, 19} & set(positions.tolist())


def test_every_other_position_is_drawn_equally_often():
    counts = np.zeros(40)
    for index in range(5000):
        counts[draw(BERT, index, 40, special=(0, 39))[1]] += 1
    share = counts[1:-1] / counts.sum()  # 38 places, 30,000 draws: standard deviation 0.00093
    assert np.abs(share - 1 / 38).max() < 5 * 0.00093


def test_a_sequence_of_specials_only_has_nothing_to_draw():
    assert len(select_positions(np.zeros(3, dtype=bool), 0.15, generator_for(1, 1, 1))) == 0


@pytest.mark.parametrize(("rule", "masked", "random"), [(BERT, 0.8, 0.1), (ELECTRA, 0.85, 0.0)])
def test_the_fates_have_their_shares(rule, masked, random):
    fates = np.zeros(3)
    for index in range(2000):  # 60,000 draws: standard deviation at most 0.0017
        tokens, positions, corrupted = draw(rule, index)
        seen = corrupted[positions]
        fates += [
            (seen == MASK).sum(),
            ((seen != MASK) & (seen != tokens[positions])).sum(),
            (seen == tokens[positions]).sum(),
        ]
        untouched = np.setdiff1d(np.arange(len(tokens)), positions)
        assert (corrupted[untouched] == tokens[untouched]).all()
    shares = fates / fates.sum()
    assert shares[0] == pytest.approx(masked, abs=0.008)
    assert shares[1] == pytest.approx(random, abs=0.008)  # a random piece equals the original once in 986


def test_random_pieces_are_pieces():
    rule = MaskingRule(mask_share=0.0, random_share=1.0)
    seen = np.concatenate([draw(rule, index)[2][draw(rule, index)[1]] for index in range(1000)])
    assert seen.min() >= PIECES[0] and seen.max() < PIECES[1]
    assert len(set(seen.tolist())) > 900


def test_draws_depend_on_seed_epoch_and_index_only():
    def first(*key):
        return generator_for(*key).random()

    assert first(1, 2, 3) == first(1, 2, 3)
    assert len({first(1, 2, 3), first(2, 2, 3), first(1, 3, 3), first(1, 2, 4)}) == 4


@pytest.mark.parametrize("shares", [(0.8, 0.3), (-0.1, 0.1)])
def test_shares_that_cannot_be_are_refused(shares):
    with pytest.raises(ValueError, match="must sum"):
        MaskingRule(*shares)
