"""The layout of a tokenizer directory: ours or a published model's, and what a published dict.txt lists."""

import json

import pytest
from published_tokenizers import TOKENIZERS, made, write_tokenizer
from text_helpers import trained
from tokenizers import AddedToken, Tokenizer, models

from alibert_common.errors import InputError
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import Layout, our_layout, read_layout, read_symbols, symbols_of, write_symbols

PLACES = {  # begin, pad, end, unknown, mask, as config.json and tokenizer_config.json of the published models have them
    "wordpiece": (101, 0, 102, 100, 103),
    "camembert": (5, 1, 6, 3, 404),
    "drbert": (5, 1, 6, 3, 404),
    "byte-level": (0, 1, 2, 3, 660),
    "albert": (2, 0, 3, 1, 4),
}


@pytest.fixture(params=TOKENIZERS)
def published(request, tmp_path):
    """(kind, a tokenizer directory with a published dict.txt)."""
    tokenizer = write_tokenizer(tmp_path, request.param)
    write_symbols(tmp_path / "dict.txt", symbols_of(tokenizer, tokenizer.get_vocab_size()))
    return request.param, tmp_path


def test_special_tokens_are_found_where_they_stand(published):
    kind, directory = published
    size = Tokenizer.from_str(made(kind)[0]).get_vocab_size()
    layout = read_layout(directory)
    assert layout == Layout(*PLACES[kind], size=size, published=True)
    assert layout.listed == size


def test_a_published_directory_loads_and_its_dict_txt_is_compared(published):
    _, directory = published
    tokenizer = load_tokenizer(directory)
    assert read_symbols(directory / "dict.txt") == [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    file = directory / "dict.txt"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines[:200], lines[201], lines[200], *lines[202:]]), encoding="utf-8")
    with pytest.raises(InputError, match=r"dict.txt, line 201: '.*' where tokenizer.json has .*; read the published"):
        load_tokenizer(directory)
    file.write_text("".join(lines[:-2]), encoding="utf-8")  # of a mask last, nothing tells any more whose it is
    with pytest.raises(InputError):
        load_tokenizer(directory)


def test_our_own_layout_is_known_as_ours():
    layout = read_layout(trained())
    size = load_tokenizer(trained()).get_vocab_size()
    assert layout == our_layout(size) == Layout(0, 1, 2, 3, size - 1, size, False) and layout.listed == size - 1


def test_a_published_dict_txt_alone_does_not_say_which_tokens_are_special(published):
    _, directory = published
    (directory / "tokenizer_config.json").unlink()
    with pytest.raises(InputError, match="no tokenizer_config.json says which they are"):
        read_layout(directory)


@pytest.mark.parametrize("text", ["not json", "[1]", '"text"'])
def test_a_damaged_tokenizer_config_is_one_sentence(published, text):
    _, directory = published
    (directory / "tokenizer_config.json").write_text(text)
    with pytest.raises(InputError, match="not a tokenizer_config.json"):
        read_layout(directory)


def test_ids_that_no_token_has_are_fillers_with_names_of_their_own():
    pieces = {"[UNK]": 0, "a": 2, "<unused0>": 3}  # no 1
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    assert symbols_of(tokenizer, 6) == ["[UNK]", "<unused1>", "a", "<unused0>", "<unused2>", "<unused3>"]


def test_of_two_equal_strings_one_has_the_id_that_encoding_gives():
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("le", -1.0), ("le", -2.0), ("la", -3.0)], unk_id=0))
    number = tokenizer.encode("le").ids[0]
    symbols = symbols_of(tokenizer, 4)
    assert symbols[number] == "le" and symbols[3 - number] == "<unused0>" and len(set(symbols)) == 4


def test_pieces_with_spaces_keep_them(tmp_path):
    file = tmp_path / "dict.txt"
    symbols = ["a b", " c", "d ", "", "\u2028e", "f\x0bg\x85"]
    write_symbols(file, symbols)
    assert read_symbols(file) == symbols


def test_tokens_that_hold_a_line_break_are_fillers(tmp_path):
    """No line of a corpus holds one, and no line of dict.txt can."""
    tokenizer = write_tokenizer(tmp_path, "wordpiece")
    tokenizer.add_tokens([AddedToken("\n"), AddedToken("a\rb"), AddedToken("\t")])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write_symbols(tmp_path / "dict.txt", symbols_of(tokenizer, tokenizer.get_vocab_size()))
    assert read_symbols(tmp_path / "dict.txt")[-3:] == ["<unused0>", "<unused1>", "\t"]
    assert load_tokenizer(tmp_path).token_to_id("\n") == 504 and read_layout(tmp_path).mask == 103


def test_added_tokens_are_listed_with_the_others(tmp_path):
    tokenizer = write_tokenizer(tmp_path, "wordpiece")
    tokenizer.add_tokens([AddedToken("acide acétylsalicylique")])
    write_symbols(tmp_path / "dict.txt", symbols_of(tokenizer, 505))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert read_symbols(tmp_path / "dict.txt")[-1] == "acide acétylsalicylique"
    assert load_tokenizer(tmp_path).token_to_id("acide acétylsalicylique") == 504
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert read_layout(tmp_path).mask == 103 and config["mask_token"] == "[MASK]"
