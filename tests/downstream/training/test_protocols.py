"""Protocols: the shipped ones say what their papers say, values differ between tasks, grids, what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from alibert_common.errors import InputError
from downstream.training.protocol import by_task, load_protocol

PROTOCOL = """
batch: 4
learning_rate: 1.0e-3
epochs: 2
source: nobody
"""
# Numbers as the papers and repositories have them, written down a second time: (protocol, task, family) -> settings.
PAPERS = {
    ("alibert", "sample", "ner"): {"batch": 80, "learning_rate": 2e-5, "weight_decay": 0.01},
    ("bioalbert", "bc5cdr", "ner"): {
        "batch": 32, "learning_rate": 1e-5, "updates": 10_000, "warmup_updates": 320, "epochs": None, "max_tokens": 512,
    },
    ("bioalbert", "ddi", "relations"): {"updates": 10_000, "max_tokens": 128},
    ("oubiobert", "bc5cdr", "ner"): {
        "batch": 32, "max_tokens": 128, "seeds": 5, "keep": "last",
        "grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [20, 30]},
    },
    ("oubiobert", "biosses", "similarity"): {"grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [40, 50]}},
    ("oubiobert", "medsts", "similarity"): {"grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [7, 8, 9, 10]}},
    ("oubiobert", "chemprot", "relations"): {
        "grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [5, 6, 7, 8, 9, 10]},
    },
    ("oubiobert", "hoc", "classification"): {"grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [5, 10, 15]}},
    ("oubiobert", "mednli", "classification"): {
        "grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [5, 6, 7, 8, 9, 10, 15]},
    },
    ("oubiobert", "docclsjp", "classification"): {
        "grid": {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [3, 4, 5, 6, 7, 8, 9, 10]},
    },
    ("bioelectra", "ncbi_disease", "ner"): {
        "seeds": 10, "epochs": 3, "learning_rate": 1e-4, "layer_decay": 0.8, "weight_decay": 0.01, "warmup": 0.1,
        "batch": 12, "max_tokens": 128, "grid": {},
    },
    ("bioelectra", "bioasq", "extractive_qa"): {"seeds": 10, "epochs": 2, "max_tokens": 192},
    ("bioelectra_tuned", "ncbi_disease", "ner"): {
        "seeds": 10, "layer_decay": 0.8,
        "grid": {"learning_rate": [1e-5, 5e-5, 1e-4, 5e-4], "epochs": [3, 5, 15, 20], "batch": [12, 24, 32, 64]},
    },
    ("drbenchmark", "quaero_emea", "ner"): {
        "batch": 16, "learning_rate": 1e-4, "weight_decay": 0.01, "epochs": 15, "max_tokens": 512, "warmup": 0.0,
    },
    ("drbenchmark", "morfitt", "classification"): {"batch": 12, "learning_rate": 2e-5, "epochs": 35},
    ("drbenchmark", "frenchmedmcqa", "choice"): {"batch": 16, "learning_rate": 2e-5, "epochs": 20},
}  # fmt: skip
FAMILIES = ("ner", "relations", "classification", "similarity", "choice", "ranking", "extractive_qa")


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "protocols").mkdir()
    return tmp_path


def loaded(folder: Path, text: str, changes=(), names=(), grid=None):
    (folder / "protocols" / "p.yaml").write_text(text)
    return load_protocol(folder / "t.yaml", "p", list(changes), tuple(names), grid)


@pytest.mark.parametrize("name, task, family", PAPERS)
def test_a_papers_protocol_has_its_numbers(name, task, family, tmp_path):
    protocol = load_protocol(tmp_path / "t.yaml", name, [], (task, family))
    expected = PAPERS[name, task, family]
    assert {key: getattr(protocol, key) for key in expected} == expected
    assert protocol.source and not protocol.training_tokens and not protocol.dev_items


def test_every_shipped_protocol_serves_every_family(repository, tmp_path):
    files = sorted((repository / "downstream" / "protocols").glob("*.yaml"))
    forms = {"tagger", "bi-encoder", "label-attention"}
    ours = {"tuned", "cpu", "quick", "quickstart", "vectors", "vectors_quick"} | forms
    assert {name for name, _, _ in PAPERS} | ours == {file.stem for file in files}
    for file in files:
        for family in FAMILIES:
            load_protocol(tmp_path / "t.yaml", file.stem, [], ("unheard_of", family))


def test_the_quick_protocol_has_a_budget_and_one_seed(tmp_path):
    quick = load_protocol(tmp_path / "t.yaml", "quick", [])
    assert quick.training_tokens == 300_000 and quick.dev_items and quick.seeds == 1 and not quick.grid


def test_that_of_networks_has_the_same_budget_and_else_the_settings_of_networks(tmp_path):
    quick, whole, few = (load_protocol(tmp_path / "t.yaml", name, []) for name in ("quick", "vectors", "vectors_quick"))
    budget = {key: getattr(quick, key) for key in ("training_tokens", "dev_items", "seeds")}
    assert few == replace(whole, source=few.source, **budget)


@pytest.mark.parametrize(
    "names, epochs", [(("tiny", "ner"), 7), (("else", "ner"), 5), (("else", "ranking"), 3), ((), 3)]
)
def test_a_task_comes_before_its_family_and_the_others_last(folder, names, epochs):
    text = PROTOCOL.replace("epochs: 2", "epochs: {other: 3, ner: 5, tiny: 7}")
    assert loaded(folder, text, names=names).epochs == epochs


@pytest.mark.parametrize("key", ["epochs", "grid: {epochs"])
def test_a_task_that_a_protocol_does_not_know_is_one_sentence(folder, key):
    text = PROTOCOL + ("grid: {epochs: {ner: [5]}}" if "grid" in key else "")
    text = text if "grid" in key else text.replace("epochs: 2", "epochs: {ner: 5}")
    with pytest.raises(InputError, match="epochs is given for ner, not for tiny or ranking; use another"):
        loaded(folder, text, names=("tiny", "ranking"))


def test_a_grid_is_every_combination_the_last_key_first(folder):
    protocol = loaded(folder, "batch: 4\nsource: nobody\ngrid: {learning_rate: [1e-3, '1e-4'], epochs: [2, 3, 2]}")
    assert protocol.points == [
        {"learning_rate": rate, "epochs": epochs} for rate in (1e-3, 1e-4) for epochs in (2, 3)
    ]  # fmt: skip
    assert (protocol.learning_rate, protocol.epochs) == (1e-3, 2)  # until one is chosen
    settled = protocol.settled(protocol.points[3])
    assert (settled.learning_rate, settled.epochs, settled.grid, settled.batch) == (1e-4, 3, {}, 4)


def test_without_a_grid_there_is_one_point_of_no_settings(folder):
    protocol = loaded(folder, PROTOCOL)
    assert protocol.points == [{}] and protocol.settled({}) == protocol


def test_a_given_grid_replaces_the_files_key_by_key_and_a_set_key_is_not_searched(folder):
    text = PROTOCOL + "grid: {learning_rate: [1.0e-3, 1.0e-4], epochs: [2, 3]}"
    assert loaded(folder, text, grid={"epochs": [9], "batch": [1, 2]}).grid == {
        "learning_rate": [1e-3, 1e-4], "epochs": [9], "batch": [1, 2],
    }  # fmt: skip
    fixed = loaded(folder, text, ["epochs=7"])
    assert fixed.grid == {"learning_rate": [1e-3, 1e-4]} and fixed.epochs == 7


@pytest.mark.parametrize(
    "grid, complaint",
    [
        ("[1, 2]", "write a list of values under each key"),
        ("{speed: [1]}", "'speed' cannot be searched; what can is batch, learning_rate, epochs"),
        ("{seeds: [1]}", "'seeds' cannot be searched"),
        ("{max_tokens: [64]}", "'max_tokens' cannot be searched"),
        ("{epochs: 3}", "epochs is 3; a list of values"),
        ("{epochs: []}", "epochs is []; a list of values"),
        ("{epochs: [1, long]}", "epochs is 'long'; int or null is needed"),
        ("{epochs: [1, 0]}", "epochs is 0; it starts at 1"),
        ("{updates: [5]}", "either epochs or updates"),
    ],
)
def test_a_bad_grid_is_one_sentence(folder, grid, complaint):
    with pytest.raises(InputError, match=r"p\.yaml") as error:
        loaded(folder, f"{PROTOCOL}grid: {grid}")
    assert complaint in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("seeds: 0", "seeds is 0; it starts at 1"),
        ("training_tokens: 0", "training_tokens is 0; it starts at 1"),
        ("dev_items: 0", "dev_items is 0; it starts at 1"),
        ("max_tokens: 4", "max_tokens is 4; a sequence needs at least 8"),
    ],
)
def test_a_bad_value_is_one_sentence(folder, line, complaint):
    with pytest.raises(InputError, match=complaint):
        loaded(folder, PROTOCOL + line)


def test_what_differs_between_tasks_is_as_the_file_has_it(tmp_path):
    recipe = tmp_path / "r.yaml"
    assert by_task(recipe, "tuned", []) == {}
    found = by_task(recipe, "drbenchmark", [])
    assert found.keys() == {"batch", "learning_rate", "epochs"} and found["learning_rate"] == {
        "ner": 1e-4,
        "other": 2e-5,
    }
    assert by_task(recipe, "drbenchmark", ["epochs=3", "batch=4"]).keys() == {"learning_rate"}
    assert by_task(recipe, "oubiobert", [])["grid"].keys() == {"epochs"}


def test_what_is_recorded_of_a_protocol_stays_as_before_where_no_words_are_replaced(folder):
    protocol = loaded(folder, PROTOCOL)
    assert not {"replaced_words", "patience_updates"} & set(protocol.recorded())
    assert replace(protocol, replaced_words=0.1).recorded()["replaced_words"] == 0.1
