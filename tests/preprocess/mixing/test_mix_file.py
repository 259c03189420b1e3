"""The law of a mix: its file, its weights, how often a document is used in an epoch, and in which order."""

import json

import numpy as np
import pytest

from alibert_common.errors import InputError
from preprocess.mixing.mix_file import (
    Use,
    copies,
    describe,
    equal_weights,
    order_of_use,
    parse_weights,
    read_mix,
    temperature_weights,
    write_mix,
)

OUBIOBERT = {"core": 10.0, "satellite": 1.0}


def test_what_is_written_is_read_in_the_order_of_the_splits(tmp_path):
    write_mix(tmp_path, OUBIOBERT)
    assert json.loads((tmp_path / "mix.json").read_text()) == {
        "corpora": [
            {"name": "core", "weight": 10.0, "split": "train"},
            {"name": "satellite", "weight": 1.0, "split": "train1"},
        ]
    }
    assert list(read_mix(tmp_path).items()) == [("core", 10.0), ("satellite", 1.0)]
    assert list(read_mix(tmp_path, "satellite=0.5,core=2").items()) == [("core", 2.0), ("satellite", 0.5)]
    assert read_mix(tmp_path.parent) is None


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ("core=3", "--mix-weights leaves out satellite; give a weight for each of core, satellite."),
        ("core=3,satellite=1,web=1", "--mix-weights names web, which it has not; give a weight for each of core"),
        ("core=3,satellite", "'core=3,satellite': write name=weight,name=weight"),
        ("core=3,satellite=0", "with weights above 0"),
        ("core=3,satellite=nan", "with weights above 0"),
        ("core=3,satellite=inf", "with weights above 0"),
        ("core=3,satellite=1e308", "and at most 1,000,000"),
        ("core=3,satellite=1,core=2", "each name once"),
        ("=3,satellite=1", "write name=weight"),
    ],
)
def test_weights_that_do_not_fit_the_file_are_refused(weights, sentence, tmp_path):
    write_mix(tmp_path, OUBIOBERT)
    with pytest.raises(InputError) as refusal:
        read_mix(tmp_path, weights)
    assert sentence in str(refusal.value) and "\n" not in str(refusal.value)


def test_weights_without_a_mix_are_refused(tmp_path):
    with pytest.raises(InputError, match="mix.json: no such file.*leave out --mix-weights"):
        read_mix(tmp_path, "core=3")


def entry(name="core", weight=1.0, split="train"):
    return {"name": name, "weight": weight, "split": split}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "not corpora with name"),
        ("[]", "not corpora with name"),
        (json.dumps({"corpora": [{"name": "core", "weight": 1}]}), "not corpora with name"),
        (json.dumps({"corpora": [entry(weight="10")]}), "not corpora with name"),
        (json.dumps({"corpora": [entry(name=3)]}), "not corpora with name"),
        (json.dumps({"corpora": []}), "its splits must be train, train1"),
        (json.dumps({"corpora": [entry(split="valid")]}), "its splits must be train, train1"),
        (json.dumps({"corpora": [entry(), entry("web")]}), "its splits must be train, train1"),
        (json.dumps({"corpora": [entry(), entry(split="train1")]}), "each with its own name"),
        (json.dumps({"corpora": [entry(weight=0)]}), "'core' must be a name .* its weight more than 0"),
        (json.dumps({"corpora": [entry(weight=float("inf"))]}), "its weight more than 0"),
        (json.dumps({"corpora": [entry(name="a=b")]}), "'a=b' must be a name without space, comma and '='"),
    ],
)
def test_a_file_that_says_no_mix_is_refused(content, sentence, tmp_path):
    (tmp_path / "mix.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=sentence) as refusal:
        read_mix(tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path / 'mix.json'}: ") and "\n" not in str(refusal.value)


def test_a_bad_mix_is_not_written(tmp_path):
    for weights in ({}, {"core": 0.0}, {"a b": 1.0}):
        with pytest.raises(InputError):
            write_mix(tmp_path, weights)
    assert not list(tmp_path.iterdir())


def test_weights_of_a_command_line():
    assert parse_weights("core=10,satellite=1e-1") == {"core": 10.0, "satellite": 0.1}


def test_equal_weights_are_the_ratio_of_the_sizes():
    assert equal_weights([1.8, 18]) == pytest.approx([10, 1])  # ouBioBERT, Table 2: GB of fP and oP
    assert equal_weights([18, 1.8]) == pytest.approx([1, 10])
    assert equal_weights([2, 3, 6]) == pytest.approx([3, 2, 1])
    sides = ["core", "satellite", "satellite"]  # Table 2: sP beside Wikipedia and BooksCorpus
    weights = equal_weights([0.2, 13, 5], sides)
    assert weights == pytest.approx([90, 1, 1])
    assert 0.2 * weights[0] == pytest.approx(13 * weights[1] + 5 * weights[2])


@pytest.mark.parametrize("alpha", [1.0, 0.7, 0.3, 0.0])
def test_shares_are_proportional_to_a_power_of_the_size(alpha):
    sizes = np.array([3.0, 40.0, 100.0, 100.0])
    weights = np.array(temperature_weights(sizes, alpha))
    used = sizes * weights
    expected = (sizes / sizes.sum()) ** alpha  # multilingual BERT: exponentiate the shares, normalise
    assert used / used.sum() == pytest.approx(expected / expected.sum())
    assert weights.min() == pytest.approx(1) == weights[2]  # nothing is left out, the largest is used once
    # google-research/bert, multilingual.md: a language of 1000 times the text is sampled 100 times as often with 0.7
    small, large = temperature_weights([1.0, 1000.0], 0.7)
    assert large * 1000 / small == pytest.approx(1000**0.7) == pytest.approx(126, rel=0.01)


@pytest.mark.parametrize(("sizes", "alpha"), [([1, 2], 1.1), ([1, 2], -0.1), ([0, 2], 0.5)])
def test_powers_and_sizes_that_cannot_be_are_refused(sizes, alpha):
    with pytest.raises(InputError, match="must lie between 0 and 1, and every corpus must hold text"):
        temperature_weights(sizes, alpha)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [(10, {10: 1000}), (2.5, {2: 500, 3: 500}), (0.5, {0: 500, 1: 500}), (0.003, {0: 997, 1: 3}), (1, {1: 1000})],
)
def test_a_weight_is_how_often_documents_are_used(weight, expected):
    counts = copies(1000, weight, seed=1, epoch=1, corpus=0)
    values, numbers = np.unique(counts, return_counts=True)
    assert dict(zip(values.tolist(), numbers.tolist(), strict=True)) == expected


def test_the_part_that_is_used_once_more_is_drawn_anew_every_epoch_and_evenly():
    draws = np.stack([copies(1000, 0.25, 3, epoch, 0) for epoch in range(1, 201)])
    assert (draws == np.stack([copies(1000, 0.25, 3, epoch, 0) for epoch in range(1, 201)])).all()
    overlap = (draws[0] & draws[1]).sum()
    assert 40 <= overlap <= 85  # hypergeometric: 62.5, deviation 6
    used = draws.sum(0)  # binomial of 200 and 1/4: 50, deviation 6.1
    assert 25 <= used.min() and used.max() <= 77  # four deviations
    assert used.std() == pytest.approx(6.12, rel=0.1)
    other_seed, other_corpus = copies(1000, 0.25, 4, 1, 0), copies(1000, 0.25, 3, 1, 1)
    assert (draws[0] & other_seed).sum() < 100 and (draws[0] & other_corpus).sum() < 100


def test_the_order_has_every_copy_once_and_mixes_homogeneously():
    counts = [copies(30, 20.0, 1, 1, 0), copies(600, 1.0, 1, 1, 1)]
    order = order_of_use(counts, seed=1, epoch=1)
    assert (np.bincount(order, minlength=630) == np.concatenate(counts)).all()
    shares = (order < 30).reshape(12, 100).mean(1)  # of the core, in twelve stretches: 0.5, deviation 0.048
    assert 0.3 < shares.min() and shares.max() < 0.7
    gaps = [np.diff(np.flatnonzero(order == number)) for number in range(30)]
    assert np.concatenate(gaps).mean() == pytest.approx(1200 / 21, rel=0.1)  # 20 copies leave 21 gaps alike long
    assert (order == order_of_use(counts, 1, 1)).all()
    for other in (order_of_use(counts, 1, 2), order_of_use(counts, 2, 1)):
        assert (order != other).mean() > 0.9


def test_the_report_has_shares_and_amplification():
    core, satellite = describe([Use("core", 30, 10.0, 2_000, 20_000), Use("satellite", 300, 1.0, 20_000, 20_000)])
    assert core == (
        "core: 30 documents, weight 10, 20,000 tokens an epoch, 50.0% of the mix (9.1% unmixed), amplified 10 times"
    )
    assert satellite.endswith("50.0% of the mix (90.9% unmixed), amplified 1 times")
    halved = describe([Use("a", 9, 5.0, 10, 50.4), Use("b", 9, 0.5, 10, 5.0)], "bytes")
    assert "50 bytes an epoch, 91.0% of the mix (50.0% unmixed), amplified 10 times" in halved[0]
