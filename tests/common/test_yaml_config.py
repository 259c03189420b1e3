"""Every YAML file is read by one strict loader."""

from dataclasses import dataclass

import pytest

from alibert_common.errors import InputError
from alibert_common.yaml_config import built, read_yaml, yaml_value


def read(tmp_path, text):
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    return read_yaml(tmp_path / "a.yaml")


def test_keys_and_dates_are_text_as_written(tmp_path):
    assert read(tmp_path, "on: 1\n2024: 2024-05-01\nno: {1e3: é}\n") == {
        "on": 1, "2024": "2024-05-01", "no": {"1e3": "é"}
    }  # fmt: skip


def test_shared_values_are_merged(tmp_path):
    assert read(tmp_path, "a: &x {b: 1}\nc: {<<: *x, d: 2}\n")["c"] == {"b": 1, "d": 2}


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            "a: 1\nb: {c: 1,\n c: 2}\n",
            r"yaml, line 3: not YAML \(the key 'c' stands there twice; keep one of them\)",
        ),
        ("a: 1\n'a': 2\n", r"a\.yaml, line 2: not YAML \(the key 'a' stands there twice"),
        ("? [a]\n: 1\n", r"a\.yaml, line 1: not YAML \(a key is one word"),
        ("a: [", r"a\.yaml, line 1: not YAML"),
        ("a: \x07", r"a\.yaml: not YAML"),
        ("- a\n", r"a\.yaml: holds no `key: value` lines"),
        ("", r"a\.yaml: holds no `key: value` lines"),
        ("a: " + "[" * 3_000, r"a\.yaml: not YAML \(too many levels"),
        ("a: " + "{b: " * 5_000 + "}" * 5_000, r"a\.yaml: not YAML \(too many levels"),
        ("a: " + "9" * 5_000, r"a\.yaml: not YAML \("),
        ("!!python/object/apply:os.system ['true']", r"a\.yaml, line 1: not YAML"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_value_of_the_command_line_is_as_strict():
    assert yaml_value("[1, 2e-5, 2024-05-01]", "--set a") == [1, "2e-5", "2024-05-01"]
    for text in ("[", "{a: 1, a: 2}", "[" * 3_000):
        with pytest.raises(InputError, match="--set a: .* not YAML"):
            yaml_value(text, "--set a")


@dataclass
class Settings:
    """Of a command."""

    rate: float
    words: list[str]
    limit: int | None = None


def test_values_become_a_dataclass_of_their_types(tmp_path):
    file = tmp_path / "a.yaml"
    assert built(Settings, read(tmp_path, "rate: 2e-5\nwords: [a]\n"), file) == Settings(2e-5, ["a"])
    for text, sentence in [
        ("rate: 1\n", "the key 'words' is missing"),
        ("rate: 1\nwords: []\nmore: 1\n", "unknown key 'more'; the known ones are rate, words, limit"),
        ("rate: fast\nwords: []\n", "rate is 'fast'; float is needed"),
        ("rate: .inf\nwords: []\n", "rate is inf; a finite number is needed"),
        ("rate: 1\nwords: [1]\n", "words holds something other than words"),
        ("rate: 1\nwords: []\nlimit: 1.5\n", "limit is 1.5; int or null is needed"),
    ]:
        with pytest.raises(InputError, match=sentence):
            built(Settings, read(tmp_path, text), file)
