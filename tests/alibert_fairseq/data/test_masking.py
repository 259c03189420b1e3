"""Which tokens are drawn, in which units, and what becomes of them."""

import hashlib

import numpy as np
import pytest

from alibert_fairseq.data.mask_units import cut_short, select_units, whole_or_none, words_of
from alibert_fairseq.data.masking import MaskedPositions, MaskingRule, corrupt, generator_for, select_tokens

BERT = MaskingRule(mask_share=0.8, random_share=0.1)
ELECTRA = MaskingRule(mask_share=0.85, random_share=0.0)
MASK, PIECES = 999, np.arange(4, 990)
UNITS = ("word", "ngram", "span")


def draw(rule, index, length=200, special=()):
    tokens = np.arange(length) % 900 + 4
    candidates = np.ones(length, dtype=bool)
    candidates[list(special)] = False
    generator = generator_for(1, 1, index)
    drawn = select_units(candidates, np.ones(length, dtype=bool), rule, generator)
    return tokens, drawn.positions, corrupt(tokens, drawn, rule, MASK, PIECES, generator)


def test_tokens_are_drawn_as_before_there_were_units():
    """Digest of what the code drew before there were units, so that older runs resume with the same masks."""
    digest = hashlib.sha256()
    for rule in (BERT, ELECTRA):
        for index in range(200):
            tokens = (np.arange(20 + index) * 7 + index) % 40 + 4
            tokens[[0, -1]] = 0, 2
            generator = generator_for(3, 2, index)
            drawn = select_units(~np.isin(tokens, [0, 1, 2, 46]), None, rule, generator)
            corrupted = corrupt(tokens, drawn, rule, 46, np.arange(4, 44), generator)
            digest.update(drawn.positions.astype(np.int64).tobytes() + corrupted.astype(np.int64).tobytes())
            digest.update(generator.random(len(drawn.positions)).tobytes())
            if index == 22:
                assert drawn.positions.tolist() == [5, 8, 17, 21, 27, 33]
    assert digest.hexdigest() == "1a9f368ea72755f539aee43dc405b9ed990e7cffffa110aa22d4bff302dcaccd"


def test_exactly_the_share_is_drawn_each_position_once():
    for length in (10, 128, 512):
        _, positions, _ = draw(BERT, 0, length)
        assert len(positions) == round(0.15 * length) == len(set(positions.tolist()))


@pytest.mark.parametrize("unit", ("token", *UNITS))
def test_specials_are_never_drawn(unit):
    for index in range(300):
        _, positions, _ = draw(MaskingRule(0.8, 0.1, unit=unit), index, 20, special=(0, 7, 19))
        assert len(positions) == 3 and not {0, 7, 19} & set(positions.tolist())


def test_every_other_position_is_drawn_equally_often():
    counts = np.zeros(40)
    for index in range(5000):
        counts[draw(BERT, index, 40, special=(0, 39))[1]] += 1
    share = counts[1:-1] / counts.sum()  # 38 places, 30,000 draws: standard deviation 0.00093
    assert np.abs(share - 1 / 38).max() < 5 * 0.00093


@pytest.mark.parametrize("unit", ("token", *UNITS))
def test_a_sequence_of_specials_only_has_nothing_to_draw(unit):
    rule = MaskingRule(0.8, 0.1, unit=unit)
    drawn = select_units(np.zeros(3, dtype=bool), np.ones(3, dtype=bool), rule, generator_for(1, 1, 1))
    assert len(drawn.positions) == 0
    assert (corrupt(np.arange(3), drawn, rule, MASK, PIECES, generator_for(1, 1, 1)) == np.arange(3)).all()


@pytest.mark.parametrize("unit", ("token", *UNITS))
def test_no_more_than_the_limit_is_drawn(unit):
    for limit, number in ((20, 20), (200, 77)):  # 20 of 512 tokens are 3.9 %
        rule = MaskingRule(0.8, 0.1, unit=unit, max_predictions=limit)
        assert len(draw(rule, 0, 512)[1]) == number


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


def test_random_pieces_are_the_allowed_ones():
    rule, allowed = MaskingRule(mask_share=0.0, random_share=1.0), np.array([5, 6, 70, 800])
    seen = set()
    for index in range(100):
        generator = generator_for(1, 1, index)
        drawn = select_tokens(np.ones(100, dtype=bool), 15, generator)
        seen |= set(corrupt(np.zeros(100, dtype=int), drawn, rule, MASK, allowed, generator)[drawn.positions].tolist())
    assert seen == set(allowed.tolist())


def test_draws_depend_on_seed_epoch_and_index_only():
    def first(*key):
        return generator_for(*key).random()

    assert first(1, 2, 3) == first(1, 2, 3)
    assert len({first(1, 2, 3), first(2, 2, 3), first(1, 3, 3), first(1, 2, 4)}) == 4


@pytest.mark.parametrize("shares", [(0.8, 0.3), (-0.1, 0.1)])
def test_shares_that_cannot_be_are_refused(shares):
    with pytest.raises(ValueError, match="<mask>, .* random and .* unchanged, must be 0 or more$"):
        MaskingRule(*shares)


def test_a_limit_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="max_predictions must be 0"):
        MaskingRule(0.8, 0.1, max_predictions=-1)


#            <s> ▁fi èvre ▁à </s> re chute ▁œ dème </s>
CANDIDATES = [0, 1, 1, 1, 0, 1, 1, 1, 1, 0]
STARTS = [0, 1, 0, 1, 0, 0, 0, 1, 0, 0]  # of "re" too: nothing marks it, but it follows a special token


def test_words_begin_at_their_mark_and_after_a_special_token():
    words = words_of(np.array(CANDIDATES, dtype=bool), np.array(STARTS, dtype=bool))
    assert words.first.tolist() == [1, 3, 5, 7]
    assert words.ends.tolist() == [0, 2, 3, 5, 7]
    assert words.left.tolist() == [2, 1, 2, 1]


def random_sequence(generator):
    """(candidates, starts) of 60 tokens in segments, in words of some two pieces."""
    candidates = generator.random(60) > 0.05
    candidates[[0, -1]] = False
    return candidates, generator.random(60) < 0.5


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_whole_words_side_by_side_and_fill_the_number_to_draw(unit):
    rule = MaskingRule(0.8, 0.1, unit=unit)
    longest = {"word": 1, "ngram": 3, "span": 10}[unit]
    lengths = set()
    for index in range(2000):
        candidates, starts = random_sequence(generator_for(2, 1, index))
        drawn = select_units(candidates, starts, rule, generator_for(1, 1, index))
        words = words_of(candidates, starts)
        word_of = np.repeat(np.arange(len(words.first)), np.diff(words.ends))
        word_at = dict(zip(np.flatnonzero(candidates).tolist(), word_of.tolist(), strict=True))
        for number in set(drawn.units.tolist()):
            places = drawn.positions[drawn.units == number].tolist()
            assert places == list(range(places[0], places[-1] + 1))  # not across a special token, which is no candidate
            inside = sorted({word_at[place] for place in places})
            assert len(places) == words.ends[inside[-1] + 1] - words.ends[inside[0]]  # all pieces of its words
            lengths.add(len(inside))
        left = 9 - len(drawn.positions)  # round(0.15 x 60)
        undrawn = set(word_at.values()) - {word_at[place] for place in drawn.positions.tolist()}
        assert len(set(drawn.positions.tolist())) == len(drawn.positions) and left >= 0
        if unit != "ngram":  # an n-gram that meets a drawn word is given up, with the word it begins at
            assert not [word for word in undrawn if words.ends[word + 1] - words.ends[word] <= left]
    assert max(lengths) <= longest and lengths >= set(range(1, min(longest, 6) + 1))


def test_a_unit_that_does_not_fit():
    ends, free = [0, 1, 3, 5, 6, 8], [True, True, True, False, True]
    assert whole_or_none(0, 3, 99, ends, free) == cut_short(0, 3, 99, ends, free) == 3
    assert whole_or_none(0, 3, 4, ends, free) == cut_short(0, 3, 4, ends, free) == 2  # the third word ends at 5
    assert whole_or_none(2, 1, 4, ends, free) == cut_short(2, 1, 4, ends, free) == 0
    assert (whole_or_none(1, 3, 99, ends, free), cut_short(1, 3, 99, ends, free)) == (0, 2)  # the fourth word is drawn
    assert whole_or_none(1, 3, 5, ends, free) == 2  # shorter, and so beside the drawn word
    assert whole_or_none(3, 1, 99, ends, free) == cut_short(3, 1, 99, ends, free) == 0


NGRAM = np.array([6, 3, 2]) / 11  # 1, 1/2 and 1/3, made to sum to 1
SPAN = 0.2 * 0.8 ** np.arange(10) / (1 - 0.8**10)


@pytest.mark.parametrize(("unit", "law"), [("ngram", NGRAM), ("span", SPAN)])
def test_the_lengths_of_units_follow_their_law(unit, law):
    """The first unit of each sequence, which none stands in the way of, 30 words before a special token or more."""
    rule = MaskingRule(0.8, 0.1, mask_prob=0.3, unit=unit)
    counts = np.zeros(len(law))
    for index in range(5000):
        candidates = np.ones(200, dtype=bool)
        drawn = select_units(candidates, candidates, rule, generator_for(1, 1, index))
        first = drawn.positions[drawn.units == 0]
        if first[0] < 170:
            counts[len(first) - 1] += 1
    deviation = np.sqrt(law * (1 - law) / counts.sum())
    assert (np.abs(counts / counts.sum() - law) < 5 * deviation).all()


def test_near_a_special_token_ngrams_keep_their_proportions_and_spans_are_cut():
    candidates = np.array([False, True, True, False])
    counts = {"ngram": 0, "span": 0}
    for unit in counts:
        rule = MaskingRule(0.8, 0.1, mask_prob=0.5, unit=unit)
        for index in range(4000):
            drawn = select_units(candidates, np.ones(4, dtype=bool), rule, generator_for(1, 1, index))
            first = drawn.positions[drawn.units == 0].tolist()
            counts[unit] += first == [1, 2]
    # Half the first units begin at the first word; two words: 1/3 of the n-grams of 1 or 2, 1 - p(1) of the spans.
    for unit, share in (("ngram", 1 / 3), ("span", 1 - SPAN[0])):
        assert counts[unit] / 4000 == pytest.approx(share / 2, abs=5 * 0.0077)


def test_a_span_has_one_fate_and_a_word_has_one_for_each_piece():
    tokens = np.zeros(90, dtype=np.int64)
    drawn = MaskedPositions(np.arange(90), np.repeat(np.arange(30), 3))
    for unit, mixed_share in (("span", 0.0), ("word", 1 - 0.8**3 - 2 * 0.1**3)):
        mixed = 0
        for index in range(100):
            rule = MaskingRule(0.8, 0.1, unit=unit)
            corrupted = corrupt(tokens, drawn, rule, MASK, PIECES, generator_for(1, 1, index))
            kinds = np.where(corrupted == MASK, 1, np.where(corrupted == 0, 2, 3)).reshape(30, 3)
            mixed += (kinds != kinds[:, :1]).any(1).sum()
            assert unit == "word" or len(set(kinds[:, 0].tolist())) > 1  # but not one fate for all spans
        assert mixed / 3000 == pytest.approx(mixed_share, abs=5 * 0.0092)  # standard deviation sqrt(p (1 - p) / 3000)


def rates_by_word_length(selection):
    """Share of the words of 1 to 5 subwords that are masked, and masked positions per sequence: 4,000 sequences."""
    rule = MaskingRule(0.8, 0.1, unit="word", word_selection=selection)
    generator = np.random.default_rng(5)
    seen, masked, positions = np.zeros(6), np.zeros(6), 0
    for index in range(4000):
        sizes = generator.integers(1, 6, size=20)
        ends = np.concatenate(([0], sizes.cumsum()))
        starts = np.isin(np.arange(ends[-1]), ends)
        chosen = select_units(np.ones(ends[-1], dtype=bool), starts, rule, generator_for(1, 1, index))
        whole = np.isin(ends[:-1], chosen.positions)
        assert len(chosen.positions) == sizes[whole].sum()  # all subwords of each word
        seen += np.bincount(sizes, minlength=6)
        masked += np.bincount(sizes[whole], minlength=6)
        positions += len(chosen.positions) - 0.15 * ends[-1]
    return masked[1:] / seen[1:], positions / 4000


def test_words_of_every_length_are_masked_with_the_same_probability_by_uniform_selection():
    """16,000 words of each length: a standard deviation of 0.0028; 0.01 is beyond 3.5 of them."""
    rates, excess = rates_by_word_length("uniform")
    assert rates == pytest.approx([0.15] * 5, abs=0.01)
    assert abs(excess) < 0.25  # positions; round(0.15 T) is off by less than 0.05, the standard deviation is 0.04


def test_berts_selection_masks_long_words_less_often():
    rates, excess = rates_by_word_length("bert")
    assert rates[0] > 0.17 and rates[4] < 0.12 and (np.diff(rates) < 0).all() and abs(excess) < 0.25


def test_uniform_selection_is_for_whole_words_without_a_limit():
    for wrong in ({"unit": "span"}, {"unit": "word", "max_predictions": 20}):
        with pytest.raises(ValueError, match="uniform needs --mask-unit word and no --max-predictions"):
            MaskingRule(0.8, 0.1, word_selection="uniform", **wrong)
    nothing = select_units(
        np.zeros(3, dtype=bool), np.ones(3, dtype=bool), MaskingRule(0.8, 0.1, unit="word", word_selection="uniform"),
        generator_for(1, 1, 1),
    )  # fmt: skip
    assert len(nothing.positions) == 0
