"""`--tokenizer alibert_normalizer` and `--bpe alibert_subwords`: raw text to the ids of the data-bin, and back."""

from argparse import Namespace

import pytest
from fairseq.data import Dictionary, encoders
from text_helpers import AFTER, CLINICAL, MOSES, PAPER, sample_lines, trained

import alibert_fairseq.data.text_encoders  # noqa: F401  registers both
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import TextNormalizer

CASES = [(PAPER, "unigram"), (AFTER, "unigram"), (CLINICAL, "unigram"), (MOSES, "bpe"), (PAPER, "wordpiece")]
LINES = [
    *sample_lines()[:100],
    "L’état : <s> </s> <pad> <mask> [MASK]",
    "漢字 et 😀😀",
    "na + l 'eau 1\u202f000 UI M. Roux.",
]


def build(directory):
    normalizer = encoders.build_tokenizer(Namespace(tokenizer="alibert_normalizer", data=str(directory)))
    return normalizer, encoders.build_bpe(Namespace(bpe="alibert_subwords", data=str(directory)))


@pytest.mark.parametrize("options,model", CASES, ids=str)
def test_pieces_have_the_ids_of_the_data_bin_with_and_without_the_normalizer(options, model):
    directory = trained(options, model)
    normalizer, subwords = build(directory)
    tokenizer, dictionary = load_tokenizer(directory), Dictionary.load(str(directory / "dict.txt"))
    for line in LINES:
        expected = tokenizer.encode(line, add_special_tokens=False).ids
        for text in (line, normalizer.encode(line)):
            pieces = subwords.encode(text)
            assert [dictionary.index(piece) for piece in pieces.split()] == expected
            assert dictionary.encode_line(pieces, append_eos=False, add_if_not_exist=False).tolist() == expected


@pytest.mark.parametrize("options,model", CASES, ids=str)
def test_decoding_gives_the_normalised_text_back(options, model):
    normalizer, subwords = build(trained(options, model))
    for line in LINES:
        pieces = subwords.encode(line)
        if "<unk>" not in pieces:
            assert subwords.decode(pieces) == normalizer.encode(line) == normalizer.decode(normalizer.encode(line))


def test_special_tokens_stay_words_when_decoding():
    _, subwords = build(trained())
    assert subwords.decode("▁la <mask> ▁est <unk> s") == "la <mask> est <unk>s"
    assert build(trained(PAPER, "wordpiece"))[1].decode("la <mask> est") == "la <mask> est"


def test_the_first_data_bin_with_a_tokenizer_is_read(tmp_path):
    _, subwords = build(f"{tmp_path}:{trained()}")
    assert subwords.encode("le") == "▁le"


def test_no_tokenizer_is_one_sentence_not_a_traceback(tmp_path):
    with pytest.raises(SystemExit, match="error: .*tokenizer.json: no such file"):
        build(tmp_path)


def test_the_normalizer_is_the_one_of_the_file():
    normalizer, _ = build(trained(CLINICAL))
    line = "Na+ à 7,4 mg/L"
    assert (
        normalizer.encode(line) == TextNormalizer(load_tokenizer(trained(CLINICAL))).normalize(line) == "na+ à 7,4 mg/l"
    )
