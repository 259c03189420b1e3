"""The report of two encoders that downstream.finetune trained on one task."""

import json

import numpy as np
from tiny_models import write_electra, write_roberta

from downstream import finetune, report
from downstream.report.read_runs import load

RECIPE = """
task: tiny
kind: classification
format: table
reader: {text: text, label: label}
splits: {train: train.tsv, dev: dev.tsv, test: test.tsv}
labels: [foie, rein]
"""
PROTOCOL = "batch: 8\nlearning_rate: 2.0e-3\nepochs: 2\nsource: a quick one\n"


def test_two_models_on_one_task(tmp_path, capsys):
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols" / "fast.yaml").write_text(PROTOCOL)
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    for number, split in enumerate(("train", "dev", "test")):
        organs = ["foie" if index % 3 else "rein" for index in range(12)]
        rows = [f"la patient {organ} {number}{index}\t{organ}\n" for index, organ in enumerate(organs)]
        (tmp_path / f"{split}.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    outputs = []
    for name, write in (("roberta", write_roberta), ("electra", write_electra)):
        outputs.append(str(tmp_path / "runs" / name))
        command = [tmp_path / "tiny.yaml", "--model", write(tmp_path / name), "--data", tmp_path, "--protocol", "fast"]
        finetune.main([*map(str, command), "--seeds", "2", "--device", "cpu", "--output", outputs[-1]])
    capsys.readouterr()
    report.main([*outputs, "--output", str(tmp_path / "report")])
    printed, page = capsys.readouterr().out, (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    for name in ("roberta", "electra"):
        metrics = json.loads((tmp_path / "runs" / name / "metrics.json").read_text())
        mean = metrics["test"]["accuracy"]["mean"]
        assert f"| {name} | {mean:.3f} ± " in printed
        assert f'<th scope="row">{name}</th><td class="number">{mean:.3f} ± ' in page
        assert metrics["peak_memory"] > 50_000_000  # torch alone takes more
        run = load(tmp_path / "runs" / name)
        (only,) = run.statistics()
        assert np.isclose(run.metric.value(only.sum(1)).mean(), mean)
    assert '<td class="words">no significant difference</td>' in page or " is better than " in page
