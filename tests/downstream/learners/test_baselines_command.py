"""Baselines by the fine-tuning command: outputs as those of an encoder, resumed; refused where they do not fit."""

import json
import re
import sys
from pathlib import Path

import pytest
from baseline_helpers import items_of, task_of
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream import finetune, run_config
from downstream.learners.registry import BASELINES
from downstream.report.groups import group
from downstream.report.read_runs import load_all
from downstream.tasks import FAMILIES

SPLITS = {"train": (40, 1), "dev": (20, 2), "test": (20, 3)}
NER = """
task: tiny
format: jsonl
data: ner
splits: {train: train.jsonl, dev: dev.jsonl, test: test.jsonl}
types: [CHEM, DISO]
"""
PAIRS = """
task: alike
kind: similarity
format: table
data: pairs
splits: {train: train.tsv, dev: dev.tsv, test: test.tsv}
reader: {first: first, second: second, score: score}
"""
LABELS = """
task: topics
kind: classification
format: table
data: labels
splits: {train: train.tsv, dev: dev.tsv, test: test.tsv}
reader: {text: text, label: label}
labels: [cardiologie, pneumologie, dermatologie]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("tasks")
    for name, text in {"ner": NER, "pairs": PAIRS, "labels": LABELS}.items():
        (root / f"{name}.yaml").write_text(text)
        (root / name).mkdir()
    for split, (number, seed) in SPLITS.items():
        documents = [item.document for item in items_of(task_of("ner"), number, seed)]
        write(root / "ner" / f"{split}.jsonl", [json.dumps(as_record(one), ensure_ascii=False) for one in documents])
        pairs = items_of(task_of("similarity"), number, seed)
        rows = [f"{one.first}\t{one.second}\t{one.score}" for one in pairs]
        write(root / "pairs" / f"{split}.tsv", ["first\tsecond\tscore", *rows])
        texts = items_of(task_of("classification"), number, seed)
        write(root / "labels" / f"{split}.tsv", ["text\tlabel", *(f"{one.text}\t{one.labels[0]}" for one in texts)])
    write_roberta(root / "roberta")
    return root


def write(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_record(document) -> dict:
    entities = [{"start": one.start, "end": one.end, "label": one.label} for one in document.entities]
    return {"id": document.id, "text": document.text, "entities": entities}


def run(root: Path, recipe: str, output: Path, *options) -> dict:
    finetune.main([str(one) for one in (root / f"{recipe}.yaml", "--output", output, "--device", "cpu", *options)])
    return json.loads((output / "metrics.json").read_text())


def test_a_baseline_stands_in_the_same_files_and_is_not_done_twice(root, tmp_path, capsys):
    metrics = run(root, "ner", tmp_path, "--baseline", "dictionary", "--seeds", "5")
    assert metrics["seeds"] == [1] and "one seed stands for all" in metrics["note"]
    assert metrics["model"] == {
        "folder": "dictionary",
        "architecture": "baseline",
        "random_init": False,
        "frozen": False,
    }
    assert metrics["protocol"] == {"name": "baseline dictionary", "changed": [], "share": 0.5}
    assert metrics["selection"] == {"by": "baseline dictionary, as it stands"}
    assert metrics["test"]["micro"]["f1"]["mean"] > 0.9 and metrics["num_parameters"] == 10
    assert "dictionary on tiny test, protocol baseline dictionary, 1 seed" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "scores.png").is_file() and not (tmp_path / "curves.png").exists()
    assert not (tmp_path / "model").exists()
    records = [json.loads(line) for line in (tmp_path / "seed-1" / "predictions.jsonl").open(encoding="utf-8")]
    assert len(records) == 40 and records[0]["gold"] == records[0]["predicted"]
    capsys.readouterr()
    again = run(root, "ner", tmp_path, "--baseline", "dictionary")
    assert "(finished before)" in capsys.readouterr().out and again["test"] == metrics["test"]
    with pytest.raises(InputError, match="made under other conditions"):
        run(root, "ner", tmp_path, "--baseline", "crf")


def test_what_was_selected_on_dev_is_said(root, tmp_path):
    metrics = run(root, "pairs", tmp_path, "--baseline", "tfidf_svm")
    (selected,) = metrics["selected_on_dev"]
    assert selected["tried"][f"C {selected['strength']:g}"] == pytest.approx(metrics["dev"]["pearson"]["mean"])


def test_a_network_has_seeds_curves_and_settings(root, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("le coeur et la peau\n" * 3, encoding="utf-8")
    options = ("--baseline", "cnn", "--seeds", "2", "--set", "epochs=2", "--dev-only", "--vectors-text", text)
    metrics = run(root, "labels", tmp_path / "out", *options)
    assert metrics["seeds"] == [1, 2] and [len(curve) for curve in metrics["curves"]] == [2, 2]
    assert metrics["protocol"]["name"] == "baseline cnn" and metrics["protocol"]["changed"] == ["epochs=2"]
    assert metrics["selection"] == {"by": "hand", "changed": ["epochs=2"]}
    assert metrics["vectors"]["text"]["name"] == "text.txt" and metrics["libraries"]["gensim"]


def test_a_network_may_have_another_protocol(root, tmp_path):
    metrics = run(root, "labels", tmp_path, "--baseline", "cnn", "--protocol", "vectors_quick")
    assert metrics["protocol"]["name"] == "baseline cnn (vectors_quick)" and metrics["seeds"] == [1]
    assert metrics["protocol"]["training_tokens"] == 300_000
    assert metrics["selection"] == {"by": "protocol baseline cnn (vectors_quick), as it stands"}


def test_cosines_of_an_encoder(root, tmp_path):
    metrics = run(root, "pairs", tmp_path, "--model", root / "roberta", "--cosine")
    assert metrics["test"]["pearson"]["mean"] > 0.3 and metrics["seeds"] == [1]
    assert metrics["model"]["folder"] == "roberta" and metrics["protocol"]["name"] == "cosine"


def test_in_the_report_cosines_stand_beside_the_encoder_that_is_trained(root, tmp_path):
    (root / "protocols").mkdir()
    write(root / "protocols" / "once.yaml", ["{batch: 8, learning_rate: 1e-3, epochs: 1, source: a test}"])
    of_model = "--model", root / "roberta"
    run(root, "pairs", tmp_path / "cosine", *of_model, "--cosine")
    run(root, "pairs", tmp_path / "trained", *of_model, "--protocol", "once", "--seeds", 1)
    (one,) = group(load_all([tmp_path / "cosine", tmp_path / "trained"]).runs)
    assert [run.name for run in one.runs] == ["roberta, cosine", "roberta"]  # by score
    assert one.trained == "protocol once, 1 seed"


@pytest.mark.parametrize(
    "options, sentence",
    [
        (
            "pairs --baseline crf",
            "--baseline crf: does not serve similarity, only ner; baselines that serve similarity: "
            "majority, tfidf_cosine, tfidf_svm, cnn, rnn.",
        ),
        (
            "ner --model roberta --cosine",
            "--cosine: does not serve ner, only similarity, ranking; baselines that serve "
            "ner: majority, dictionary, crf, crf_clusters, rnn.",
        ),
        ("ner --baseline crf --protocol tuned", "--baseline crf: --protocol would change nothing; leave it out."),
        (
            "ner --baseline crf --set epochs=3 --bf16",
            "--baseline crf: --set, --bf16 would change nothing; leave it out.",
        ),
        ("ner --baseline crf --selection x", "--baseline crf: --selection would change nothing; leave it out."),
        ("ner --baseline crf --frozen", "--baseline crf: --frozen would change nothing; leave it out."),
        ("ner --baseline crf --device cuda", "--baseline crf: --device cuda would change nothing; leave it out."),
        ("ner --baseline crf --vectors-text x", "--baseline crf: --vectors-text would change nothing; leave it out."),
        (
            "labels --baseline cnn --protocol oubiobert",
            "--protocol oubiobert: it leaves learning_rate, epochs to be chosen on dev, and baselines have no search; "
            "choose another protocol.",
        ),
        (
            "labels --baseline cnn --protocol tuned",
            "layer_decay, head_learning_rate, replaced_words: cnn has no layers of an encoder; leave them out, or "
            "take a protocol without them, as vectors.",
        ),
        ("ner --baseline rnn --random-init", "--baseline rnn: --random-init would change nothing; leave it out."),
        ("ner --baseline rnn --vectors-text none.txt", "none.txt: no such file; check the path."),
        ("pairs --model roberta --cosine --set epochs=3", "--cosine: --set would change nothing; leave it out."),
        ("ner --model roberta --vectors-text x", "--model: --vectors-text would change nothing; leave it out."),
    ],
)
def test_what_does_not_fit_is_refused(root, options, sentence, monkeypatch):
    monkeypatch.chdir(root)
    recipe, *rest = options.split()
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        finetune.main([f"{recipe}.yaml", *rest])


def test_model_and_baseline_exclude_each_other(root, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["finetune"])
    with pytest.raises(SystemExit):
        finetune.main([str(root / "ner.yaml"), "--model", "m", "--baseline", "crf"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_outputs_have_names_of_their_own(root):
    def name(*options: str) -> str:
        args = run_config.build_parser().parse_args([str(root / "ner.yaml"), *options])
        recipe = task_of("ner").recipe
        plain = args.cosine or args.baseline in ("crf",)
        return run_config.default_output(args, recipe, None if plain else run_config.choice_of(args, recipe)).name

    assert name("--baseline", "crf", "--dev-only") == "tiny-crf-dev-only"
    assert name("--baseline", "rnn", "--set", "epochs=3") == "tiny-rnn-epochs=3"
    assert name("--baseline", "rnn", "--protocol", "vectors_quick") == "tiny-rnn-vectors_quick"
    assert name("--model", "m", "--cosine") == "tiny-cosine-m"
    assert name("--model", "m") == "tiny-tuned-m"
    assert name("--model", "m", "--form", "tagger", "--protocol", "tagger") == "tiny-tagger-m"
    assert name("--model", "m", "--form", "tagger") == "tiny-tuned-m-tagger"


def test_every_family_has_a_baseline_and_every_name_is_its_own():
    assert all(name == one.name for name, one in BASELINES.items()) and len(BASELINES) == 8
    served = {family for one in BASELINES.values() for family in one.families}
    assert served == set(FAMILIES)
