"""Drawn segmentations: their exact law, the tokenizer's own ids in the limit, the same text and bytes, one an epoch."""

import json
import re
import shutil
from collections import Counter

import numpy as np
import pytest
from binarize_helpers import contents
from corpus_helpers import one_sentence, run, tiny_tokenizer
from published_models import write_tokenizer
from segmentations import farthest, probabilities
from text_helpers import AFTER, CLINICAL, MOSES, PAPER, sample_lines, trained
from tokenizers import AddedToken

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask
from preprocess.binarize import binarize
from preprocess.databin import batches, subword_regularization
from preprocess.databin.line_encoder import LineEncoder
from preprocess.databin.subword_regularization import MOST_ALPHA, Sampling, SubwordSampler
from preprocess.databin.unigram_lattice import Lattices
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import our_layout, read_layout, symbols_of, write_symbols

DRAWS = 100_000  # each frequency within 5 standard deviations: by chance not so once in 1,000 seeds, and they are fixed
SCORES = {"?": -6.0, "a": -2.0, "b": -2.5, "c": -3.0, "ab": -3.5, "bc": -4.0, "abc": -5.0, "ca": -4.2, "dé": -1.0}
# Words of 1 to 45 segmentations; `d` and `é` are in one piece only, so alone they are unknowns; `日` is in none.
WORDS = ["abc", "abcabc", "cabcabca", "adéb", "dédé", "a日b", "日日", "bcabcdé"]
STRANGE = ["fi日本vre 日 本日", "le <s> <pad> [CLS]<mask> de", "", " ", "e\u0301té a \u0301b", "38,5 °C/1 000"]


def counted(word, alpha, seed=1):
    """What the ids of DRAWS draws of a word show, as names of pieces."""
    lattices = Lattices(list(SCORES.items()), unknown=0, alpha=alpha)
    names, end = [*SCORES, "."], len(SCORES)
    words = np.tile([lattices.word(word), lattices.single(end)], DRAWS)
    spelled = " ".join(names[number] for number in lattices.draw(words, np.random.default_rng(seed)).tolist())
    return Counter(tuple(one.split()) for one in spelled.removesuffix(" .").split(" ."))


def shown(word, alpha):
    """The probability of what ids show: unknowns side by side are one."""
    expected = Counter()
    for pieces, share in probabilities(word, SCORES, alpha).items():
        names = " ".join(piece if piece in SCORES else "?" for piece in pieces)
        expected[tuple(re.sub(r"(\? )+\?", "?", names).split())] += share
    return expected


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("word", WORDS)
def test_every_segmentation_is_drawn_as_often_as_its_probability_says(word, alpha):
    assert farthest(counted(word, alpha), shown(word, alpha), DRAWS) < 5


def encoder_of(directory):
    return LineEncoder(load_tokenizer(directory), read_layout(directory))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The directories of published tokenizers."""
    place = tmp_path_factory.mktemp("published")
    for kind in ("camembert", "albert", "wordpiece", "drbert"):
        tokenizer = write_tokenizer(place / kind, kind)
        write_symbols(place / kind / "dict.txt", symbols_of(tokenizer, tokenizer.get_vocab_size()))
    return place


@pytest.mark.parametrize("name", [PAPER, AFTER, CLINICAL, MOSES, "camembert", "albert"], ids=str)
def test_with_a_large_alpha_the_ids_are_the_tokenizer_s_own(name, published):
    directory = published / name if isinstance(name, str) else trained(name)
    encoder, lines = encoder_of(directory), STRANGE + sample_lines()[:1000]
    ((ids, sizes),) = SubwordSampler(encoder, Sampling(1, MOST_ALPHA)).encode(lines, 0, 0)
    expected, expected_sizes = encoder.encode(lines)
    assert (
        len(ids) > 10_000
        and ids.dtype == expected.dtype
        and np.array_equal(sizes, expected_sizes)
        and np.array_equal(ids, expected)
    )


@pytest.mark.parametrize("kind", ["ours", "camembert"])
def test_the_pieces_spell_the_same_words_and_each_sample_others(kind, published):
    encoder = encoder_of(trained(PAPER) if kind == "ours" else published / kind)
    lines = sample_lines()[:300]
    samples = SubwordSampler(encoder, Sampling(3)).encode(lines, 0, 7)
    spelled = [words_of(encoder, *encoded) for encoded in (encoder.encode(lines), *samples)]
    assert spelled.count(spelled[0]) == 4 and len(spelled[0]) == 300
    assert len({ids.tobytes() for ids, _ in samples}) == 3
    assert all(len(ids) > len(encoder.encode(lines)[0]) for ids, _ in samples)


def words_of(encoder, ids, sizes):
    items = np.split(ids, np.cumsum(sizes)[:-1])
    assert all(item[-1] == encoder.layout.end for item in items)
    return ["".join(map(encoder.tokenizer.id_to_token, item[:-1].tolist())).replace("▁", " ").strip() for item in items]


def test_text_that_spells_a_special_token_is_unknown_in_every_draw(published):
    encoder = encoder_of(published / "camembert")
    ((ids, _),) = SubwordSampler(encoder, Sampling(1, 0.2)).encode(["a <pad> b<pad>"] * 2000, 0, 0)
    assert encoder.layout.pad not in ids and (ids == encoder.layout.unknown).sum() > 1000  # the piece scores best


def test_a_token_added_to_the_tokenizer_is_never_taken_apart():
    tokenizer = tiny_tokenizer()
    layout = our_layout(tokenizer.get_vocab_size())
    tokenizer.add_tokens([AddedToken("à la")])
    added = tokenizer.token_to_id("à la")
    ((ids, _),) = SubwordSampler(LineEncoder(tokenizer, layout), Sampling(1)).encode(["de à la fièvre"] * 100, 0, 0)
    assert (ids == added).sum() == 100 and len(set(ids.tolist())) > 5


def test_a_special_token_from_text_is_refused():
    tokenizer = tiny_tokenizer()
    tokenizer.encode_special_tokens = False  # as a tokenizer loaded in another way would be
    with pytest.raises(InputError, match="an id that is no piece of dict.txt"):
        SubwordSampler(LineEncoder(tokenizer), Sampling(1)).encode(["le <mask> patient"], 0, 0)


def test_the_cache_is_bounded_and_forgetting_changes_nothing(monkeypatch):
    encoder = encoder_of(trained(PAPER))
    parts = [sample_lines()[start : start + 20] for start in range(0, 400, 20)]

    def encoded():
        sampler, sizes, ids = SubwordSampler(encoder, Sampling(2)), [], b""
        for number, lines in enumerate(parts):
            ids += b"".join(ids.tobytes() for ids, _ in sampler.encode(lines, 0, number))
            sizes.append(sampler.cached_bytes + sampler.lattices.size)
        return ids, max(sizes)

    whole, largest = encoded()
    monkeypatch.setattr(subword_regularization, "CACHE_BYTES", largest // 4)
    again, bounded = encoded()
    assert again == whole and largest / 4 < bounded < largest / 2


TEXT = (
    "\n\n".join(f"Le patient {number} a une hyperthyroïdie.\nParacétamol {number} mg." for number in range(60)) + "\n"
)


@pytest.fixture
def corpus(tmp_path):
    """Two splits."""
    (tmp_path / "train.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "valid.txt").write_text(TEXT[:300], encoding="utf-8")
    return {split: [tmp_path / f"{split}.txt"] for split in ("train", "valid")}


def test_each_sample_is_a_data_bin_and_validation_text_is_not_sampled(tmp_path, corpus):
    tokenizer = trained(PAPER)
    manifest = binarize(tokenizer, corpus, tmp_path / "out", sampling=Sampling(3, 0.3, seed=5))
    unsampled = binarize(tokenizer, corpus, tmp_path / "plain")
    files, plain = contents(tmp_path / "out"), contents(tmp_path / "plain")
    assert json.loads(files.pop("manifest.json")) == manifest and json.loads(plain.pop("manifest.json")) == unsampled
    assert sorted(files) == sorted(f"{number}/{name}" for number in (1, 2, 3) for name in plain)
    for name in plain:
        different = {files[f"{number}/{name}"] for number in (1, 2, 3)} | {plain[name]}
        assert len(different) == (4 if name.startswith("train") else 1), name
    assert manifest["sampling"] == {"samples": 3, "alpha": 0.3, "seed": 5} and "sampling" not in unsampled
    assert manifest["splits"]["valid"] == unsampled["splits"]["valid"]
    first, best = manifest["splits"]["train"], unsampled["splits"]["train"]
    assert first | {"tokens": 0} == best | {"tokens": 0}  # the same documents, lines and inputs
    for number in ("1", "2", "3"):
        drawn = manifest["data_bins"][number]["train"]
        ids = np.frombuffer(files[f"{number}/train.bin"], np.uint16)
        assert drawn["tokens"] == (ids != 2).sum() > best["tokens"] and drawn["documents"] == best["documents"]
    assert first["tokens"] == manifest["data_bins"]["1"]["train"]["tokens"]


def test_the_bytes_depend_on_the_seed_and_the_text_alone(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr(batches, "BLOCK_CHARACTERS", 400)
    train = {"train": corpus["train"]}  # of one file, this process makes the blocks
    for name, workers, seed in (("one", 1, 1), ("two", 2, 1), ("other", 1, 2)):
        binarize(trained(PAPER), train, tmp_path / name, Engine(workers), Sampling(2, seed=seed))
    one, two, other = (contents(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two and one["1/train.bin"] != other["1/train.bin"]


def test_parts_and_blocks_of_the_same_text_are_drawn_apart():
    sampler = SubwordSampler(encoder_of(trained(PAPER)), Sampling(2))
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    drawn = [ids.tobytes() for place in places for ids, _ in sampler.encode(sample_lines()[:50], *place)]
    assert len(set(drawn)) == len(drawn) == 8


def test_every_epoch_of_training_reads_the_next_sample(tmp_path, corpus):
    binarize(trained(PAPER), corpus, tmp_path / "out", sampling=Sampling(2))
    data = f"{tmp_path}/out/1:{tmp_path}/out/2"
    config = AliBertMaskedLMConfig(data=data, tokens_per_sample=32, seed=1, train_subset="train")
    task = AliBertMaskedLMTask.setup_task(config)
    assert task.has_sharded_data("train")  # so fairseq's trainer loads the split again each epoch
    read = []
    for epoch in (1, 2, 3):
        task.load_dataset("train", epoch=epoch)
        task.load_dataset("valid", epoch=epoch)
        read.append([np.concatenate([row.numpy() for row in task.dataset(x).sequences]) for x in ("train", "valid")])
    train, valid = zip(*read, strict=True)
    assert np.array_equal(train[0], train[2]) and not np.array_equal(train[0][:200], train[1][:200])
    assert np.array_equal(valid[0], valid[1]) and np.array_equal(valid[0], valid[2])


def test_the_command_prints_what_fairseq_train_takes(tmp_path, corpus):
    command = ["--tokenizer", trained(PAPER), "--train", *corpus["train"], "--output", tmp_path / "out"]
    printed = run("preprocess.binarize", *command, "--workers", 1, "--samples", 2).stdout
    assert f"    data  {tmp_path}/out/1:{tmp_path}/out/2 (" in printed and "2/train  60 documents, 120 lines" in printed
    assert json.loads((tmp_path / "out/manifest.json").read_text())["sampling"]["alpha"] == 0.2


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--alpha", 0.5], "--alpha: says how --samples draws; give --samples 4, for one, or leave it out."),
        (["--seed", 5], "--seed: says how --samples draws"),
        (["--samples", 2, "--alpha", 0.01], "--alpha 0.01: give 0.05 to 1,000,000; below, words become unknowns."),
        (["--samples", 2, "--alpha", "nan"], "--alpha nan: give 0.05"),
    ],
)
def test_options_that_cannot_be(tmp_path, corpus, options, sentence):
    command = ["--tokenizer", trained(PAPER), "--train", *corpus["train"], "--output", tmp_path / "out"]
    assert sentence in one_sentence(run("preprocess.binarize", *command, *options))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind, model", [("wordpiece", "WordPiece"), ("drbert", "BPE")])
def test_a_model_without_probabilities_is_refused_and_an_older_output_stays(tmp_path, corpus, published, kind, model):
    shutil.copytree(published / kind, tmp_path / "tokenizer")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"command": "binarize", "files": {}}')
    sentence = f"a Unigram model without byte_fallback, this tokenizer's is {model}; train one with `--model unigram`"
    with pytest.raises(InputError, match=sentence):
        binarize(tmp_path / "tokenizer", corpus, tmp_path / "out", sampling=Sampling(2))
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["manifest.json"]
