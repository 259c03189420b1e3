"""Recipes and protocols: what is shipped parses and says what the paper says; a slip of the pen is one sentence."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
import yaml

from alibert_common.errors import InputError
from downstream import tasks
from downstream.tasks import load_task
from downstream.training.protocol import load_protocol

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


def load_recipe(file: Path):
    return load_task(file).recipe


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


def test_the_page_of_tasks_has_every_key_and_the_families_defaults(repository):
    page = (repository / "docs" / "downstream" / "tasks.md").read_text(encoding="utf-8")
    families = {kind: {one.name: one for one in fields(recipe)} for kind, (recipe, _) in tasks.FAMILIES.items()}
    named = set(re.findall(r"\w+", " ".join(re.findall("`([^`]+)`", page))))
    assert sorted({key for keys in families.values() for key in keys} - named) == []
    rows = re.findall(r"^\| (?:`(\w+)`.*)?\| `(\w+): (.+)` \| ", page, re.MULTILINE)
    assert len(rows) == 13
    above = ""
    for kind, key, default in rows:
        above = kind or above
        one = families[above][key]
        assert yaml.safe_load(default) == (one.default if one.default_factory is MISSING else one.default_factory())


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
        ("format: xml", "format is 'xml'; choose one of brat, ddi, iob, jsonl"),
        ("kind: poetry", "kind is 'poetry'; choose one of ner"),
        ("kind: [ner]", "kind is ['ner']; choose one of ner"),
        ("nested: both", "nested is 'both'"),
        ("discontinuous: keep", "discontinuous is 'keep'"),
        ("partial_words: keep", "partial_words is 'keep'"),
        ("sequence: page", "sequence is 'page'"),
        ("splits: {train: a, dev: b}", "splits names train, dev; name train, dev and test, or train and test, or all."),
        ("types: anatomy", "list is needed"),
        ("types: [on]", "put quotes around"),  # yaml's word for True
        ("types: ['a  b']", "'a  b' has an outer or double space, an outer hyphen, a + or a /"),
        ("types: ['-a']", "has an outer or double space, an outer hyphen"),
        ("types: ['a-']", "has an outer or double space, an outer hyphen"),
        ("types: ['']", "has an outer or double space, an outer hyphen"),
        ("types: [a+b]", "has an outer or double space, an outer hyphen"),
        ("types: [a/b]", "has an outer or double space, an outer hyphen"),
        ("types: [a, b, a]", "t.yaml: types: 'a' stands there twice; keep one of them."),
        ("task: ../t", "task is '../t'; letters, digits"),
        ("task: /t", "task is '/t'; letters, digits"),
        ("task: a/b", "task is 'a/b'; letters, digits"),
        ("task: .", "task is '.'; letters, digits"),
        ("task: .t", "task is '.t'; letters, digits"),
        ("task: ''", "task is ''; letters, digits"),
        ('task: "t\\n"', "task is 't\\n'; letters, digits"),
        ("folder: ..", "folder is '..'; a path below --data"),
        ("folder: a/../b", "folder is 'a/../b'; a path below --data"),
        ("folder: /a", "folder is '/a'; a path below --data"),
        ("splits: {train: a, dev: b, test: a}", "t.yaml: splits: train and test can have documents in common"),
        ("also_train: {c: brat}", "test and also_train's c can have documents in common"),
        ("also_train: {./a: brat}", "train and also_train's ./a can have documents in common"),
        ("rename: {X: y}", "rename leads to y"),
        ("max_tokens: long", "int is needed"),
        ("max_tokens: 4", "at least 8"),
        ("types: [", "not YAML"),
        ('types: ["\\d"]', "write the text in single quotes"),
        ("types: [a]\ntypes: [b]", "t.yaml, line 6: not YAML (the key 'types' stands there twice; keep one of them)"),
        ("rename: {x: anatomy, y: anatomy, x: anatomy}", "line 6: not YAML (the key 'x' stands there twice"),
    ],
)
def test_a_bad_recipe_is_one_sentence(folder, change, complaint):
    key = change.partition(":")[0]
    kept = [line for line in RECIPE.splitlines() if line.partition(":")[0] != key]
    (folder / "t.yaml").write_text("\n".join([*kept, change]))
    with pytest.raises(InputError, match="t.yaml") as error:
        load_recipe(folder / "t.yaml")
    assert complaint in str(error.value) and "\n" not in str(error.value)


FAMILIES = {
    "classification": "format: table\nreader: {text: a, label: b}\nlabels: [x, y]",
    "relations": "format: chemprot\nlabels: [x, y]",
    "ranking": "format: refomed",
    "extractive_qa": "format: squad",
}


@pytest.mark.parametrize(
    "kind, change, complaint",
    [
        ("classification", "labels: [x, y, x]", "labels: 'x' stands there twice; keep one of them."),
        ("classification", "threshold: .nan\nmulti_label: true", "threshold is nan; a finite number is needed."),
        ("relations", "labels: [x, y, y]", "labels: 'y' stands there twice; keep one of them."),
        ("ranking", "right_weight: -1.0", "right_weight is -1.0; give a number above 0, or balanced."),
        ("ranking", "right_weight: 0", "right_weight is 0.0; give a number above 0, or balanced."),
        ("ranking", "right_weight: heavy", "right_weight is 'heavy'; give a number above 0, or balanced."),
        ("ranking", "right_weight: .inf", "right_weight is inf; a finite number is needed."),
        ("extractive_qa", "longest_answer: 0", "longest_answer is 0; an answer has 1 token at least."),
        ("extractive_qa", "longest_answer: -3", "longest_answer is -3; an answer has 1 token at least."),
        ("extractive_qa", "list_threshold: 7", "list_threshold is 7.0; it is a probability, 0 to 1."),
        ("extractive_qa", "list_threshold: -0.1", "list_threshold is -0.1; it is a probability, 0 to 1."),
    ],
)
def test_a_bad_value_of_a_familys_own_is_one_sentence(folder, kind, change, complaint):
    changed = change.partition(":")[0]
    lines = [f"kind: {kind}", "task: t", OFFICIAL, *FAMILIES[kind].splitlines()]
    (folder / "t.yaml").write_text("\n".join(lines))
    assert load_recipe(folder / "t.yaml").kind == kind
    (folder / "t.yaml").write_text("\n".join([*(one for one in lines if not one.startswith(changed)), change]))
    with pytest.raises(InputError) as error:
        load_recipe(folder / "t.yaml")
    assert str(error.value).endswith(complaint) and str(error.value).startswith(f"{folder / 't.yaml'}: ")


@pytest.mark.parametrize("line", ["task: t-2.0_é", "folder: a b/c..d", "splits: {train: a, dev: b, test: ab}"])
def test_names_and_paths_that_stay_where_they_are_meant_are_taken(folder, line):
    key = line.partition(":")[0]
    kept = [one for one in RECIPE.splitlines() if one.partition(":")[0] != key]
    (folder / "t.yaml").write_text("\n".join([*kept, line]))
    assert load_recipe(folder / "t.yaml").format == "brat"


OFFICIAL, TWO, ALL = "splits: {train: a, dev: b, test: c}", "splits: {train: a, test: c}", "splits: {all: a}"
FOLDS = "splits: {train: 'a{fold}', dev: b, test: 'c{fold}'}"


def with_splits(folder: Path, *lines: str):
    kept = [line for line in RECIPE.splitlines() if not line.startswith("splits")]
    (folder / "t.yaml").write_text("\n".join([*kept, *lines]))
    return load_recipe(folder / "t.yaml")


@pytest.mark.parametrize(
    "lines, draws",
    [
        ([OFFICIAL], False),
        ([FOLDS, "folds: 3"], False),
        ([TWO, "dev_share: 0.1"], True),
        (["splits: {train: 'a{fold}', test: c}", "folds: 10", "dev_share: 0.1"], True),
        ([ALL, "dev_share: 0.1", "test_share: 0.2"], True),
        ([ALL, "folds: 3"], True),
    ],
)
def test_splits_are_official_or_drawn(folder, lines, draws):
    assert with_splits(folder, *lines).draws == draws


@pytest.mark.parametrize(
    "lines, complaint",
    [
        ([OFFICIAL, "dev_share: 0.1"], "goes none of dev_share, test_share, folds, but it has dev_share;"),
        ([OFFICIAL, "test_share: 0.1"], "goes none of dev_share, test_share, folds, but it has test_share;"),
        ([OFFICIAL, "folds: 3"], "but it has folds; folds that are official have {fold} in their paths."),
        ([TWO], "with splits train, test goes dev_share, but it has none of"),
        ([TWO, "dev_share: 0.1", "test_share: 0.1"], "goes dev_share, but it has dev_share and test_share;"),
        ([TWO, "dev_share: 0.1", "folds: 3"], "goes dev_share, but it has dev_share and folds;"),
        ([ALL], "with splits all goes dev_share and test_share or folds, but it has none of"),
        ([ALL, "dev_share: 0.1"], "but it has dev_share;"),
        ([ALL, "test_share: 0.1"], "but it has test_share;"),
        ([ALL, "dev_share: 0.1", "test_share: 0.1", "folds: 3"], "but it has dev_share and test_share and folds;"),
        (["splits: {all: a, test: b}", "folds: 3"], "splits names all, test; name train, dev and test"),
        (["splits: {all: 'a{fold}'}", "folds: 3"], "{fold} is the number of a fold in paths of train, dev or test"),
        ([FOLDS], "say how many with folds"),
        ([FOLDS, "folds: 3", "dev_share: 0.1"], "but it has dev_share;"),
        ([FOLDS, "folds: 2"], "folds is 2; three are the fewest"),
        ([ALL, "folds: 0"], "folds is 0; three are the fewest"),
        ([TWO, "dev_share: 0.0"], "dev_share and test_share lie between 0 and 1"),
        ([TWO, "dev_share: 1.0"], "dev_share and test_share lie between 0 and 1"),
        ([ALL, "dev_share: 0.4", "test_share: 0.6"], "leave something to train"),
        ([ALL, "dev_share: 0.4", "test_share: -0.1"], "lie between 0 and 1"),
    ],
)
def test_a_bad_combination_of_splits_is_one_sentence(folder, lines, complaint):
    with pytest.raises(InputError, match="t.yaml: ") as error:
        with_splits(folder, *lines)
    assert complaint in str(error.value) and "\n" not in str(error.value) and str(error.value).count(". ") == 0


def test_a_recipe_comes_back_from_its_values(folder):
    recipe = with_splits(folder, ALL, "folds: 4", "split_seed: 3", "nested: per_type")
    assert type(recipe)(**recipe.as_dict()) == recipe and recipe.split_seed == 3


@pytest.mark.parametrize("missing", ["task", "format", "splits", "types"])
def test_a_missing_key_is_named(folder, missing):
    kept = [line for line in RECIPE.splitlines() if line.partition(":")[0] != missing]
    (folder / "t.yaml").write_text("\n".join(kept))
    with pytest.raises(InputError, match=f"the key '{missing}' is missing"):
        load_recipe(folder / "t.yaml")


def test_patience_counts_epochs_or_updates_and_not_both(folder):
    assert load_protocol(folder / "t.yaml", "p", ["patience_updates=9"]).patience_updates == 9
    with pytest.raises(InputError, match="--set patience_updates=9: give either patience or patience_updates"):
        load_protocol(folder / "t.yaml", "p", ["patience=2", "patience_updates=9"])


def test_settings_change_by_name_and_2e_5_is_a_number(folder):
    protocol = load_protocol(folder / "t.yaml", "p", ["learning_rate=2e-5", "epochs=7"])
    assert (protocol.learning_rate, protocol.epochs, protocol.batch) == (2e-5, 7, 4)


@pytest.mark.parametrize(
    "change, complaint",
    [
        ("epochs", "write KEY=VALUE"),
        ("speed=3", "unknown key 'speed'"),
        ("epochs=0", "epochs is 0; it starts at 1"),
        ("batch=0", "batch is 0; it starts at 1"),
        ("patience=0", "patience is 0; it starts at 1"),
        ("patience_updates=0", "patience_updates is 0; it starts at 1"),
        ("warmup_updates=0", "warmup_updates is 0; it starts at 1"),
        ("updates=100", "give either epochs or updates"),
        ("epochs=null", "give either epochs or updates"),
        ("keep=first", "keep is 'first'; choose best or last"),
        ("layer_decay=0", "layer_decay is 0.0; it is above 0"),
        ("layer_decay=1.1", "layer_decay is 1.1; it is above 0"),
        ("clip=0", "clip is 0.0; it is above 0"),
        ("dropout=1", "dropout is 1.0; it is a share"),
        ("dropout=-0.1", "dropout is -0.1; it is a share"),
        ("epochs=[", "not YAML"),
        ("epochs=1.5", "int or null is needed"),
        ("batch=1.5", "batch is 1.5; int is needed"),
        ("epochs=true", "int or null is needed"),
        ("learning_rate=fast", "float is needed"),
        ("learning_rate=" + "1" * 400, "float is needed"),
        ("learning_rate=0", "learning_rate is 0.0; it is above 0"),
        ("head_learning_rate=0.0", "head_learning_rate is 0.0; it is above 0"),
        ("warmup=10", "warmup is 10.0; it is a share"),
        ("weight_decay=-1", "weight_decay is -1.0; it is at least 0"),
        ("learning_rate=nan", "learning_rate is nan; a finite number is needed"),
        ("learning_rate=.inf", "learning_rate is inf; a finite number is needed"),
        ("weight_decay=.nan", "weight_decay is nan; a finite number is needed"),
        ("source=a/b", "--set source=a/b: the output folder has this in its name; leave out the slash."),
    ],
)
def test_a_bad_setting_is_one_sentence(folder, change, complaint):
    with pytest.raises(InputError) as error:
        load_protocol(folder / "t.yaml", "p", ["source=me", change])
    assert complaint in str(error.value) and str(error.value).startswith(f"--set {change}: ")


def test_updates_take_the_place_of_epochs_and_start_at_1(folder):
    protocol = load_protocol(folder / "t.yaml", "p", ["epochs=null", "updates=500", "warmup_updates=50"])
    assert (protocol.epochs, protocol.updates, protocol.warmup_updates) == (None, 500, 50)
    with pytest.raises(InputError, match="updates is 0; it starts at 1"):
        load_protocol(folder / "t.yaml", "p", ["epochs=null", "updates=0"])


def test_an_unknown_protocol_names_the_known_ones(folder):
    with pytest.raises(InputError, match="there are: alibert, .*, p, quick, quickstart, tagger, tuned, vectors."):
        load_protocol(folder / "t.yaml", "q", [])
