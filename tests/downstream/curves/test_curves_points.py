"""Curves: which points are asked for, what is refused, what a point says, and the table and picture of them."""

import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from task_helpers import ner_task

from alibert_common.errors import InputError
from alibert_fairseq.hf.card import write_card
from downstream.curves.__main__ import build_parser, command, main
from downstream.curves.figures import draw, gathered, table
from downstream.curves.points import Point, over_documents, over_steps, sizes_of, step_of
from downstream.data.annotated_text import AnnotatedText
from downstream.data.resampling_unit import WITHOUT_DOCUMENTS
from downstream.data.splits import Split
from downstream.metrics.bootstrap import interval
from downstream.metrics.sufficient_statistics import figure

CARD = "| | |\n|---|---|\n| vocabulary | 120 |\n| updates | {} |\n| seed | 7 |\n"


def exported(folder, updates=None):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if updates is not None:
        (folder / "README.md").write_text(CARD.format(updates))
    return folder


def test_the_step_is_in_the_card_that_the_exporter_writes(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text('{"mask_token": "<mask>"}')
    cfg = {
        "checkpoint": {"finetune_from_model": None}, "optimizer": {"_name": "adam"}, "optimization": {"lr": [1e-4]},
        "task": {"tokens_per_sample": 32}, "common": {"seed": 1},
    }  # fmt: skip
    size = SimpleNamespace(layers=1, width=16, heads=2, vocabulary=90, max_positions=32)
    checkpoint = SimpleNamespace(
        model_name="alibert", cfg=cfg, size=lambda _: size, updates=3500, converted_from=None, best_loss=None,
        average=False,
    )  # fmt: skip
    write_card(tmp_path, checkpoint, SimpleNamespace(cls="RobertaForMaskedLM", name="encoder"), 0.0, "other")
    assert step_of(tmp_path) == 3500


def test_a_card_that_says_no_step_is_refused(tmp_path):
    for name, card in {"none": None, "other": "updates | 12 |", "words": CARD.format("many")}.items():
        folder = exported(tmp_path / name)
        if card:
            (folder / "README.md").write_text(card)
        with pytest.raises(InputError, match=rf"README.md: no row .* is not known; write NAME=STEP:.*{name}\."):
            step_of(folder)


def test_a_folder_of_checkpoints_is_a_curve_in_the_order_of_steps(tmp_path):
    for name, updates in {"b": 20, "a": 100, "c": 3}.items():
        exported(tmp_path / "mlm" / name, updates)
    exported(tmp_path / "mlm" / "a" / "generator", 100)
    (tmp_path / "mlm" / "logs").mkdir()
    points = over_steps([str(tmp_path / "mlm")])
    assert [(one.line, one.x, one.model.name, one.folder) for one in points] == [
        ("mlm", 3, "c", "mlm/step-3"), ("mlm", 20, "b", "mlm/step-20"), ("mlm", 100, "a", "mlm/step-100")
    ]  # fmt: skip
    assert {one.options for one in points} == {()}


def test_runs_are_told_apart_by_folder_or_name_and_a_step_may_be_said(tmp_path):
    one, other, bare = exported(tmp_path / "z" / "m", 5), exported(tmp_path / "y" / "m", 5), exported(tmp_path / "bare")
    points = over_steps([str(one), str(other), f"z=70:{bare}", f"q={other}"])
    assert [point[:3] for point in points] == [("z", 5, one), ("z", 70, bare), ("y", 5, other), ("q", 5, other)]


def test_checkpoints_that_cannot_be_placed_are_refused(tmp_path):
    one = exported(tmp_path / "run" / "m", 5)
    for wrong in (str(tmp_path), str(tmp_path / "none"), f"r=5:{tmp_path / 'run'}", "=x", f"r=x:{one}"):
        with pytest.raises(InputError, match="no config.json in it; give an exported checkpoint or a folder of them"):
            over_steps([wrong])
    with pytest.raises(InputError, match="--models '': write DIR, NAME=DIR or NAME=STEP:DIR"):
        over_steps([""])
    with pytest.raises(InputError, match="step 5 of run is there twice; give the other run a NAME=DIR of its own"):
        over_steps([str(one), f"run=5:{one}"])


def test_a_folder_that_is_there_may_have_a_sign_in_it_that_follows_a_name(tmp_path):
    one = exported(tmp_path / "mlm-steps=5" / "m", 5)
    assert [point[:3] for point in over_steps([str(one), f"q=7:{one}"])] == [("mlm-steps=5", 5, one), ("q", 7, one)]


def test_two_runs_are_no_curve_unless_they_are_named_so(tmp_path):
    first = [exported(tmp_path / "mlm" / "exported" / str(step), step) for step in (1, 3)]
    second = exported(tmp_path / "electra" / "exported" / "2", 2)
    assert [point.x for point in over_steps([*map(str, first), f"exported={second}"])] == [1, 2, 3]
    for given in ((first[0], second), (first[0].parent, second), (first[0].parent, second.parent)):
        with pytest.raises(InputError) as error:
            over_steps([*map(str, given)])
        taken = f"exported is {first[0].parent} already; write NAME=DIR with another name."
        assert str(error.value) == f"--models {given[1]}: {taken}"


def test_sizes():
    assert sizes_of("25, 50,all") == [25, 50, None] and sizes_of("8,8") == [8]
    for wrong in ("25,,50", "0", "-3", "2.5", "half", "²", ""):
        with pytest.raises(InputError, match="is no number of documents; write 25,50,100,all, for example"):
            sizes_of(wrong)


def folds_of(task, *numbers):
    """A training split of so many documents each."""
    ids = [
        [task.example(AnnotatedText(str(one), "foie", []), Counter()) for one in range(number)] for number in numbers
    ]
    return [{"train": Split(items, Counter())} for items in ids]


def test_every_model_has_a_point_at_every_size(tmp_path):
    task, models = ner_task("anatomy"), {"b": tmp_path / "x", "a": tmp_path / "y"}
    points = over_documents(models, [None, 10, 2], task, folds_of(task, 12))
    assert [(one.line, one.x, one.model) for one in points] == [
        (name, x, model) for name, model in models.items() for x in (2, 10, 12)
    ]
    assert points[0].folder == "b/documents-2" and points[0].options == ("--train-documents", "2")
    assert points[2].folder == "b/documents-all" and points[2].options == ()


def test_all_documents_by_number_is_the_ordinary_experiment(tmp_path):
    task = ner_task("anatomy")
    (point,) = over_documents({"a": tmp_path}, [12, None], task, folds_of(task, 12))
    assert (point.x, point.folder, point.options) == (12, "a/documents-all", ())
    few, whole = over_documents({"a": tmp_path}, [12, None], task, folds_of(task, 12, 14))
    assert (few.x, few.options, whole.x, whole.options) == (12, ("--train-documents", "12"), 13, ())


def test_sizes_that_a_fold_does_not_have_are_refused(tmp_path):
    task = ner_task("anatomy")
    with pytest.raises(InputError, match="--sizes: 13 documents, but tiny trains on 12; write all for these"):
        over_documents({"a": tmp_path}, [3, 13, None], task, folds_of(task, 14, 12))


def test_a_point_is_an_ordinary_command_that_reads_no_test(tmp_path):
    point = Point("a", 2, tmp_path / "m", "a/documents-2", ("--train-documents", "2"))
    asked = ["documents", "r.yaml", "--model", "m", "--sizes", "2"]
    wanted = ["r.yaml", "--model", str(tmp_path / "m"), "--output", "o/a/documents-2", "--train-documents", "2"]
    words = command(build_parser().parse_args(asked), point, tmp_path)
    wanted[4] = str(tmp_path / point.folder)
    assert words == [*wanted, "--device", "auto", "--dev-only"]
    more = ["--protocol", "p", "--form", "tagger", "--data", "d", "--seeds", "4", "--device", "cpu"]
    more += ["--frozen", "--bf16", "--overwrite"]
    assert command(build_parser().parse_args([*asked, *more, "--test"]), point, tmp_path) == [*wanted, *more]


TALLIES = {1: [(1, 2, 2), (0, 1, 3), None, (1, 1, 1)], 2: [(2, 2, 2), (1, 1, 3), None, (1, 2, 1)]}
GROUPS = ["a", "a", "b", "c"]


def write_point(folder, folds=1):
    """What downstream.finetune leaves: of two seeds, four items of dev in three documents, and another one of test."""
    units = [(seed, f"-fold-{fold}" * (folds > 1)) for fold in range(1, folds + 1) for seed in TALLIES]
    for seed, fold in units:
        tallies = TALLIES[seed] if fold != "-fold-2" else TALLIES[seed][::-1]
        lines = [{"split": "test", "group": "z", "tally": [9, 9, 9]}]
        lines += [
            {"split": "dev", "group": group, "id": group, "tally": one, "gold": [], "predicted": []}
            for group, one in zip(GROUPS, tallies, strict=True)
        ]
        (folder / f"seed-{seed}{fold}").mkdir(parents=True)
        text = "".join(json.dumps({**one, "text": "a\u2028b"}, ensure_ascii=False) + "\n" for one in lines)
        (folder / f"seed-{seed}{fold}" / "predictions.jsonl").write_text(text, encoding="utf-8")
    score = {"mean": 0.55, "deviation": 0.07, "values": [0.4, 0.6]}
    metrics = {
        "task": "tiny", "protocol": {"name": "p"}, "seeds": [1, 2],
        "dev": {"micro": {"f1": score}}, "data": [{}] * folds,
        "model": {"folder": "m", "architecture": "roberta", "random_init": False, "frozen": False}, "data_sha256": [{}],
        "num_parameters": 9, "seconds_per_seed": [3.5, 3.5], "kind": "ner", "recipe": {"format": "iob"},
        "chief": {"path": ["micro", "f1"], "tally": "entity_micro_f1", "counted": []},
    }  # fmt: skip
    (folder / "metrics.json").write_text(json.dumps(metrics))


def interval_at(folder, folds=1):
    """Of a point that lies there."""
    write_point(folder / "p", folds)
    return gathered([Point("a", 2, folder, "p")], folder)["lines"]["a"][0]["interval"]


def test_the_interval_draws_documents_with_the_answers_of_all_seeds(tmp_path):
    by_document = np.array([[(1, 3, 5), (1, 1, 1)], [(3, 3, 5), (1, 2, 1)]])
    wanted = interval(by_document, figure("entity_micro_f1"), 1)
    assert interval_at(tmp_path) == wanted and wanted["low"] < wanted["high"]


def test_of_folds_documents_are_drawn_within_each(tmp_path):
    first = np.array([[(1, 3, 5), (1, 1, 1)], [(3, 3, 5), (1, 2, 1)]])
    second = np.array([[(1, 1, 1), (0, 1, 3), (1, 2, 2)], [(1, 2, 1), (1, 1, 3), (2, 2, 2)]])
    assert interval_at(tmp_path, folds=2) == interval([first, second], figure("entity_micro_f1"), 1)


def test_a_point_says_its_scores_and_no_time(tmp_path):
    points = [Point("a", 2, tmp_path, "a/two"), Point("a", 9, tmp_path, "a/nine"), Point("b", 2, tmp_path, "b/two")]
    for point in points:
        write_point(tmp_path / point.folder)
    found = gathered(points, tmp_path)
    assert found.keys() == {"task", "split", "figure", "protocol", "seeds", "unit", "lines"}
    assert found["unit"] == "sentences"
    assert (found["figure"], found["split"], found["seeds"]) == ("micro f1", "dev", [1, 2])
    assert {name: [point["x"] for point in line] for name, line in found["lines"].items()} == {"a": [2, 9], "b": [2]}
    one = found["lines"]["a"][1]
    assert one.keys() == {"x", "folder", "mean", "deviation", "values", "interval"}
    assert (one["folder"], one["mean"], one["values"]) == ("a/nine", 0.55, [0.4, 0.6])


@pytest.mark.parametrize("damage, sentence", [
    (lambda text: text[:-20], "predictions.jsonl, line 5: not a prediction"),
    (lambda text: text.replace('"tally"', '"sum"'), "predictions.jsonl, line 2: not a prediction"),
    (lambda text: text.replace("dev", "test"), "predictions.jsonl: has no prediction of dev"),
    (lambda text: text.replace('"id": "c"', '"id": "d"'), "its seeds answer different items"),
])  # fmt: skip
def test_damaged_predictions_are_one_sentence(tmp_path, damage, sentence):
    write_point(tmp_path / "p")
    file = tmp_path / "p" / "seed-2" / "predictions.jsonl"
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        gathered([Point("a", 2, tmp_path, "p")], tmp_path)


def drawn(*lines):
    """Curves of so many points each."""
    interval = {"low": 0.25, "high": 0.75}
    point = {"mean": 0.5, "deviation": 0.125, "interval": interval}
    made = {f"line {number}": [{"x": 10**x, **point} for x in range(count)] for number, count in enumerate(lines)}
    return {
        "axis": "documents", "figure": "micro f1", "task": "tiny", "protocol": "p", "seeds": [1], "split": "dev",
        "unit": "pairs", "lines": made,
    }  # fmt: skip


def test_the_table_has_a_row_a_place_and_a_gap_where_a_line_has_no_point():
    curves = drawn(2, 1)
    curves["lines"]["line 0"][1] |= {"deviation": None}
    assert table(curves).splitlines() == [
        "| documents | line 0 | line 1 |",
        "|---|---|---|",
        "| 1 | 0.500 ± 0.125 [0.250, 0.750] | 0.500 ± 0.125 [0.250, 0.750] |",
        "| 10 | 0.500 [0.250, 0.750] |  |",
    ]


def test_axis_and_words_name_what_is_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("downstream.experiment.set_up.fine_tune", lambda config: "")
    monkeypatch.setattr("downstream.curves.__main__.run_config.run_config", lambda args: None)
    monkeypatch.setattr("downstream.curves.__main__.points_of", lambda *_: [Point("a", 2, tmp_path, "a/2")])
    monkeypatch.setattr("downstream.tasks.load_task", lambda _: SimpleNamespace(recipe=None))
    write_point(tmp_path / "a" / "2")
    main(["documents", "r.yaml", "--model", "m", "--sizes", "2", "--output", str(tmp_path)])
    told = (tmp_path / "curves.md").read_text(encoding="utf-8")
    assert "| number of training sentences | a |" in told and "interval over sentences, of the mean]" in told
    assert WITHOUT_DOCUMENTS in told


def test_names_of_lines_are_plain_text():
    curves = drawn(1)
    curves["lines"] = {"_a_|b": curves["lines"]["line 0"]}
    assert table(curves).splitlines()[0] == "| documents | \\_a\\_\\|b |"


@pytest.mark.parametrize("log", [True, False])
def test_lines_differ_in_more_than_colour(tmp_path, monkeypatch, log):
    kept = []
    monkeypatch.setattr("downstream.experiment.results.plt.close", kept.append)
    curves = drawn(3, 3, 2)
    draw(curves, log, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = kept[0].axes
    assert axes.get_title().endswith("bands: 95 % interval over pairs")
    lines = [container.lines[0] for container in axes.containers]
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 3
    assert {line.get_color() for line in lines} == {"black"}
    bands = [one for one in axes.collections if one.get_paths() and type(one).__name__.startswith("Fill")]
    assert len({band.get_hatch() for band in bands}) == len(bands) == 3
    assert axes.get_xscale() == ("log" if log else "linear")
    assert axes.get_xlabel() == "documents" + " (log scale)" * log and axes.get_ylabel() == "micro f1 on dev"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["line 0", "line 1", "line 2"]
    if log:
        assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "10", "100"]
