"""The dictionary of training: fairseq's own for our data-bins, special tokens where they stand for published ones."""

import pytest
from fairseq.data import Dictionary
from published_tokenizers import SINCE_2024, TOKENIZERS, write_tokenizer
from text_helpers import trained

from alibert_common.errors import InputError
from alibert_fairseq.data.dictionary import PublishedDictionary, load_dictionary, mask_id, subword_ids
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import Layout, symbols_of, write_symbols

SPECIALS = {  # ids that text never has, beside fillers
    "wordpiece": {0, 100, 101, 102, 103},
    "camembert": {0, 1, 2, 3, 4, 5, 6, 404},
    "drbert": {0, 1, 2, 3, 4, 5, 6, 404},
    "byte-level": {0, 1, 2, 3, 660},
    "albert": {0, 1, 2, 3, 4},
}


def published(directory, kind, spare=0):
    tokenizer = write_tokenizer(directory, kind)
    size = tokenizer.get_vocab_size() + spare
    write_symbols(directory / "dict.txt", symbols_of(tokenizer, size))
    return tokenizer, load_dictionary(directory)


def test_ours_is_fairseqs_with_the_mask_behind():
    ours, theirs = load_dictionary(trained()), Dictionary.load(str(trained() / "dict.txt"))
    theirs.add_symbol("<mask>")
    assert type(ours) is Dictionary and ours == theirs and ours.index("<mask>") == len(ours) - 1
    unused = sum(symbol.startswith("<unused") for symbol in ours.symbols)
    assert unused and subword_ids(ours).tolist() == list(range(4, len(ours) - 1 - unused))


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_published_one_has_the_tokenizers_ids(kind, tmp_path):
    tokenizer, dictionary = published(tmp_path, kind)
    assert isinstance(dictionary, PublishedDictionary) and len(dictionary) == tokenizer.get_vocab_size()
    for number in range(len(dictionary)):
        token = tokenizer.id_to_token(number)
        assert dictionary[number] == token and dictionary.index(token) == number
    assert dictionary.index("nowhere") == dictionary.unk()


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_text_ids_leave_out_special_tokens_fillers_and_spare_rows(kind, tmp_path):
    _, dictionary = published(tmp_path, kind, spare=3)
    fillers = {*range(1, 100)} if kind == "wordpiece" else set()
    spare = set(range(len(dictionary) - 3, len(dictionary)))
    assert set(subword_ids(dictionary).tolist()) == {*range(len(dictionary))} - SPECIALS[kind] - fillers - spare


@pytest.mark.parametrize("kind", SINCE_2024)
def test_no_special_token_and_no_free_one_is_drawn(kind, tmp_path):
    """Some have special tokens beside the five, and ids that are free."""
    tokenizer, dictionary = published(tmp_path, kind)
    drawn = set(subword_ids(dictionary).tolist())
    added = tokenizer.get_added_tokens_decoder()
    assert not drawn & {number for number, token in added.items() if token.special or "[unused" in token.content}
    assert len(drawn) > 390


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_the_rest_of_the_plugin_finds_the_special_tokens(kind, tmp_path):
    tokenizer, dictionary = published(tmp_path, kind)
    begin, end = tokenizer.encode("").ids
    mask = tokenizer.token_to_id("[MASK]" if kind in ("wordpiece", "albert") else "<mask>")
    assert (dictionary.bos(), dictionary.eos()) == (begin, end)
    assert dictionary.index("<mask>") == dictionary.add_symbol("<mask>") == mask
    assert dictionary[dictionary.pad()] in ("<pad>", "[PAD]") and dictionary[dictionary.unk()] in ("<unk>", "[UNK]")
    assert len(dictionary) == tokenizer.get_vocab_size()  # nothing was added


def test_a_subword_that_is_called_as_our_mask_is_none():
    layout = Layout(begin=0, pad=1, end=2, unknown=3, mask=4, size=7, published=True)
    dictionary = PublishedDictionary(["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", "<mask>", "a"], layout, set())
    assert mask_id(dictionary) == 4 and subword_ids(dictionary).tolist() == [5, 6]


def test_saved_it_is_the_same_file(tmp_path):
    _, dictionary = published(tmp_path, "camembert")
    dictionary.save(str(tmp_path / "again.txt"))
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "dict.txt").read_bytes()


def test_no_dict_txt_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="dict.txt: no such file; give the tokenizer directory"):
        load_dictionary(tmp_path)


@pytest.mark.parametrize("lines", ["▁le 5\n▁la\n", "▁le 5\n▁la 3\n▁le 5\n"])
def test_a_damaged_dict_txt_is_one_sentence(lines, tmp_path):
    (tmp_path / "dict.txt").write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match="dict.txt: is damaged .*; make the data-bin again"):
        load_dictionary(tmp_path)


def test_a_tokenizer_json_of_ours_is_not_needed(tmp_path):
    (tmp_path / "dict.txt").write_text("▁le 5\n▁la 3\n", encoding="utf-8")  # what fairseq-preprocess leaves
    assert load_dictionary(tmp_path).symbols == ["<s>", "<pad>", "</s>", "<unk>", "▁le", "▁la", "<mask>"]
    assert load_tokenizer(trained()).token_to_id("<mask>") == load_dictionary(trained()).index("<mask>")
