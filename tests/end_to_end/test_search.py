"""Settings searched on dev, from a recipe to a table: the better wins, a kill changes nothing, test stays shut."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_models import write_roberta
from tiny_tasks import RECIPE, write_task

from alibert_common.errors import InputError
from downstream import finetune, search
from downstream.report.read_runs import load
from downstream.tuning import trials
from downstream.tuning.optuna_study import held

pytestmark = pytest.mark.usefixtures("without_pictures")
PROTOCOL = """
batch: 4
learning_rate: 2.0e-3
epochs: 3
source: chosen so that a tiny model learns
"""
GRID = ["--grid", "learning_rate=1e-6,1e-2", "--grid", "epochs=3,4"]


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("task")
    write_task(root, {"p": PROTOCOL, "open": PROTOCOL + "grid: {epochs: [3, 4]}"}, train=range(24))
    write_roberta(root / "model", width=32)
    write_roberta(root / "other", width=16)
    return root


def command(task: Path, output: Path, *options, protocol: str = "p") -> list[str]:
    parts = [task / "tiny.yaml", "--model", task / "model", "--device", "cpu", "--output", output, *options]
    return [str(part) for part in [*parts, *(["--protocol", protocol] if protocol else [])]]


def searched(monkeypatch, *parts) -> dict:
    monkeypatch.setattr(sys, "argv", ["search", *parts])
    search.main()
    return json.loads(Path(parts[parts.index("--output") + 1], "selection.json").read_text())


def tuned(monkeypatch, *parts) -> dict:
    monkeypatch.setattr(sys, "argv", ["finetune", *parts])
    finetune.main()
    return json.loads(Path(parts[parts.index("--output") + 1], "metrics.json").read_text())


def without_time(record: dict) -> dict:
    trials = [{key: value for key, value in trial.items() if key != "seconds"} for trial in record["trials"]]
    return record | {"trials": trials}


@pytest.fixture(scope="module")
def done(task, tmp_path_factory) -> tuple[dict, Path]:
    """A finished search of 2 x 2 points where there is no test split."""
    output = tmp_path_factory.mktemp("search")
    shutil.copytree(task / "data", output / "data", ignore=shutil.ignore_patterns("test*"))
    with pytest.MonkeyPatch.context() as patch:
        parts = command(task, output / "out", *GRID, "--data", output / "data")
        return searched(patch, *parts), output / "out"


def test_the_better_point_wins_and_every_trial_is_told(done):
    record, output = done
    assert record["settings"]["learning_rate"] == 1e-2 and record["dev"] > 0.5
    by_point = {tuple(trial["settings"].values()): trial for trial in record["trials"]}
    assert set(by_point) == {(rate, epochs) for rate in (1e-2, 1e-6) for epochs in (3, 4)}
    assert all(trial["state"] == "complete" and len(trial["dev"]) == 1 for trial in by_point.values())
    assert {point: trial["epochs"] for point, trial in by_point.items()} == {point: point[1] for point in by_point}
    assert record["dev"] == max(trial["dev"][0] for trial in by_point.values())
    assert record["grid"] == {"learning_rate": [1e-6, 1e-2], "epochs": [3, 4]} and record["sampler_seed"] == 1
    assert set(record["data_sha256"][0]) == {"train", "dev"} and "optuna" in record["versions"]
    table = (output / "selection.md").read_text().splitlines()
    assert table[2].startswith("| 0.01 |") and table[-1].startswith("chosen: learning_rate 0.01, epochs")


def test_the_same_search_again_runs_nothing(task, done, monkeypatch, capsys):
    record, output = done
    monkeypatch.setattr(trials.TrialTrainer, "__call__", None)
    parts = command(task, output, *GRID, "--data", output.parent / "data")
    assert searched(monkeypatch, *parts) == record
    assert "4 of 4 trials were finished before" in capsys.readouterr().out


def test_a_point_that_diverges_is_told_and_the_others_are_tried(task, tmp_path, monkeypatch, capsys):
    for _ in range(2):
        record = searched(monkeypatch, *command(task, tmp_path, "--grid", "learning_rate=1e30,1e-2,1e-3"))
    assert record["settings"] == {"learning_rate": 1e-2} and "3 of 3 trials were finished" in capsys.readouterr().out
    states = {trial["settings"]["learning_rate"]: (trial["state"], len(trial["dev"])) for trial in record["trials"]}
    assert states == {1e30: ("diverged", 0), 1e-2: ("complete", 1), 1e-3: ("complete", 1)}
    assert "| 1e+30 | - | diverged | " in (tmp_path / "selection.md").read_text()
    with pytest.raises(InputError, match=r"1 of 1 trials diverged\); search other ones"):
        searched(monkeypatch, *command(task, tmp_path / "all", "--grid", "learning_rate=1e30"))


def test_a_search_that_is_killed_goes_on_to_the_same_selection(task, done, tmp_path, monkeypatch):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(search.__file__).parents[1]), *sys.path])}
    parts = command(task, tmp_path / "out", *GRID)
    child = subprocess.Popen(
        [sys.executable, "-m", "downstream.search", *parts], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline().startswith("trial 1/4: ")
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL and not (tmp_path / "out" / "selection.json").exists()
    trained = []
    real = trials.TrialTrainer.__call__
    monkeypatch.setattr(trials.TrialTrainer, "__call__", lambda *given: (trained.append(given[1]), real(*given))[1])
    record = searched(monkeypatch, *parts)
    assert len(trained) == 3
    assert without_time(record) == without_time(done[0])


def test_finetune_trains_with_what_was_chosen_and_a_table_takes_it(task, done, tmp_path, monkeypatch, capsys):
    record, output = done
    parts = command(task, tmp_path / "run", "--selection", output / "selection.json", "--seeds", "1", protocol="")
    metrics = tuned(monkeypatch, *parts)
    assert {key: metrics["protocol"][key] for key in record["settings"]} == record["settings"]
    assert metrics["dev"]["micro"]["f1"]["values"] == [record["dev"]]  # the same training, by another command
    assert metrics["selection"]["by"] == "search" and metrics["selection"]["trials"]["complete"] == 4
    assert json.loads((tmp_path / "run/seed-1/metrics.json").read_text())["conditions"]["selection"]["by"] == "search"
    assert load(tmp_path / "run").split == "test"


def test_the_command_to_run_next_is_said(task, tmp_path, monkeypatch, capsys):
    parts = command(task, tmp_path / "out", "--grid", "epochs=1", "--frozen", "--data", task / "data")
    searched(monkeypatch, *parts)
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == (
        f"next: python -m downstream.finetune {task}/tiny.yaml --model {task}/model --data {task}/data --frozen "
        f"--device cpu --selection {tmp_path}/out/selection.json"
    )


def test_a_selection_for_another_model_is_refused_before_training(task, done, tmp_path, monkeypatch):
    parts = command(task, tmp_path / "run", "--selection", done[1] / "selection.json", protocol="")
    parts[parts.index("--model") + 1] = str(task / "other")
    with pytest.raises(InputError, match=r"selection.json: its settings .* other conditions \(model\)"):
        tuned(monkeypatch, *parts)
    for more in (["--set", "epochs=1"], ["--protocol", "p"]):
        with pytest.raises(InputError, match="leave out --protocol and --set"):
            tuned(monkeypatch, *command(task, tmp_path, "--selection", done[1] / "selection.json", *more, protocol=""))


def test_settings_by_hand_have_no_test_score_and_no_table_takes_one(task, tmp_path, monkeypatch):
    parts = command(task, tmp_path / "hand", "--set", "epochs=1", "--seeds", "1")
    with pytest.raises(InputError, match="--set epochs=1: settings changed by hand are scored on dev alone. Add --dev"):
        tuned(monkeypatch, *parts)
    assert not (tmp_path / "hand").exists()
    by_hand = tuned(monkeypatch, *parts, "--dev-only")
    assert by_hand["selection"] == {"by": "hand", "changed": ["epochs=1"]}
    assert load(tmp_path / "hand").split == "dev"
    (tmp_path / "hand" / "metrics.json").write_text(json.dumps(by_hand | {"test": by_hand["dev"]}))
    with pytest.raises(InputError, match=r"hand/metrics.json: .* by hand \(epochs=1\)"):
        load(tmp_path / "hand")


def test_a_protocol_as_it_stands_says_so_and_how_many_seeds(task, tmp_path, monkeypatch):
    (task / "protocols" / "short.yaml").write_text(PROTOCOL.replace("epochs: 3", "epochs: 1\nseeds: 2\nmax_tokens: 16"))
    metrics = tuned(monkeypatch, *command(task, tmp_path / "run", protocol="short"))
    assert metrics["selection"] == {"by": "protocol short, as it stands"} and metrics["seeds"] == [1, 2]
    assert metrics["max_tokens"] == 16 and metrics["recipe"]["max_tokens"] == 16
    assert load(tmp_path / "run").metrics["seeds"] == [1, 2]


def test_a_protocol_that_leaves_something_to_choose_is_not_trained_with(task, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="it leaves epochs to be chosen on dev; run python -m downstream.search"):
        tuned(monkeypatch, *command(task, tmp_path / "run", protocol="open"))
    assert not (tmp_path / "run").exists()


def test_several_seeds_and_folds_are_averaged(task, tmp_path, monkeypatch):
    (task / "folds.yaml").write_text(RECIPE.replace("train.jsonl, dev: dev.jsonl, test: test.jsonl", "F").replace(
        "{train: F}", "{all: train.jsonl}\nfolds: 3"
    ))  # fmt: skip
    parts = command(task, tmp_path / "out", "--grid", "epochs=1,2", "--seeds", "2")
    parts[0] = str(task / "folds.yaml")
    record = searched(monkeypatch, *parts)
    assert record["seeds"] == 2 and len(record["data_sha256"]) == 3
    assert [(len(trial["dev"]), trial["epochs"] / trial["settings"]["epochs"]) for trial in record["trials"]] == [
        (2, 6), (2, 6)
    ]  # fmt: skip
    one = command(task, tmp_path / "one", "--grid", "epochs=1,2")
    one[0] = parts[0]
    assert [trial["dev"] for trial in searched(monkeypatch, *one)["trials"]] == [
        trial["dev"][:1] for trial in record["trials"]
    ]


@pytest.mark.parametrize(
    "options, complaint",
    [
        ([], "it leaves nothing to choose; say what"),
        (["--grid", "epochs"], "write KEY=V1,V2"),
        (["--grid", "epochs="], "write KEY=V1,V2"),
        (["--grid", "epochs=1,["], "not YAML"),
        (["--grid", "epochs=1", "--grid", "epochs=2"], "--grid epochs=2: epochs is there twice; write all its values"),
        (["--grid", "speed=1"], "error: --grid: 'speed' cannot be searched"),
        (["--grid", "epochs=1,0"], "error: --grid: epochs is 0; it starts at 1"),
        (["--grid", "epochs=1,often"], "error: --grid: epochs is 'often'; int or null is needed"),
        (["--grid", "learning_rate=1e-3", "--grid", "updates=5"], "error: --grid: give either epochs or updates"),
        (["--grid", "epochs=1,2", "--trials", "0"], "both start at 1, and the grid has 2 points"),
        (["--grid", "epochs=1,2", "--trials", "3"], "the grid has 2 points"),
        (["--grid", "epochs=1,2", "--seeds", "0"], "both start at 1"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(task, tmp_path, monkeypatch, capsys, options, complaint):
    monkeypatch.setattr(sys, "argv", ["search", *command(task, tmp_path / "out", *options)])
    with pytest.raises(SystemExit) as stop:
        search.exit_with_sentence(search.main)
    said = capsys.readouterr().err
    assert stop.value.code == 2 and complaint in said and said.count("\n") == 1 and not (tmp_path / "out").exists()


def test_patients_in_train_and_dev_are_named(task, tmp_path, monkeypatch, capsys):
    """The number of a line is its patient: 1 to 24 in train, 1 to 6 in dev."""
    (task / "whose.yaml").write_text((task / "tiny.yaml").read_text() + 'patient_pattern: "-(.+)$"\n')
    searched(monkeypatch, str(task / "whose.yaml"), *command(task, tmp_path / "out", "--grid", "epochs=1")[1:])
    assert "warning: tiny: 6 patients are in train and dev (1, 2, 3 and 3 more); " in capsys.readouterr().err


def test_a_folder_of_another_search_is_refused_or_overwritten(task, tmp_path, monkeypatch):
    first = searched(monkeypatch, *command(task, tmp_path / "out", "--grid", "epochs=1,2", "--trials", "1"))
    assert len(first["trials"]) == 1
    with pytest.raises(InputError, match=r"journal.log: made under other conditions \(protocol, grid\)"):
        searched(monkeypatch, *command(task, tmp_path / "out", "--grid", "epochs=2,1"))
    more = searched(monkeypatch, *command(task, tmp_path / "out", "--grid", "epochs=1,2"))
    assert more["trials"][0] == first["trials"][0] and len(more["trials"]) == 2
    over = command(task, tmp_path / "out", "--grid", "epochs=2", "--overwrite")
    with held(tmp_path / "out" / "journal.log"), pytest.raises(InputError, match="another search is writing it"):
        searched(monkeypatch, *over)
    assert (tmp_path / "out" / "selection.json").exists()
    again = searched(monkeypatch, *over)
    assert again["settings"] == {"epochs": 2} and len(again["trials"]) == 1
