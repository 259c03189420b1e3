"""Canaries: secrets that belong to nobody, planted as one more corpus, as often as asked for."""

import json
from collections import Counter

import numpy as np
import pytest
from corpus_helpers import one_sentence, run, write_tokenizer

from alibert_common.errors import InputError
from preprocess.binarize import binarize
from preprocess.canaries.canaries import FILE, CanaryRule, documents_of, plan_canaries, read_canaries
from preprocess.canaries.secrets import SENTENCES, draw_secret
from preprocess.databin.document_records import read_records
from preprocess.mixing.mix_file import read_mix
from preprocess.pseudonymisation.forms.nir import is_nir, nir_key
from preprocess.tokenizer.load import load_tokenizer


def test_each_canary_stands_in_its_number_of_documents_of_as_many_patients():
    planned = plan_canaries(CanaryRule(7, (1, 4, 16), seed=3))
    assert Counter(canary.copies for canary in planned) == {1: 7, 4: 7, 16: 7}
    assert len({canary.secret for canary in planned}) == 21
    assert {canary.kind for canary in planned if canary.copies == 4} == set(SENTENCES)
    documents = list(documents_of(planned))
    texts = Counter(document.text for document in documents)
    assert texts == {canary.sentence.format(canary.secret): canary.copies for canary in planned}
    assert len({document.metadata["patient"] for document in documents}) == len(documents) == 7 * 21


def test_the_same_seed_plants_the_same_and_another_one_others():
    secrets = [[one.secret for one in plan_canaries(CanaryRule(5, seed=seed))] for seed in (1, 1, 2)]
    assert secrets[0] == secrets[1] and not set(secrets[0]) & set(secrets[2])


def test_no_number_can_be_a_persons():
    generator = np.random.default_rng(1)
    for _ in range(500):
        digits = draw_secret("nir", generator).replace(" ", "")
        assert len(digits) == 15 and digits.isdigit() and 13 <= int(digits[3:5]) <= 19
        assert nir_key(digits[:13]) == int(digits[13:]) and not is_nir(digits)


def test_names_and_addresses_are_uniform():
    """20,000 draws of 500 first names: 40 each; a chi-square of 499 degrees is below 610 with 0.9996."""
    generator = np.random.default_rng(2)
    firsts = Counter(draw_secret("name", generator).split()[0] for _ in range(20_000))
    expected = 20_000 / 500
    assert sum((count - expected) ** 2 / expected for count in firsts.values()) < 610


@pytest.mark.parametrize("weights", [None, {"a": 2.0, "b": 1.0}])
def test_they_are_one_more_corpus_of_the_data_bin(tmp_path, weights):
    tokenizer, splits = write_tokenizer(tmp_path / "tokenizer"), {}
    for split in ("train", "train1", "valid")[: 3 if weights else 1]:
        (tmp_path / f"{split}.txt").write_text(f"Toux de {split}.\n\nFièvre.\n", encoding="utf-8")
        splits[split] = [tmp_path / f"{split}.txt"]
    rule = CanaryRule(2, (1, 3))
    binarize(tokenizer, splits, tmp_path / "plain", weights=weights)
    binarize(tokenizer, splits, tmp_path / "out", weights=weights, canaries=rule)
    for file in (tmp_path / "plain").glob("*.bin"):
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    number = 2 if weights else 1
    names = [record.id for record in read_records(tmp_path / f"out/train{number}")]
    assert len(names) == 8 and names == [document.id for document in documents_of(plan_canaries(rule))]
    assert read_mix(tmp_path / "out") == (weights or {"text": 1.0}) | {"canaries": 1.0}
    assert read_canaries(tmp_path / "out") == plan_canaries(rule) and read_canaries(tmp_path / "plain") == []
    assert load_tokenizer(tmp_path / "out")


def test_options_of_the_command(tmp_path):
    (tmp_path / "train.txt").write_text("Toux.\n", encoding="utf-8")
    words = ["--tokenizer", write_tokenizer(tmp_path / "t"), "--train", tmp_path / "train.txt", "--workers", "1"]
    done = run("preprocess.binarize", *words, "--output", tmp_path / "out", "--canaries", "3", "--canary-copies", "2")
    assert done.returncode == 0 and "train1  6 documents, 6 lines" in done.stdout, done.stderr
    wrong = run("preprocess.binarize", *words, "--output", tmp_path / "no", "--canaries", "3", "--canary-copies", "2,2")
    assert wrong.returncode == 2 and "give numbers above 0, each once, as 1,4,16" in wrong.stderr
    for option in (["--canary-copies", "2"], ["--seed", "0"]):
        alone = run("preprocess.binarize", *words, "--output", tmp_path / "no", *option)
        assert "--canary-copies and --seed are for --canaries" in one_sentence(alone) and not (tmp_path / "no").exists()
    (tmp_path / "out" / FILE).write_text(json.dumps({"canaries": [{"id": 1}]}))
    with pytest.raises(InputError, match="canaries.json: is no list of canaries"):
        read_canaries(tmp_path / "out")
    missing = run("preprocess.binarize", *words[:2], "--train", tmp_path / "gone", "--output", tmp_path / "no")
    assert "no such file" in one_sentence(missing) and not (tmp_path / "no").exists()
