"""How settings were chosen: what metrics.json says of it, what a selection holds for, what no table takes."""

import json
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from alibert_common.errors import InputError
from downstream.run_config import choice_of
from downstream.training.protocol import Protocol
from downstream.training.selection import Choice, read_selection, refuse_other, refuse_unselected

PROTOCOL = Protocol(batch=4, learning_rate=1e-3, epochs=2, source="a test")
FILE = Path("metrics.json")


def conditions(**changes) -> dict:
    """Of a run; the same are in the record of a search, the test split apart."""
    return {
        "task": "tiny",
        "recipe": {"task": "tiny", "types": ["x"]},
        "model": {"folder": "model", "sha256": "m", "random_init": False, "frozen": False},
        "max_tokens": 32,
        "data_sha256": [{"train": "a", "dev": "b"}],
        "protocol": {"name": "p", "changed": [], **asdict(PROTOCOL)},
    } | changes


def record(**changes) -> dict:
    return conditions() | {
        "sampler": "grid", "sampler_seed": 1, "seeds": 1, "grid": {"epochs": [1, 2]}, "settings": {"epochs": 2},
        "dev": 0.5, "num_points": 3, "trials": [{"state": "complete"}, {"state": "pruned"}, {"state": "complete"}],
    } | changes  # fmt: skip


def test_a_protocol_as_it_stands_a_hand_and_a_search_are_told_apart():
    assert Choice("p", PROTOCOL).told() == {"by": "protocol p, as it stands"}
    assert Choice("p", PROTOCOL, ["epochs=3"]).told() == {"by": "hand", "changed": ["epochs=3"]}
    assert Choice("p", PROTOCOL, record=record()).told() == {
        "by": "search", "sampler": "grid", "sampler_seed": 1, "seeds": 1, "grid": {"epochs": [1, 2]},
        "settings": {"epochs": 2}, "dev": 0.5, "num_points": 3, "trials": {"complete": 2, "pruned": 1, "diverged": 0},
    }  # fmt: skip


def test_what_was_chosen_is_among_the_conditions():
    told = Choice("p", PROTOCOL, ["epochs=3"]).conditions()["protocol"]
    assert (told["name"], told["changed"], told["batch"], told["learning_rate"]) == ("p", ["epochs=3"], 4, 1e-3)


def test_only_a_protocol_with_values_for_other_tasks_has_these_among_the_conditions():
    assert Choice("p", PROTOCOL).conditions().keys() == {"protocol"}
    differing = {"epochs": {"ner": 2, "other": 3}}
    assert Choice("p", PROTOCOL, by_task=differing).conditions()["protocol_by_task"] == differing


def test_a_searched_grid_is_known_on_other_tasks_if_it_is_the_files_own(tmp_path, repository):
    file = repository / "recipes" / "finetune" / "quaero_emea.yaml"
    recipe = SimpleNamespace(names=("quaero_emea", "ner"))
    own = {"learning_rate": [3e-5, 4e-5, 5e-5], "epochs": [20, 30]}
    for grid, known in ((own, {"epochs"}), (own | {"epochs": [20]}, None)):
        searched = record(protocol={"name": "oubiobert"}, grid=grid, settings={"learning_rate": 3e-5, "epochs": 20})
        (tmp_path / "s.json").write_text(json.dumps(searched))
        args = Namespace(baseline=None, selection=tmp_path / "s.json", protocol=None, set=[], recipe=file)
        differing = choice_of(args, recipe).by_task
        assert (differing["grid"].keys() if known else differing) == (known or {})


def test_a_selection_holds_for_another_folder_of_the_same_model_and_with_the_test_split():
    model = conditions()["model"] | {"folder": "moved"}
    refuse_other(record(), conditions(model=model, data_sha256=[{"train": "a", "dev": "b", "test": "c"}]), FILE)


@pytest.mark.parametrize(
    "key, value",
    [
        ("task", "other"),
        ("recipe", {"task": "tiny", "types": ["y"]}),
        ("model", {"folder": "model", "sha256": "other", "random_init": False, "frozen": False}),
        ("model", {"folder": "model", "sha256": "m", "random_init": True, "frozen": False}),
        ("max_tokens", 16),
        ("data_sha256", [{"train": "a", "dev": "c"}]),
        ("data_sha256", [{"train": "c", "dev": "b"}]),
        ("data_sha256", [{"train": "a", "dev": "b"}] * 2),
        ("protocol", {"name": "p", "changed": [], **asdict(PROTOCOL), "batch": 5}),
    ],
)
def test_a_selection_holds_for_nothing_else(key, value):
    with pytest.raises(InputError, match=rf"s\.json: its settings were chosen for other conditions \({key}\)"):
        refuse_other(record(), conditions(**{key: value}), Path("s.json"))


def test_a_selection_is_read_as_it_was_written(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(record()))
    assert read_selection(tmp_path / "s.json") == record()


@pytest.mark.parametrize("content", ["no json", "[]", "3", "{}", '"settings"', json.dumps(conditions())])
def test_another_file_is_no_selection(tmp_path, content):
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(InputError, match=r"s\.json: not .*give the selection.json"):
        read_selection(tmp_path / "s.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"epochs": 2, "none_such": 1}},
        {"settings": {}},
        {"settings": {"epochs": 3}},  # not in the grid
        {"settings": [2]},
        {"grid": {"epochs": 2}},
        {"grid": ["epochs"]},
        {"protocol": {"changed": []}},
        {"protocol": {"name": 3}},
        {"protocol": "p"},
        {"model": "model"},
        {"data_sha256": {"train": "a"}},
        {"data_sha256": ["a"]},
        {"trials": {}},
        {"trials": [{}]},
        {"trials": ["complete"]},
    ],
)
def test_a_damaged_selection_is_refused(tmp_path, changes):
    (tmp_path / "s.json").write_text(json.dumps(record(**changes)))
    with pytest.raises(InputError, match=r"s\.json: not as downstream\.search wrote it; give the selection\.json"):
        read_selection(tmp_path / "s.json")


@pytest.mark.parametrize("key", record())
def test_a_selection_that_lacks_a_key_is_refused(tmp_path, key):
    (tmp_path / "s.json").write_text(json.dumps({name: value for name, value in record().items() if name != key}))
    with pytest.raises(InputError, match=r"s\.json: not as downstream\.search wrote it"):
        read_selection(tmp_path / "s.json")


def test_no_file_is_no_selection(tmp_path):
    with pytest.raises(InputError, match=r"s\.json: no such file"):
        read_selection(tmp_path / "s.json")


def test_a_test_score_that_was_chosen_on_dev_or_not_at_all_may_be_in_a_table():
    refuse_unselected({"test": {}, "selection": {"by": "search"}}, FILE)
    refuse_unselected({"test": {}, "selection": {"by": "protocol tuned, as it stands"}}, FILE)
    refuse_unselected({"dev": {}, "selection": {"by": "hand", "changed": ["epochs=1"]}}, FILE)
    refuse_unselected({"dev": {}}, FILE)


def test_a_test_score_of_settings_by_hand_may_not():
    with pytest.raises(InputError, match=r"^metrics\.json: .* changed by hand \(epochs=1, batch=2\); .*search"):
        refuse_unselected({"test": {}, "selection": {"by": "hand", "changed": ["epochs=1", "batch=2"]}}, FILE)


@pytest.mark.parametrize("selection", [{}, {"selection": None}, {"selection": "none"}, {"selection": {}}])
def test_a_test_score_without_a_record_may_not(selection):
    with pytest.raises(InputError, match=r"^metrics\.json: its test score has no record .* run downstream.finetune"):
        refuse_unselected({"test": {}, **selection}, FILE)
