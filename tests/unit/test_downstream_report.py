"""Runs side by side: means, deviations, and runs that do not compare."""

import json

import pytest

from downstream.files import InputError
from downstream.report import load, table


def metrics(f1: float | None, deviation: float | None = 0.01, random_init: bool = False, task: str = "sample") -> dict:
    figure = {"f1": {"mean": f1, "deviation": deviation}}
    return {
        "task": task,
        "recipe": {"types": ["value"]},
        "protocol": {"name": "tuned", "epochs": 8},
        "data_sha256": {"test": "0"},
        "model": {"folder": "model", "random_init": random_init},
        "num_parameters": 1234567,
        "selection": {"by": "protocol tuned, as it stands"},
        "seeds": [1, 2],
        "seconds_per_seed": [10.0, 20.0],
        "test": {"types": {"value": figure}, "micro": figure, "macro": figure},
    }


def saved(folder, content) -> dict:
    folder.mkdir()
    (folder / "metrics.json").write_text(json.dumps(content), encoding="utf-8")
    return load(folder)


def test_a_column_a_run(tmp_path):
    runs = [saved(tmp_path / "a", metrics(0.5)), saved(tmp_path / "b", metrics(0.25, None, True))]
    lines = table(runs).splitlines()
    assert lines[0] == "F1 of strict entities, sample (test), protocol tuned, 2 seeds"
    assert lines[2] == "| Entities | model | model, random weights |"
    assert "| value | 0.500 ± 0.010 | 0.250 |" in lines and "| parameters | 1,234,567 | 1,234,567 |" in lines
    assert "| seconds a seed | 15 | 15 |" in lines


def test_a_type_without_a_score_is_a_dash(tmp_path):
    assert "| value | - |" in table([saved(tmp_path / "a", metrics(None, None))]).splitlines()


@pytest.mark.parametrize(
    "name, change",
    [
        ("task", {"task": "quaero"}),
        ("recipe", {"recipe": {"types": []}}),
        ("protocol", {"protocol": {"name": "tuned", "epochs": 1}}),
        ("data", {"data_sha256": {"test": "1"}}),
        ("number of seeds", {"seeds": [1]}),
    ],
)
def test_runs_made_in_different_ways_do_not_compare(tmp_path, name, change):
    runs = [saved(tmp_path / "a", metrics(0.5)), saved(tmp_path / "b", metrics(0.5) | change)]
    with pytest.raises(InputError, match=f"do not compare, their {name} differs"):
        table(runs)


def test_what_differs_is_told_by_folder_and_what_is_the_same_is_not(tmp_path):
    other = {"protocol": {"name": "tuned", "epochs": 1}}
    runs = [saved(tmp_path / "a", metrics(0.5)), saved(tmp_path / "b", metrics(0.5) | other)]
    with pytest.raises(InputError, match=rf"their protocol differs \({tmp_path}/a: epochs 8; {tmp_path}/b: epochs 1\)"):
        table(runs)


@pytest.mark.parametrize("content", ["{}", "[]", "not json"])
def test_another_file_of_that_name_is_refused(content, tmp_path):
    (tmp_path / "metrics.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="not written by downstream.finetune"):
        load(tmp_path)


def test_a_test_score_of_settings_by_hand_is_in_no_table(tmp_path):
    with pytest.raises(InputError, match=r"a/metrics.json: its test score is of settings changed by hand \(batch=4\)"):
        saved(tmp_path / "a", metrics(0.5) | {"selection": {"by": "hand", "changed": ["batch=4"]}})
