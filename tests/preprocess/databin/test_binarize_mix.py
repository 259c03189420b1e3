"""A mix becomes a data-bin with a split a corpus and the weights; training reads what mix wrote down."""

import pytest
from corpus_helpers import one_sentence, run, write_tokenizer

from alibert_common.executors.base import Engine
from alibert_fairseq.data.blocks import load_lines
from alibert_fairseq.data.dictionary import load_dictionary
from preprocess.documents.document import Document, write_document
from preprocess.mix import mix
from preprocess.mixing.mix_file import read_mix
from preprocess.mixing.weights import MixWeights
from preprocess.tokenizer.load import load_tokenizer

WORDS = {"coeur": "fièvre", "roman": "médecin"}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def make_mix(tmp_path, mix_weights):
    for name, count in (("coeur", 10), ("roman", 40)):
        with open(tmp_path / f"{name}.jsonl", "w", encoding="utf-8") as handle:
            for number in range(count):
                write_document(handle, Document(str(number), name, [f"La {WORDS[name]} de {number}."]))
    mix([tmp_path / "coeur.jsonl", tmp_path / "roman.jsonl"], tmp_path / "mixed", mix_weights, 0.1, 1, Engine())
    return tmp_path / "mixed"


def binarized(tmp_path, tokenizer, mixed, *words):
    result = run(
        "preprocess.binarize", "--tokenizer", tokenizer, "--mix", mixed, "--output", tmp_path / "bin", "--workers", "1",
        *words,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return tmp_path / "bin"


def texts(tokenizer, data_bin, split, **options):
    """The lines of a split as training reads them, decoded."""
    loaded = load_tokenizer(tokenizer)
    lines = load_lines(str(data_bin), split, 1, load_dictionary(str(data_bin)), **options)
    return [loaded.decode(lines[number].tolist()) for number in range(len(lines)) if len(lines[number]) > 1]


def test_a_split_a_corpus_and_one_to_validate(tmp_path, tokenizer):
    data_bin = binarized(tmp_path, tokenizer, make_mix(tmp_path, MixWeights(core="coeur")))
    weights = read_mix(data_bin)
    assert list(weights) == ["coeur", "roman"] and weights["coeur"] > 2 and weights["roman"] == 1
    valid = texts(tokenizer, data_bin, "valid", combine=False)
    for split, (name, word) in zip(("train", "train1"), WORDS.items(), strict=True):
        own = texts(tokenizer, data_bin, split, combine=False)
        count = {"coeur": 10, "roman": 40}[name]
        assert all(word in text for text in own) and len(own) + sum(word in text for text in valid) == count


def test_every_data_bin_of_a_mix_is_one(tmp_path, tokenizer):
    data_bin = binarized(
        tmp_path, tokenizer, make_mix(tmp_path, MixWeights(weights="coeur=2,roman=1")), "--data-bins", "2"
    )
    for number in ("1", "2"):
        assert read_mix(data_bin / number) == {"coeur": 2.0, "roman": 1.0}
        assert (data_bin / number / "train1.bin").is_file()
    assert (data_bin / "1" / "train1.bin").read_bytes() != (data_bin / "2" / "train1.bin").read_bytes()


def test_one_corpus_as_it_is_needs_no_mix(tmp_path, tokenizer):
    with open(tmp_path / "a.jsonl", "w", encoding="utf-8") as handle:
        for number in range(20):
            write_document(handle, Document(str(number), "a", [f"La fièvre de {number}."]))
    mix([tmp_path / "a.jsonl"], tmp_path / "mixed", MixWeights(), 0.1, 1, Engine())
    data_bin = binarized(tmp_path, tokenizer, tmp_path / "mixed")
    assert read_mix(data_bin) is None and not (data_bin / "train1.bin").exists()


def test_what_is_no_mix_is_refused(tmp_path, tokenizer):
    data_bin = binarized(tmp_path, tokenizer, make_mix(tmp_path, MixWeights(core="coeur")))
    words = ("--tokenizer", tokenizer, "--output", tmp_path / "other")
    assert "no output of preprocess.mix" in one_sentence(run("preprocess.binarize", "--mix", data_bin, *words))
    assert "no output of preprocess.mix" in one_sentence(run("preprocess.binarize", "--mix", tmp_path, *words))
    both = run("preprocess.binarize", "--mix", tmp_path, "--valid", tmp_path, *words)
    assert "a mix has its own validation" in one_sentence(both)
