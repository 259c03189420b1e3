"""Loading a tokenizer for corpus text: what is refused, and with which sentence."""

import json
import shutil

import pytest
from text_helpers import trained

from alibert_common.errors import InputError
from preprocess.tokenizer.load import load_tokenizer


@pytest.fixture
def directory(tmp_path):
    return shutil.copytree(trained(), tmp_path / "tokenizer")


def rewrite(file, change):
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def refusal(path) -> str:
    with pytest.raises(InputError) as refused:
        load_tokenizer(path)
    assert "train it again with `python -m preprocess.train_tokenizer`" in str(refused.value)
    return str(refused.value)


def test_a_directory_and_its_file_are_the_same_tokenizer(directory):
    whole, file = load_tokenizer(directory), load_tokenizer(directory / "tokenizer.json")
    assert whole.to_str() == file.to_str()
    assert whole.encode("<mask>").ids == file.encode("<mask>").ids != [whole.token_to_id("<mask>")]


def test_a_tokenizer_without_dict_txt_loads(directory):
    (directory / "dict.txt").unlink()
    assert load_tokenizer(directory).token_to_id("<pad>") == 1


def test_a_missing_file_is_named(tmp_path):
    assert str(tmp_path / "tokenizer.json") in refusal(tmp_path)
    assert str(tmp_path / "nowhere.json") in refusal(tmp_path / "nowhere.json")


@pytest.mark.parametrize("content", [b"", b"not json", b"{}", b"\xff\xfe\x00", b'{"version": "1.0", "model": 3}'])
def test_a_damaged_file_is_refused(directory, content):
    (directory / "tokenizer.json").write_bytes(content)
    assert "tokenizer.json: not a tokenizer (" in refusal(directory)


def test_a_truncated_file_is_refused(directory):
    file = directory / "tokenizer.json"
    file.write_bytes(file.read_bytes()[:-100])
    assert "not a tokenizer" in refusal(directory)


def test_special_tokens_elsewhere_than_fairseq_has_them_are_refused(directory):
    def swap(content):
        vocabulary = content["model"]["vocab"]
        vocabulary[1], vocabulary[2] = vocabulary[2], vocabulary[1]
        for token in content["added_tokens"]:
            token["id"] = {1: 2, 2: 1}.get(token["id"], token["id"])

    rewrite(directory / "tokenizer.json", swap)
    assert "<pad> has id 2, fairseq needs 1" in refusal(directory)


def test_a_dict_txt_of_another_tokenizer_is_refused_with_the_first_difference(directory):
    file = directory / "dict.txt"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([lines[0], lines[2], lines[1], *lines[3:]]), encoding="utf-8")
    other, ours = lines[2].split(" ")[0], lines[1].split(" ")[0]
    assert f"dict.txt, line 2: '{other}' where tokenizer.json has '{ours}'" in refusal(directory)


@pytest.mark.parametrize("change", [lambda lines: lines[:-1], lambda lines: [*lines, "<mask> 0\n"]])
def test_a_dict_txt_too_short_or_too_long_is_refused(directory, change):
    file = directory / "dict.txt"
    lines = change(file.read_text(encoding="utf-8").splitlines(keepends=True))
    file.write_text("".join(lines), encoding="utf-8")
    assert f"dict.txt: {len(lines)} pieces where tokenizer.json has" in refusal(directory)


def test_an_unreadable_dict_txt_is_refused(directory):
    (directory / "dict.txt").write_bytes(b"\xff 1\n")
    assert "dict.txt: not a readable dict.txt" in refusal(directory)
