"""Curves from a recipe and models to a table and a picture; broken off, they go on to the same figures."""

import json
import shutil
from pathlib import Path

import pytest
from tiny_models import write_roberta
from tiny_tasks import write_task

from alibert_common.errors import InputError
from downstream import finetune
from downstream.curves.__main__ import main
from downstream.learners.encoder import Encoder
from downstream.training import loop as training

pytestmark = pytest.mark.usefixtures("without_pictures")
PROTOCOL = """
batch: 2
learning_rate: 1.0e-2
epochs: 8
seeds: 2
source: chosen so that a tiny model learns
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("task")
    write_task(root, {"p": PROTOCOL}, train=range(16))
    write_roberta(root / "wide", width=32)
    write_roberta(root / "narrow", width=16)
    return root


def by_documents(task: Path, output: Path, *more) -> list[str]:
    models = ["--model", task / "wide", "--model", f"small={task / 'narrow'}"]
    options = ["--sizes", "2,8,all", "--protocol", "p", "--device", "cpu", "--output", output]
    return [str(word) for word in ("documents", task / "tiny.yaml", *models, *options, *more)]


@pytest.fixture(scope="module")
def done(task, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("curves")
    main(by_documents(task, output))
    return output


def read(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def test_a_point_a_size_and_model(done):
    curves = read(done / "curves.json")
    assert {name: [point["x"] for point in line] for name, line in curves["lines"].items()} == {
        "wide": [2, 8, 16], "small": [2, 8, 16]
    }  # fmt: skip
    for line in curves["lines"].values():
        assert line[0]["mean"] < line[2]["mean"]  # more documents are better, so equal curves say something
        for point in line:
            assert len(point["values"]) == 2
            assert point["interval"]["figure"] == pytest.approx(point["mean"])  # the tallies are those of the figure
            assert point["interval"]["low"] <= point["mean"] <= point["interval"]["high"]
    assert (done / "curves.png").read_bytes().startswith(b"\x89PNG")
    text = (done / "curves.md").read_text(encoding="utf-8")
    assert "micro f1 on dev" in text and "Scores are of dev" in text and "| 16 | " in text


def test_dev_is_whole_at_every_size_and_test_is_not_read(done):
    for folder in (done / "wide").iterdir():
        metrics = read(folder / "metrics.json")
        assert "test" not in metrics and metrics["data"][0]["dev"]["items"] == 6
    few, whole = (read(done / "wide" / name / "metrics.json") for name in ("documents-2", "documents-all"))
    assert (few["train_documents"], whole["train_documents"]) == (2, None)
    assert (few["data"][0]["train"]["items"], whole["data"][0]["train"]["items"]) == (2, 16)
    assert "2 training documents**" in (done / "wide" / "documents-2" / "table.md").read_text()


def test_broken_off_it_goes_on_to_the_same_curves(task, done, tmp_path, monkeypatch):
    fit, fits = Encoder.fit, []

    def counted(self, *args, **keys):
        fits.append(1)
        if len(fits) == 6:  # the second seed of the third point
            raise KeyboardInterrupt
        return fit(self, *args, **keys)

    monkeypatch.setattr(Encoder, "fit", counted)
    with pytest.raises(KeyboardInterrupt):
        main(by_documents(task, tmp_path))
    assert not (tmp_path / "curves.json").exists()
    main(by_documents(task, tmp_path))
    assert len(fits) == 12 + 1
    for name in ("curves.json", "curves.md"):
        assert (tmp_path / name).read_bytes() == (done / name).read_bytes()


def test_a_point_is_repeated_alone_with_as_many_updates_as_of_all(task, done, tmp_path, monkeypatch):
    update, updates = training._update, []
    monkeypatch.setattr(training, "_update", lambda *words: updates.append(1) or update(*words))
    words = [task / "tiny.yaml", "--model", task / "wide", "--protocol", "p", "--device", "cpu", "--dev-only"]
    finetune.main([*map(str, words), "--train-documents", "2", "--seeds", "1", "--output", str(tmp_path)])
    one, other = (read(folder / "seed-1" / "metrics.json") for folder in (tmp_path, done / "wide" / "documents-2"))
    assert len(updates) == 8 * 16 / 2
    assert (one["dev"], one["conditions"]) == (other["dev"], other["conditions"])
    assert one["drawn_for_training"] == other["drawn_for_training"]


def test_another_number_of_documents_does_not_go_on_from_these(task, done):
    output = done / "wide" / "documents-2"
    words = [task / "tiny.yaml", "--model", task / "wide", "--protocol", "p", "--device", "cpu", "--dev-only"]
    for more in ([], ["--train-documents", "3"]):
        with pytest.raises(InputError, match=r"made under other conditions \(train_documents\)"):
            finetune.main([*map(str, words), *more, "--output", str(output)])


def test_more_documents_than_there_are_are_refused_before_anything_is_cleared(task, done):
    output = done / "wide" / "documents-2"
    words = [task / "tiny.yaml", "--model", task / "wide", "--protocol", "p", "--device", "cpu", "--dev-only"]
    with pytest.raises(InputError, match="tiny: 17 documents cannot be drawn from the 16 of the training split"):
        finetune.main([*map(str, words), "--train-documents", "17", "--overwrite", "--output", str(output)])
    assert (output / "metrics.json").is_file()
    with pytest.raises(InputError, match="--sizes: 17 documents, but tiny trains on 16"):
        main([word.replace("2,8,all", "2,17") for word in by_documents(task, output / "none")])
    assert not (output / "none").exists()


def test_documents_are_drawn_for_training_and_patients_for_intervals(task, tmp_path):
    """A patient a split."""
    (task / "whose.yaml").write_text((task / "tiny.yaml").read_text() + 'patient_pattern: "^(.+)-"\n')
    words = ["documents", task / "whose.yaml", "--model", task / "narrow", "--sizes", "2", "--seeds", "1"]
    main([str(word) for word in (*words, "--protocol", "p", "--device", "cpu", "--output", tmp_path)])
    curves = read(tmp_path / "curves.json")
    assert curves["axis"] == "number of training documents" and "bootstrap interval over patients" in curves["told"]
    assert read(tmp_path / "narrow" / "documents-2" / "metrics.json")["data"][0]["train"]["items"] == 2


def test_checkpoints_of_a_run_on_test(task, tmp_path):
    for name, step in {"b": 10, "a": 200}.items():
        shutil.copytree(task / "narrow", tmp_path / "run" / name)
        (tmp_path / "run" / name / "README.md").write_text(f"| | |\n|---|---|\n| updates | {step} |\n")
    words = ["steps", task / "tiny.yaml", "--models", tmp_path / "run", f"other=50:{task / 'wide'}"]
    words += ["--protocol", "p", "--device", "cpu", "--seeds", "1", "--test", "--output", tmp_path / "out"]
    main([str(word) for word in words])
    curves = read(tmp_path / "out" / "curves.json")
    assert [(name, point["x"]) for name, line in curves["lines"].items() for point in line] == [
        ("run", 10), ("run", 200), ("other", 50)
    ]  # fmt: skip
    alone = read(tmp_path / "out" / "run" / "step-200" / "metrics.json")
    assert curves["split"] == "test" and curves["lines"]["run"][1]["values"] == alone["test"]["micro"]["f1"]["values"]
    assert "Scores are of test" in (tmp_path / "out" / "curves.md").read_text(encoding="utf-8")
