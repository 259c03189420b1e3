"""AutoTokenizer, of whichever transformers is installed, gives fairseq's ids, and its offsets point to the raw text.

Run with transformers 4 and with 5: `PYTHONPATH=<folder with the other one> pytest tests/parity`.
"""

import unicodedata
from collections import Counter

import pytest
from fairseq.data import Dictionary
from text_helpers import (
    AFTER,
    CLINICAL,
    MOSES,
    PAPER,
    real_lines,
    same_text,
    sample_lines,
    trained,
    trained_on_real_text,
)
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from preprocess.tokenizer.load import load_tokenizer

CASES = [(PAPER, "unigram"), (AFTER, "unigram"), (CLINICAL, "unigram"), (MOSES, "bpe"), (PAPER, "wordpiece")]
TRICKY = [
    "L’état\u00a0: 1\u202f000\u00a0UI «stable»…",
    "co\u00adeur (39,5 °C), ½ µg/L 😀 漢字",
    "aujourd'hui, n'y'a",
    "…",
    "\u200b",
]


def assert_same_ids(directory, lines):
    """Ids of AutoTokenizer, of the corpus loader, and of fairseq's dictionary for the corpus loader's pieces."""
    ours, theirs = load_tokenizer(directory), AutoTokenizer.from_pretrained(directory)
    dictionary = Dictionary.load(str(directory / "dict.txt"))
    dictionary.add_symbol("<mask>")
    assert len(dictionary) == len(theirs) == ours.get_vocab_size()
    expected = theirs(lines, add_special_tokens=False, return_offsets_mapping=True)
    encodings = ours.encode_batch(lines, add_special_tokens=False)
    for line, ids, offsets, encoding in zip(
        lines, expected["input_ids"], expected["offset_mapping"], encodings, strict=True
    ):
        assert encoding.ids == ids, line
        assert encoding.offsets == offsets, line
        assert [dictionary.index(ours.id_to_token(number)) for number in ids] == ids, line


def assert_exact_offsets(directory, lines):
    """Every token but the unknown is its slice of the raw line, normalised; lines whose accents are apart left out."""
    tokenizer = load_tokenizer(directory)
    skip = {tokenizer.token_to_id("<unk>"), tokenizer.token_to_id("▁")}
    pairs = Counter()
    for line, encoding in zip(lines, tokenizer.encode_batch(lines, add_special_tokens=False), strict=True):
        if unicodedata.is_normalized("NFC", line):
            pairs.update((number, line[a:b]) for number, (a, b) in zip(encoding.ids, encoding.offsets, strict=True))
    for number, raw in pairs:
        assert number in skip or same_text(tokenizer, raw, tokenizer.id_to_token(number)), (number, raw)
    return sum(pairs.values())


@pytest.mark.parametrize("options,model", CASES, ids=str)
def test_ids_are_fairseqs_on_the_sample(options, model):
    assert_same_ids(trained(options, model), sample_lines() + TRICKY)


def test_ids_are_fairseqs_on_20000_real_lines_and_offsets_exact(shared_data):
    directory, lines = trained_on_real_text(shared_data), real_lines(shared_data)
    assert len(lines) == 20_000
    assert_same_ids(directory, lines)
    assert assert_exact_offsets(directory, lines) > 400_000


@pytest.mark.parametrize("options", [AFTER, CLINICAL, MOSES], ids=lambda options: options.mode + options.punctuation)
def test_ids_are_fairseqs_on_real_lines_in_other_modes_and_offsets_exact(shared_data, options):
    lines = real_lines(shared_data)[::10]
    assert_same_ids(trained(options), lines)
    assert assert_exact_offsets(trained(options), lines) > 40_000


def test_the_folder_loads_as_users_load_it():
    tokenizer = AutoTokenizer.from_pretrained(trained())
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    assert tokenizer.model_max_length == 512 and len(tokenizer) % 8 == 0
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token", "cls_token", "sep_token")
    assert [getattr(tokenizer, name) for name in names] == ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<s>", "</s>"]
    assert tokenizer.mask_token_id == len(tokenizer) - 1
    one, pair = tokenizer("le patient"), tokenizer("le", "la")
    assert set(one) == {"input_ids", "attention_mask"}
    assert tokenizer.convert_ids_to_tokens(one["input_ids"]) == ["<s>", "▁le", "▁patient", "</s>"]
    assert tokenizer.convert_ids_to_tokens(pair["input_ids"]) == ["<s>", "▁le", "</s>", "</s>", "▁la", "</s>"]
    assert len(tokenizer("le " * 2000, truncation=True)["input_ids"]) == 512
    assert tokenizer.decode(tokenizer("L’état.")["input_ids"], skip_special_tokens=True) == "l ' état ."


def test_a_typed_mask_is_the_mask_and_split_special_tokens_makes_all_five_ordinary():
    tokenizer, corpus = AutoTokenizer.from_pretrained(trained()), load_tokenizer(trained())
    assert tokenizer("Le <mask>.", add_special_tokens=False)["input_ids"][1] == tokenizer.mask_token_id
    text = "Le <mask>, <s> </s> <pad> <unk> [MASK]."
    ordinary = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert ordinary == corpus.encode(text, add_special_tokens=False).ids
    assert not {0, 1, 2, tokenizer.mask_token_id} & set(ordinary)


def test_saved_again_it_is_still_the_same_tokenizer(tmp_path):
    AutoTokenizer.from_pretrained(trained()).save_pretrained(tmp_path)
    assert_same_ids_of_folders(tmp_path, trained())


def assert_same_ids_of_folders(one, other):
    lines = sample_lines()[:200] + TRICKY
    first, second = (AutoTokenizer.from_pretrained(folder)(lines)["input_ids"] for folder in (one, other))
    assert first == second
