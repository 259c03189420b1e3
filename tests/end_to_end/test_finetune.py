"""The fine-tuning command, from annotated files to a model a user loads: scores, pictures, resuming, bad input."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from commands import run as run_command
from tiny_models import write_electra, write_roberta
from transformers import pipeline

from alibert_common.errors import InputError, exit_with_sentence
from downstream import finetune, report, tag
from downstream.data.readers import ENTITIES
from downstream.experiment import run as experiment

pytestmark = pytest.mark.usefixtures("without_pictures")
WORDS = {"foie": "anatomy", "rein": "anatomy", "aspirine": "substance", "fièvre": "symptom", "hépatite": "symptom"}
RECIPE = """
task: tiny
format: brat
data: data
splits: {train: train, dev: dev, test: test}
types: [anatomy, substance, symptom]
"""
TABLES = "train: train.tsv, dev: dev.tsv, test: test.tsv"
SPLITS = "splits: {train: train, dev: dev, test: test}"
PROTOCOL = """
batch: 8
learning_rate: 2.0e-3
epochs: 6
source: chosen so that a tiny model learns
"""


def write_document(folder: Path, number: int) -> None:
    """Lines such as "le patient, FOIE et   Le HÉPATITE." with an entity for each word of WORDS."""
    forms, text, lines = [*WORDS.items()], "", []
    for index in range(16):
        form, label = forms[(number * 3 + index * index) % len(forms)]
        text += "  Le " if index % 2 else "le\u00a0patient, "
        shown = form.upper() if number % 2 else form
        lines.append(f"T{index}\t{label} {len(text)} {len(text) + len(shown)}\t{shown}")
        text += shown + (".\n" if index % 2 else " et ")
    (folder / f"d{number}.txt").write_text(text, encoding="utf-8")
    (folder / f"d{number}.ann").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("task")
    (root / "protocols").mkdir()
    (root / "tiny.yaml").write_text(RECIPE)
    (root / "protocols" / "tuned.yaml").write_text(PROTOCOL)
    for split, numbers in {"train": range(16), "dev": range(24, 28), "test": range(30, 34)}.items():
        (root / "data" / split).mkdir(parents=True)
        for number in numbers:
            write_document(root / "data" / split, number)
    write_roberta(root / "roberta", width=32)
    write_electra(root / "electra", width=32)
    return root


def command(task: Path, output: Path, *options) -> list[str]:
    parts = [task / "tiny.yaml", "--model", task / "roberta", "--output", output, "--device", "cpu", *options]
    return [str(part) for part in parts]


def run(monkeypatch, *parts) -> dict:
    monkeypatch.setattr(sys, "argv", ["finetune", *parts])
    finetune.main()
    return json.loads(Path(parts[parts.index("--output") + 1], "metrics.json").read_text())


@pytest.fixture(scope="module")
def done(task, tmp_path_factory):
    """A finished run of two seeds through the real command, from another directory than the repository's."""
    output = tmp_path_factory.mktemp("runs") / "tiny"
    parts = [sys.executable, "-m", "downstream.finetune", *command(task, output, "--seeds", "2")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(finetune.__file__).parents[1]), *sys.path])}
    return output, run_command(*parts, cwd=output.parent, env=environment)


def predictions(output: Path, seed: int) -> list[dict]:
    lines = (output / f"seed-{seed}" / "predictions.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["split"] == "test"]


def test_the_table_and_the_figures_say_what_was_done(done):
    output, printed = done
    metrics = json.loads((output / "metrics.json").read_text())
    assert metrics["test"]["micro"]["f1"]["mean"] > 0.8
    assert all(row["f1"]["mean"] > 0.5 for row in metrics["test"]["types"].values())
    for key, value in {"seqeval_mode": "strict", "scheme": "IOB2", "nested": "outermost"}.items():
        assert metrics["evaluation"][key] == value
    assert metrics["protocol"]["name"] == "tuned" and metrics["protocol"]["batch"] == 8
    assert metrics["seeds"] == [1, 2] and len(metrics["seconds_per_seed"]) == 2
    assert {"torch", "transformers", "seqeval", "python"} <= set(metrics["versions"])
    [data] = metrics["data"]
    gold = {name: split["types"] for name, split in data.items()}
    assert gold["test"] == {kind: metrics["test"]["types"][kind]["support"] for kind in gold["test"]}
    assert metrics["test"]["ceiling"]["f1"]["mean"] == 1.0
    mean = metrics["test"]["micro"]["f1"]["mean"]
    assert f"| micro | {metrics['test']['micro']['precision']['mean']:.3f} ±" in printed and f"{mean:.3f}" in printed
    assert (output / "table.md").read_text() in printed
    for picture in ("scores.png", "curves.png"):
        assert (output / picture).read_bytes().startswith(b"\x89PNG")


def test_a_pipeline_with_the_saved_model_finds_the_scored_entities_in_raw_text(done, task):
    output, _ = done
    seed = json.loads((output / "model" / "finetuning.json").read_text())["seed"]
    tag = pipeline("token-classification", model=str(output / "model"), aggregation_strategy="simple", device="cpu")
    for record in predictions(output, seed):
        raw = (task / "data" / "test" / f"{record['id']}.txt").read_text(encoding="utf-8")
        found, start = [], 0
        for line in raw.splitlines(keepends=True):  # as it was trained: a line is a sequence
            found += [(start + one["start"], start + one["end"], one["entity_group"]) for one in tag(line)]
            start += len(line)
        assert found == [(one["start"], one["end"], one["label"]) for one in record["predicted"]]
        assert {raw[start:end].lower() for start, end, _ in found} <= WORDS.keys()


def tagged(monkeypatch, texts: Path, model: Path, output: Path) -> list[dict]:
    monkeypatch.setattr(sys, "argv", ["tag", str(texts), "--model", str(model), "--output", str(output)])
    tag.main()
    return [json.loads(line) for line in output.read_text().splitlines()]


def assert_as_scored(found: list[dict], scored: list[dict], texts: Path) -> None:
    scores = [span["score"] for document in found for span in document["entities"]]
    assert len(set(scores)) > 2  # a constant is no probability
    assert [one["id"] for one in found] == [one["id"] for one in scored]
    for mine, theirs in zip(found, scored, strict=True):
        assert mine["text"] == (texts / f"{mine['id']}.txt").read_text(encoding="utf-8")
        told = [{name: span[name] for name in ("start", "end", "label")} for span in theirs["predicted"]]
        assert all(0 < span.pop("score") <= 1 for span in mine["entities"])
        assert mine["entities"] == told and told


def test_tagging_raw_text_finds_the_scored_entities(done, task, tmp_path, monkeypatch, capsys):
    output, _ = done
    texts = task / "data" / "test"
    found = tagged(monkeypatch, texts, output / "model", tmp_path / "out.jsonl")
    seed = json.loads((output / "metrics.json").read_text())["model_seed"]
    assert_as_scored(found, predictions(output, seed), texts)
    assert f"4 documents, {sum(len(one['entities']) for one in found)} entities" in capsys.readouterr().out
    assert tag.Tagger(output / "model", "cpu")([]) == []


def test_tagging_cuts_long_lines_where_the_scoring_cut_them(task, tmp_path, monkeypatch):
    shutil.copytree(task / "data", tmp_path / "data")
    texts = tmp_path / "data" / "test"
    for file in texts.glob("*.txt"):  # one line of some 80 tokens a document, sequences of 16
        file.write_text(file.read_text(encoding="utf-8").replace("\n", " "), encoding="utf-8")
    (tmp_path / "long.yaml").write_text(RECIPE + "sequence: window\nmax_tokens: 16\n")
    shutil.copytree(task / "protocols", tmp_path / "protocols")
    output = tmp_path / "run"
    parts = [tmp_path / "long.yaml", "--model", task / "roberta", "--output", output, "--device", "cpu", "--seeds", "1"]
    assert run(monkeypatch, *map(str, parts))["max_tokens"] == 16
    found = tagged(monkeypatch, texts, output / "model", tmp_path / "out.jsonl")
    assert_as_scored(found, predictions(output, 1), texts)


@pytest.mark.parametrize(
    "file, content, complaint",
    [
        ("finetuning.json", "{", "not as downstream.finetune wrote it"),
        ("finetuning.json", '{"conditions": {"recipe": {"colour": 1}}}', "not as downstream.finetune wrote it"),
        ("config.json", "{", "config.json"),
        ("model.safetensors", "{", "export"),
    ],
)
def test_a_damaged_fine_tuned_model_is_one_sentence(done, tmp_path, file, content, complaint):
    shutil.copytree(done[0] / "model", tmp_path / "model")
    (tmp_path / "model" / file).write_text(content)
    with pytest.raises(InputError, match=complaint):
        tag.Tagger(tmp_path / "model", "cpu")


def test_predictions_of_a_seed_are_readable_and_match_its_score(done, task):
    output, _ = done
    result = json.loads((output / "seed-1" / "metrics.json").read_text())
    records = predictions(output, 1)
    assert [one["id"] for one in records] == [f"d{number}" for number in range(30, 34)]
    spans = {
        side: {(one["id"], *span.values()) for one in records for span in one[side]} for side in ("gold", "predicted")
    }
    assert result["test"]["micro"]["recall"] == pytest.approx(
        len(spans["gold"] & spans["predicted"]) / len(spans["gold"])
    )
    raw = (task / "data" / "test" / f"{records[0]['id']}.txt").read_text(encoding="utf-8")
    assert all(raw[one["start"] : one["end"]] == one["text"] for one in records[0]["gold"])


def test_the_kept_model_is_the_best_seed_on_dev(done):
    output, _ = done
    metrics = json.loads((output / "metrics.json").read_text())
    notes = json.loads((output / "model" / "finetuning.json").read_text())
    assert notes["seed"] == metrics["model_seed"] and notes["fold"] is None
    assert notes["dev"] == max(metrics["dev"]["micro"]["f1"]["values"])
    assert notes["names"] == ["O", *(f"{tag}-{kind}" for kind in ("anatomy", "substance", "symptom") for tag in "BI")]


def test_a_second_call_goes_on_from_finished_seeds_and_gets_the_same_scores(task, done, tmp_path, monkeypatch, capsys):
    output = tmp_path / "out"
    first = run(monkeypatch, *command(task, output, "--seeds", "1"))
    stamp = (output / "seed-1" / "metrics.json").stat().st_mtime_ns
    second = run(monkeypatch, *command(task, output, "--seeds", "2"))
    assert (output / "seed-1" / "metrics.json").stat().st_mtime_ns == stamp
    assert "finished before" in capsys.readouterr().out
    assert second["seeds"] == [1, 2]
    assert second["test"]["micro"]["f1"]["values"][:1] == first["test"]["micro"]["f1"]["values"]
    uninterrupted = json.loads((done[0] / "metrics.json").read_text())
    assert second["test"] == uninterrupted["test"] and second["dev"] == uninterrupted["dev"]
    losses = [[epoch["loss"] for curve in run["curves"] for epoch in curve] for run in (second, uninterrupted)]
    assert losses[0] == losses[1]


def test_other_conditions_are_refused_or_overwritten(task, tmp_path, monkeypatch):
    quick = ("--seeds", "1", "--set", "epochs=1", "--dev-only")
    run(monkeypatch, *command(task, tmp_path / "out", *quick))
    with pytest.raises(InputError, match=r"seed-1/metrics.json: made under other conditions \(protocol, selection\)"):
        run(monkeypatch, *command(task, tmp_path / "out", *quick, "--set", "batch=4"))
    metrics = run(monkeypatch, *command(task, tmp_path / "out", *quick, "--set", "batch=4", "--overwrite"))
    assert metrics["protocol"]["batch"] == 4


def test_dev_only_never_opens_the_test_split(task, tmp_path, monkeypatch):
    opened = []
    real = ENTITIES["brat"]
    monkeypatch.setitem(ENTITIES, "brat", lambda path, *others: opened.append(path.name) or real(path, *others))
    metrics = run(monkeypatch, *command(task, tmp_path / "out", "--seeds", "1", "--set", "epochs=1", "--dev-only"))
    assert opened == ["train", "dev"] and "test" not in metrics
    assert "on tiny dev" in (tmp_path / "out" / "table.md").read_text()


def test_electra_and_the_random_baseline_train(task, tmp_path, monkeypatch):
    electra = ("--model", str(task / "electra"), "--seeds", "1", "--set", "epochs=6", "--dev-only")
    metrics = run(monkeypatch, *command(task, tmp_path / "electra", *electra))
    assert metrics["model"]["architecture"] == "electra" and metrics["dev"]["micro"]["f1"]["mean"] > 0.8
    baseline = run(monkeypatch, *command(task, tmp_path / "random", *electra, "--random-init"))
    assert (
        baseline["model"]["random_init"] and "(random initialisation)" in (tmp_path / "random" / "table.md").read_text()
    )
    assert baseline["curves"] != metrics["curves"]


def test_a_linear_probe_and_updates_instead_of_epochs(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--seeds", "1", "--dev-only", "--frozen", "--set", "epochs=null", "--set", "updates=3"]
    parts = [str(task / "tiny.yaml"), "--model", str(task / "roberta"), "--device", "cpu", *options]
    monkeypatch.setattr(sys, "argv", ["finetune", *parts])
    finetune.main()
    output = tmp_path / "runs/finetune/tiny-tuned-epochs=null-updates=3-roberta-frozen-dev-only"
    assert "roberta (frozen) on tiny dev" in (output / "table.md").read_text()
    metrics = json.loads((output / "metrics.json").read_text())
    assert metrics["model"]["frozen"] and [len(curve) for curve in metrics["curves"]] == [1]


def test_cross_validation_with_a_head_a_type_and_tagging_with_its_model(task, tmp_path, monkeypatch, capsys):
    (task / "folds.yaml").write_text(RECIPE.replace(SPLITS, "splits: {all: train}\nfolds: 3\nnested: per_type"))
    output = tmp_path / "out"
    (task / "protocols" / "fast.yaml").write_text(PROTOCOL.replace("2.0e-3", "1.0e-2"))
    parts = command(task, output, "--seeds", "1", "--protocol", "fast")
    metrics = run(monkeypatch, str(task / "folds.yaml"), *parts[1:])
    ids = [fold["test"] for fold in json.loads((output / "splits.json").read_text())["folds"]]
    assert sorted(sum(ids, [])) == sorted(f"d{number}" for number in range(16))
    assert metrics["test"]["micro"]["support"] == 256 and metrics["test"]["micro"]["f1"]["mean"] > 0.8
    assert [len(fold["test"]) for fold in metrics["data_sha256"]] == [64] * 3
    fold = json.loads((output / "model" / "finetuning.json").read_text())["fold"]
    lines = (output / f"seed-1-fold-{fold}" / "predictions.jsonl").read_text().splitlines()
    scored = [record for record in map(json.loads, lines) if record["split"] == "test"]
    assert {one["id"] for one in scored} == set(ids[fold - 1])
    texts = tmp_path / "texts"
    texts.mkdir()
    for record in scored:
        shutil.copy(task / "data" / "train" / f"{record['id']}.txt", texts)
    assert_as_scored(tagged(monkeypatch, texts, output / "model", tmp_path / "out.jsonl"), scored, texts)
    monkeypatch.setattr(sys, "argv", ["finetune", str(task / "folds.yaml"), "--check"])
    capsys.readouterr()
    finetune.main()
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed[:3]] == ["fold 1, train", "fold 1, dev", "fold 1, test"]


def broken(task: Path, tmp_path: Path, split: str, ann: str) -> list[str]:
    """The command on a copy of the data with one more, bad document."""
    data = tmp_path / "data"
    for name in ("train", "dev", "test"):
        (data / name).mkdir(parents=True)
        write_document(data / name, 1)
    (data / split / "bad.txt").write_text("foie et rein")
    (data / split / "bad.ann").write_text(ann)
    return ["--data", str(data)]


def in_latin_1(task: Path, tmp_path: Path) -> list[str]:
    """One document of another encoding than the others."""
    options = broken(task, tmp_path, "dev", "")
    (tmp_path / "data" / "dev" / "bad.txt").write_bytes("fièvre".encode("latin-1"))
    return options


@pytest.mark.parametrize(
    "spoil, complaint",
    [
        (
            lambda task, place: broken(task, place, "test", "T1\tanatomy 0 4\trein"),
            "bad.ann, line 1: the offsets point to",
        ),
        (lambda task, place: broken(task, place, "test", "T1\tdose 0 4\tfoie"), "'dose' is not known to the recipe"),
        (lambda task, place: in_latin_1(task, place), "is not UTF-8; convert the file"),
        (lambda task, place: ["--data", str(place / "none")], "no such file or folder"),
        (lambda task, place: ["--model", str(place)], "no config.json in it"),
        (lambda task, place: ["--protocol", "none"], "no such protocol"),
        (lambda task, place: ["--seeds", "0"], "at least one seed"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(task, tmp_path, monkeypatch, capsys, spoil, complaint):
    monkeypatch.setattr(sys, "argv", ["finetune", *command(task, tmp_path / "out", *spoil(task, tmp_path))])
    with pytest.raises(SystemExit) as stop:
        exit_with_sentence(finetune.main)
    printed = capsys.readouterr().err
    assert stop.value.code == 2 and complaint in printed and printed.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_pretrained_model_is_never_replaced(task, tmp_path, monkeypatch):
    shutil.copytree(task / "electra", tmp_path / "run" / "model")
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "run" / "model").iterdir())
    parts = command(task, tmp_path / "run", "--model", str(tmp_path / "run" / "model"), "--overwrite")
    with pytest.raises(InputError, match="model: not from downstream.finetune, and would be replaced"):
        run(monkeypatch, *parts)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "run" / "model").iterdir()) == before


def test_a_folder_that_is_called_like_a_seed_is_never_replaced(task, tmp_path, monkeypatch):
    (tmp_path / "run" / "seed-1").mkdir(parents=True)
    (tmp_path / "run" / "seed-1" / "notes.txt").touch()
    with pytest.raises(InputError, match="seed-1: not from downstream.finetune, and would be replaced"):
        run(monkeypatch, *command(task, tmp_path / "run", "--overwrite"))
    assert (tmp_path / "run" / "seed-1" / "notes.txt").is_file()


def test_check_says_what_the_splits_hold_and_writes_nothing(task, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["finetune", str(task / "tiny.yaml"), "--check"])
    finetune.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed.pop().startswith("sha256 of recipe, protocol and documents: ")
    form = re.compile(r"(\w+): (\d+) items \((\d+) anatomy, (\d+) substance, (\d+) symptom\)")
    found = [form.fullmatch(line).groups() for line in printed]
    assert [(name, int(items), sum(map(int, types))) for name, items, *types in found] == [
        ("train", 16, 256), ("dev", 4, 64), ("test", 4, 64)
    ]  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_check_says_how_many_concatenated_labels_training_has_not(task, tmp_path, monkeypatch, capsys):
    options = broken(task, tmp_path, "test", "T1\tanatomy 0 4\tfoie\nT2\tsymptom 0 4\tfoie")
    (tmp_path / "concatenated.yaml").write_text(RECIPE + "nested: concatenated\n")
    monkeypatch.setattr(sys, "argv", ["finetune", str(tmp_path / "concatenated.yaml"), "--check", *options])
    finetune.main()
    *earlier, test, _ = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("read from")]
    assert test.endswith("; 1 of 17 entities have a label that training has not")
    assert len(earlier) == 2 and not any("training has not" in line for line in earlier)


def test_patients_in_several_splits_are_named_and_drawn_for_intervals(task, tmp_path, monkeypatch, capsys):
    """The first digit of a document is its patient: 2 is in train and dev, 3 in train and test."""
    (task / "whose.yaml").write_text(RECIPE + 'patient_pattern: "^d(.)"\nsequence: window\n')
    parts = [task / "whose.yaml", *command(task, tmp_path / "out", "--seeds", "1")[1:]]
    metrics = run(monkeypatch, *map(str, parts))
    told = capsys.readouterr().err
    assert "warning: tiny: 1 patient is in train and dev (2); scores are too high" in told
    assert "warning: tiny: 1 patient is in train and test (3); scores are too high" in told
    assert metrics["patients_in_several_splits"] == [{"train and dev": ["2"], "train and test": ["3"]}]
    assert {record["group"] for record in predictions(tmp_path / "out", 1)} == {"3"}
    report.main([str(tmp_path / "out")])
    told = capsys.readouterr().out
    assert "95% interval over patients" in told and "| tiny | train and test | 1 | 3 |" in told
    finetune.main([str(task / "whose.yaml"), "--check"])
    said = capsys.readouterr()
    assert "train and test (3)" in said.err and "train: 16 items (" in said.out and "; 10 patients\n" in said.out


def test_nothing_to_learn_from_is_refused(task, tmp_path, monkeypatch):
    options = broken(task, tmp_path, "train", "")
    (tmp_path / "data" / "train" / "d1.ann").write_text("")
    with pytest.raises(InputError, match="tiny: no entity to learn from is left"):
        run(monkeypatch, *command(task, tmp_path / "out", *options))


@pytest.mark.parametrize(
    "split, content, complaint",
    [
        ("train", "foie\tO\n.\tO\n", "no entity to learn from is left"),
        ("test", "foie\tB-anatomy\nrate\tanat\tB-anatomy\n", "test.tsv, line 2: "),
        ("dev", "foie\tB-organ\n", "'organ' is not known to the recipe"),
    ],
    ids=["all-O", "number of columns", "unknown type"],
)
def test_bad_columns_are_one_sentence(task, tmp_path, monkeypatch, split, content, complaint):
    recipe = RECIPE.replace("format: brat", "format: iob").replace("train: train, dev: dev, test: test", TABLES)
    (tmp_path / "columns.yaml").write_text(recipe)
    (tmp_path / "data").mkdir()
    for name in ("train", "dev", "test"):
        (tmp_path / "data" / f"{name}.tsv").write_text("foie\tB-anatomy\n.\tO\n")
    (tmp_path / "data" / f"{split}.tsv").write_text(content)
    parts = command(task, tmp_path / "out")
    with pytest.raises(InputError, match=complaint):
        run(monkeypatch, str(tmp_path / "columns.yaml"), *parts[1:])
    assert not (tmp_path / "out").exists()


def test_odd_documents_are_learned_scored_and_counted(task, tmp_path, monkeypatch):
    """An empty one, one of one token, one of 10,000, and entities that overlap, in train as in test."""
    shutil.copytree(task / "data", tmp_path / "data")
    documents = {
        "empty": ("", []),
        "one": ("foie", ["anatomy 0 4\tfoie"]),
        "long": ("foie et " * 5_000, [f"anatomy {8 * n} {8 * n + 4}\tfoie" for n in range(5_000)]),
        "overlapping": ("foie et rein", ["anatomy 0 7\tfoie et", "anatomy 5 12\tet rein"]),
    }
    for split in ("train", "test"):
        for name, (text, lines) in documents.items():
            (tmp_path / "data" / split / f"{name}.txt").write_text(text)
            ann = "\n".join(f"T{number}\t{line}" for number, line in enumerate(lines, 1))
            (tmp_path / "data" / split / f"{name}.ann").write_text(ann)
    (task / "protocols" / "short.yaml").write_text(PROTOCOL.replace("epochs: 6", "epochs: 1"))
    options = ["--data", tmp_path / "data", "--seeds", "1", "--protocol", "short"]
    metrics = run(monkeypatch, *command(task, tmp_path / "out", *options))
    found = {one["id"]: one for one in predictions(tmp_path / "out", 1)}
    assert set(documents) < set(found) and not found["empty"]["predicted"]
    assert len(found["long"]["gold"]) == 5_000 and len(found["one"]["predicted"]) == 1
    assert found["overlapping"]["gold"] == [{"start": 0, "end": 7, "label": "anatomy", "text": "foie et"}]
    assert metrics["test"]["micro"]["support"] == 4 * 16 + 5_000 + 1 + 1
    assert metrics["test"]["every_gold_span"]["support"] == 4 * 16 + 5_000 + 1 + 2
    for counts in (metrics["data"][0]["train"], metrics["data"][0]["test"]):
        assert counts["empty documents"] == 1 and counts["crossing entities dropped"] == 1


def test_a_full_disk_is_one_sentence_and_leaves_no_half_seed(task, tmp_path, monkeypatch, capsys):
    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(experiment, "write_json", full)
    parts = command(task, tmp_path / "out", "--seeds", "1", "--set", "epochs=1", "--dev-only")
    monkeypatch.setattr(sys, "argv", ["finetune", *parts])
    with pytest.raises(SystemExit) as stop:
        exit_with_sentence(finetune.main)
    assert stop.value.code == 2 and "No space left on device; free some space" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["model"]


def test_data_that_are_not_shipped_are_asked_for(task, tmp_path, monkeypatch):
    (task / "asked.yaml").write_text(RECIPE.replace("data: data", "source: https://example.org"))
    monkeypatch.setattr(sys, "argv", ["finetune", str(task / "asked.yaml"), "--model", str(task / "roberta")])
    with pytest.raises(InputError, match="get them from https://example.org"):
        finetune.main()
    (task / "asked.yaml").write_text(RECIPE.replace("data: data", ""))
    with pytest.raises(InputError, match="asked.yaml: the data .*; give their folder with --data."):
        finetune.main()
