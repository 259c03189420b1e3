"""A batch at a point of the run: thinner masks and shorter rows, drawn with the sample and reported in one sentence."""

import numpy as np
import pytest
import torch
from fairseq import utils
from fairseq.data import ListDataset
from model_helpers import dictionary

from alibert_common.errors import InputError
from alibert_fairseq.data.curriculum import Curriculum, causal, parse_lengths, shortened, thinned
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule

PAD, BEGIN = 1, 0


def batch(length: int = 64, unit: str = "token", with_uniforms: bool = False) -> dict:
    """Of four sequences with 40 % masked."""
    rows = [torch.from_numpy(np.random.default_rng(n).integers(4, 44, length)) for n in range(4)]
    starts = np.arange(len(dictionary())) % 3 == 0  # words of several subwords
    rule = MaskingRule(0.8, 0.1, mask_prob=0.4, unit=unit)
    data = MaskedDataset(
        ListDataset(rows, [length] * 4), dictionary(), rule, 1, np.arange(4, 44), starts=starts,
        with_uniforms=with_uniforms, thinned=True,
    )  # fmt: skip
    return data.collater([data[index] for index in range(4)])


def test_thinning_changes_no_random_number_that_was_drawn_before():
    thick = batch(with_uniforms=True)
    rows = [torch.from_numpy(np.random.default_rng(n).integers(4, 44, 64)) for n in range(4)]
    plain = MaskedDataset(ListDataset(rows, [64] * 4), dictionary(), MaskingRule(0.8, 0.1, mask_prob=0.4), 1,
        np.arange(4, 44), with_uniforms=True)  # fmt: skip
    other = plain.collater([plain[index] for index in range(4)])
    assert torch.equal(thick["target"], other["target"]) and "thinning" not in other
    assert all(torch.equal(thick["net_input"][n], other["net_input"][n]) for n in ("src_tokens", "uniforms"))


@pytest.mark.parametrize("share", [1.0, 0.8, 0.5, 0.1])
def test_each_row_keeps_its_share_of_masks_and_the_rest_has_its_own_token_again(share):
    whole = batch(with_uniforms=True)
    thin = thinned(whole, share, PAD)
    before, after = whole["target"].ne(PAD), thin["target"].ne(PAD)
    assert before.sum(1).tolist() == [26] * 4 and after.sum(1).tolist() == [round(26 * share)] * 4
    assert (before | ~after).all()
    seen, original = thin["net_input"]["src_tokens"], whole["net_input"]["original"]
    assert torch.equal(seen[~after], original[~after])
    assert torch.equal(seen[after], whole["net_input"]["src_tokens"][after])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_share_is_exact_in_every_precision(dtype):
    """fairseq hands the float32 tensors of a batch over in the precision of the model."""
    whole = utils.apply_to_sample(lambda t: t.to(dtype) if t.dtype is torch.float32 else t, batch(length=2000))
    for kept in (1, 401, 563, 799):
        share = np.nextafter((kept - 0.5) / 800, 1)  # just enough for one more
        assert thinned(whole, share, PAD)["target"].ne(PAD).sum(1).tolist() == [kept] * 4


def test_a_smaller_share_keeps_a_part_of_what_a_larger_one_keeps():
    whole = batch()
    large, small = (thinned(whole, share, PAD)["target"].ne(PAD) for share in (0.6, 0.3))
    assert (large | ~small).all() and not torch.equal(large, small)


def test_words_are_kept_or_given_back_whole():
    whole = batch(unit="word")
    kept = thinned(whole, 0.5, PAD)["target"].ne(PAD)
    order, masked = whole["thinning"], whole["target"].ne(PAD)
    for row in range(4):
        for value in order[row][masked[row]].unique():
            assert len(kept[row][(order[row] == value) & masked[row]].unique()) == 1


def test_shorter_rows_hold_the_same_tokens_in_the_same_order():
    whole = batch(with_uniforms=True)
    short = shortened(whole, 16)
    assert (whole["nsentences"], short["nsentences"]) == (4, 16)
    assert short["target"].shape == (16, 16) and torch.equal(short["target"].flatten(), whole["target"].flatten())
    for name in ("src_tokens", "original", "uniforms"):
        assert torch.equal(short["net_input"][name].flatten(), whole["net_input"][name].flatten())
    padded = whole | {"net_input": whole["net_input"] | {"has_padding": True}}
    assert shortened(padded, 16) is padded and shortened(whole, 64) is whole and shortened(whole, 48) is whole


def test_the_rate_falls_linearly_and_lengths_grow():
    curriculum = Curriculum(0.3, 0.15, ((0.5, 16), (0.8, 32)))
    assert [curriculum.masked_share(p) for p in (0, 0.5, 1, 2)] == pytest.approx([1, 0.75, 0.5, 0.5])
    assert [curriculum.length(p) for p in (0, 0.49, 0.5, 0.79, 0.8, 1)] == [16, 16, 32, 32, None, None]
    plain = batch()
    assert Curriculum(0.3, 0.3).apply(plain, 0.5, 7, PAD, BEGIN) is plain


def test_a_causal_batch_has_no_masks_and_predicts_the_next_token_of_the_same_sequence():
    whole = batch()
    tokens = whole["target"].where(whole["target"].ne(PAD), whole["net_input"]["src_tokens"])
    tokens[0, 9], numbers = BEGIN, torch.zeros_like(tokens)
    numbers[1, 20:] = 1
    inputs = whole["net_input"] | {"src_tokens": tokens, "sequences": numbers}
    made = causal(whole | {"net_input": inputs, "target": torch.full_like(tokens, PAD)}, PAD, BEGIN)
    assert made["net_input"]["causal"] and torch.equal(made["net_input"]["src_tokens"], tokens)
    following = made["target"]
    assert (following[:, -1] == PAD).all() and following[0, 8] == PAD and following[1, 19] == PAD
    following[0, 8], following[1, 19] = BEGIN, tokens[1, 20]
    assert torch.equal(following[:, :-1], tokens[:, 1:])
    assert torch.equal(causal(whole, PAD, BEGIN)["net_input"]["src_tokens"][1:], tokens[1:])  # masks are taken back


def test_causal_updates_are_evenly_spread():
    found = [update for update in range(64) if Curriculum(0.3, 0.3, causal=1 / 16).is_causal(update, 0.5)]
    assert found == [15, 31, 47, 63]
    assert not any(Curriculum(0.3, 0.3).is_causal(update, 0.0) for update in range(64))
    made = [Curriculum(0.3, 0.3, causal=0.5).apply(batch(), 0, update, PAD, BEGIN) for update in (0, 1)]
    assert ["causal" in one["net_input"] for one in made] == [False, True]


def test_the_detour_predicts_the_next_token_until_a_share_of_the_run():
    curriculum = Curriculum(0.3, 0.3, causal_until=0.91)
    made = [curriculum.apply(batch(), progress, 7, PAD, BEGIN) for progress in (0, 0.909, 0.91, 1)]
    assert ["causal" in one["net_input"] for one in made] == [True, True, False, False]


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("32", "give SHARE:LENGTH"), ("0.5:x", "give SHARE:LENGTH"), ("0.5:32,0.4:64", "must rise"),
        ("0:32", "must rise"), ("1.5:32", "must rise"), ("0.5:48", "must divide --tokens-per-sample 128"),
        ("0.5:0", "must divide"), (",", "give SHARE:LENGTH"),
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_is_refused(text, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_lengths(text, 128)


def test_a_schedule_is_read():
    assert parse_lengths("0.5:32,0.85:64", 128) == ((0.5, 32), (0.85, 64)) and parse_lengths("", 128) == ()
