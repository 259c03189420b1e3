"""Recipes and protocols: what is shipped parses and says what the paper says; a slip of the pen is one sentence."""

from pathlib import Path

import pytest

from downstream.files import InputError
from downstream.recipe import load_protocol, load_recipe

RECIPE = """
task: t
format: brat
splits: {train: a, dev: b, test: c}
types: [anatomy]
"""
PROTOCOL = """
batch: 4
learning_rate: 1.0e-3
epochs: 2
source: nobody
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.yaml").write_text(RECIPE)
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols" / "p.yaml").write_text(PROTOCOL)
    return tmp_path


def shipped(repository: Path) -> list[Path]:
    return sorted((repository / "recipes" / "finetune").glob("*.yaml"))


def test_every_shipped_recipe_and_protocol_parses(repository):
    assert {file.stem for file in shipped(repository)} >= {"sample", "quaero_emea", "quaero_medline"}
    for file in shipped(repository):
        assert load_recipe(file).task == file.stem
    for protocol in (repository / "downstream" / "protocols").glob("*.yaml"):
        load_protocol(file, protocol.stem, [])


def test_a_protocol_beside_the_recipe_comes_before_ours(folder):
    assert load_protocol(folder / "t.yaml", "alibert", []).batch == 80
    (folder / "protocols" / "alibert.yaml").write_text(PROTOCOL)
    assert load_protocol(folder / "t.yaml", "alibert", []).batch == 4


def test_alibert_protocol_has_the_papers_numbers(repository):
    protocol = load_protocol(shipped(repository)[0], "alibert", [])
    assert (protocol.batch, protocol.learning_rate, protocol.weight_decay) == (80, 2e-5, 0.01)


def test_the_samples_types_are_the_papers(repository):
    recipe = load_recipe(repository / "recipes" / "finetune" / "sample.yaml")
    assert sorted(recipe.types) == ["anatomy", "pathology", "substance", "symptom", "value"]


@pytest.mark.parametrize(
    "change, complaint",
    [
        ("speed: 3", "unknown key 'speed'"),
        ("format: xml", "format is 'xml'; choose one of brat, iob, jsonl"),
        ("nested: both", "nested is 'both'"),
        ("discontinuous: keep", "discontinuous is 'keep'"),
        ("partial_words: keep", "partial_words is 'keep'"),
        ("sequence: page", "sequence is 'page'"),
        ("splits: {train: a, dev: b}", "splits needs the keys train, dev, test"),
        ("types: anatomy", "list is needed"),
        ("types: [on]", "put quotes around"),  # yaml's word for True
        ("types: ['a b']", "has a space or an outer hyphen"),
        ("types: ['-a']", "has a space or an outer hyphen"),
        ("rename: {X: y}", "rename leads to y"),
        ("max_tokens: long", "int is needed"),
        ("max_tokens: 4", "at least 8"),
        ("types: [", "not yaml"),
    ],
)
def test_a_bad_recipe_is_one_sentence(folder, change, complaint):
    key = change.partition(":")[0]
    kept = [line for line in RECIPE.splitlines() if line.partition(":")[0] != key]
    (folder / "t.yaml").write_text("\n".join([*kept, change]))
    with pytest.raises(InputError, match="t.yaml") as error:
        load_recipe(folder / "t.yaml")
    assert complaint in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("missing", ["task", "format", "splits", "types"])
def test_a_missing_key_is_named(folder, missing):
    kept = [line for line in RECIPE.splitlines() if line.partition(":")[0] != missing]
    (folder / "t.yaml").write_text("\n".join(kept))
    with pytest.raises(InputError, match=f"the key '{missing}' is missing"):
        load_recipe(folder / "t.yaml")


def test_settings_change_by_name_and_2e_5_is_a_number(folder):
    protocol = load_protocol(folder / "t.yaml", "p", ["learning_rate=2e-5", "epochs=7"])
    assert (protocol.learning_rate, protocol.epochs, protocol.batch) == (2e-5, 7, 4)


@pytest.mark.parametrize(
    "change, complaint",
    [
        ("epochs", "write KEY=VALUE"),
        ("speed=3", "unknown key 'speed'"),
        ("epochs=0", "start at 1"),
        ("epochs=1.5", "int is needed"),
        ("epochs=true", "int is needed"),
        ("learning_rate=fast", "float is needed"),
        ("learning_rate=0", "learning rates are above 0"),
        ("head_learning_rate=0.0", "learning rates are above 0"),
        ("warmup=10", "a share"),
    ],
)
def test_a_bad_setting_is_one_sentence(folder, change, complaint):
    with pytest.raises(InputError) as error:
        load_protocol(folder / "t.yaml", "p", [change])
    assert complaint in str(error.value)


def test_an_unknown_protocol_names_the_known_ones(folder):
    with pytest.raises(InputError, match="there are: alibert, .*, p, quick, tuned."):
        load_protocol(folder / "t.yaml", "q", [])
