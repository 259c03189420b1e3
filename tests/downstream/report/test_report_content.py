"""The report: what it reads and refuses, what stands side by side, what its tables say."""

import json
import re

import numpy as np
import pytest
from report_helpers import changed, entities, families, output_of, texts, told, without_pictures  # noqa: F401

from alibert_common.errors import InputError
from downstream.data.resampling_unit import WITHOUT_DOCUMENTS, unit_of
from downstream.metrics import bootstrap
from downstream.metrics.sufficient_statistics import figure
from downstream.report import data_sets, errors, main, published, scores, significance
from downstream.report.answers import FAMILIES, marked, shown, wrong_places
from downstream.report.confusion import matrices
from downstream.report.errors import error_sizes, examples, side_by_side
from downstream.report.groups import group
from downstream.report.read_runs import load_all

pytestmark = pytest.mark.usefixtures("without_pictures")
GOOD, BAD = told("ynynynyn"), told("yyyyynyn")
DRAWS = 200


def run_of(folder, *seeds, **keys):
    task, items = texts(**keys.pop("recipe", {}))
    return output_of(folder, task, items, [*seeds], **keys)


def groups_of(*folders):
    return group(load_all([*folders]).runs)


def cells(table) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in table.rows}


def test_models_are_sorted_by_score(tmp_path):
    """Best first, in all tables, the picture and the pairs; a good baseline stands above a bad encoder."""
    answers = {"a": BAD, "b": GOOD, "c": told("nynynyny"), "majority": told("yyynynyn")}
    protocols = {"majority": "baseline"}
    folders = [run_of(tmp_path / name, seed, model=name, protocol=protocols.get(name, "tuned"))
               for name, seed in answers.items()]  # fmt: skip
    (one,) = groups_of(*folders)
    order, found = ["b", "majority", "a", "c"], significance.significance_of(one, DRAWS)
    assert [*cells(scores.by_model(one, found)[0])] == order and one.first.name == "b"
    assert [row[0] for row in significance.pairs(one, found)[0].rows][:3] == ["b - majority", "b - a", "b - c"]
    assert [table.caption.split()[-1] for table in matrices(one)] == order
    assert re.findall(r"tiny, (\w+): ", scores.picture([(one, found)]).alt) == order


def test_models_of_a_picture_have_their_own_marks_and_colours(tmp_path, monkeypatch):
    (one,) = groups_of(*(run_of(tmp_path / name, GOOD, model=name) for name in "abc"))
    figures = []
    monkeypatch.setattr(scores, "png", lambda figure: figures.append(figure) or b"")
    scores.picture([(one, significance.significance_of(one, DRAWS))])
    marks = [line for line in figures[0].axes[0].lines if line.get_marker() != "None"]
    assert len({line.get_marker() for line in marks}) == len({line.get_markerfacecolor() for line in marks}) == 3


@pytest.fixture
def pair(tmp_path):
    """Two models on one task, of two seeds each."""
    return run_of(tmp_path / "a", GOOD, BAD), run_of(tmp_path / "b", BAD, BAD, model="other")


def test_runs_of_one_task_stand_side_by_side_with_interval_and_cost(pair):
    (one,) = groups_of(*pair)
    (table,) = scores.by_model(one, significance.significance_of(one, DRAWS))
    rows = cells(table)
    assert [*rows] == ["mine", "other"] and rows["mine"][0] == "0.875 ± 0.177" and rows["other"][0] == "0.750 ± 0.000"
    assert rows["mine"][2:4] == ["2", "1,234,567"] and rows["mine"][5].endswith(" GiB")
    assert rows["mine"][1].startswith("[0.") and table.caption == "tiny: accuracy on test, protocol tuned, 2 seeds"


def test_intervals_and_differences_are_those_of_resampling_on_the_tallies(pair):
    (one,) = groups_of(*pair)
    gold = told("ynynynyn")
    right = [np.array([[[mine == theirs, 1] for mine, theirs in zip(seed, gold, strict=True)] for seed in seeds])
             for seeds in ((GOOD, BAD), (BAD, BAD))]  # fmt: skip
    value, found = figure("accuracy"), significance.significance_of(one, DRAWS)
    assert found.intervals["mine"] == bootstrap.interval(right[0], value, significance.SEED, DRAWS)
    assert found.comparisons == {("mine", "other"): bootstrap.comparison(*right, value, significance.SEED, DRAWS)}
    table, said = significance.pairs(one, found)
    expected = found.comparisons["mine", "other"]
    assert cells(table)["mine - other"][0:3:2] == [f"{expected['difference']:+.3f}", f"{expected['p']:.4f}"]
    assert "200 draws, seed 1" in said


@pytest.mark.parametrize(
    "difference, p, says",
    [(0.1, 0.01, "a is better than b"), (-0.1, 0.049, "b is better than a"), (0.1, 0.05, "no significant difference")],
)
def test_a_conclusion_is_in_words(difference, p, says):
    assert significance.conclusion("a", "b", difference, p) == says


def test_of_several_pairs_the_corrected_p_decides(tmp_path):
    """A p below 0.05 that is not, times the number of pairs."""
    answers = {"a": told("ynynynyn"), "b": told("ynynynyy"), "c": told("nynynyny")}
    (one,) = groups_of(*(run_of(tmp_path / name, seed, model=name) for name, seed in answers.items()))
    found = significance.significance_of(one, DRAWS)
    for pair, p in zip(found.comparisons, (0.01, 0.03, 0.02), strict=True):
        found.comparisons[pair] |= {"p": p, "difference": 0.5}
    table, said = significance.pairs(one, found)
    assert [row[3:5] for row in table.rows] == [["0.0100", "0.0300"], ["0.0300", "0.0400"], ["0.0200", "0.0400"]]
    assert table.rows[0][5] == "this training run of a is better than this training run of b"
    assert "p (Holm) is p corrected for 3 pairs. A difference is significant if p (Holm) is below 0.05." in said
    for pair in found.comparisons:
        found.comparisons[pair]["p"] = 0.02
    assert {row[5] for row in significance.pairs(one, found)[0].rows} == {"no significant difference"}


def test_one_seed_is_one_training_unless_nothing_is_drawn(tmp_path, pair):
    (one,) = groups_of(*pair, run_of(tmp_path / "c", BAD, model="majority", protocol="baseline"))
    found = significance.significance_of(one, DRAWS)
    for comparison in found.comparisons.values():
        comparison |= {"p": 0.001, "difference": -0.5}
    assert [row[5] for row in significance.pairs(one, found)[0].rows] == [
        "other is better than mine", "majority is better than mine", "majority is better than other",
    ]  # fmt: skip


@pytest.mark.parametrize("kind, unit", {
    "ner": "documents", "relations": "sentences", "classification": "documents", "similarity": "pairs",
    "choice": "questions", "ranking": "questions", "extractive_qa": "questions",
}.items())  # fmt: skip
def test_tables_name_what_is_drawn(tmp_path, kind, unit):
    task, items, answers = families()[kind]
    (one,) = groups_of(*(output_of(tmp_path / name, task, items, [answers], name) for name in "ab"))
    found = significance.significance_of(one, DRAWS)
    table, *said = scores.by_model(one, found)
    assert table.head[2] == f"95% interval over {unit}" and significance.pairs(one, found)[0].caption.endswith(unit)
    assert [text for text in said] == [WITHOUT_DOCUMENTS] * (unit == "sentences")


@pytest.mark.parametrize("format, texts, unit", [
    ("iob", ["le foie", "la toux"], "sentences"),
    ("iob", ["le foie\nla toux", "la toux"], "documents"),
    ("brat", ["le foie", "la toux"], "documents"),  # of one line each, as titles are
])  # fmt: skip
def test_of_columns_without_documents_sentences_are_drawn(format, texts, unit):
    records = [{"id": str(number), "group": str(number), "text": text} for number, text in enumerate(texts)]
    assert unit_of("ner", format, records) == unit
    assert unit_of("relations", "chemprot", [{"id": "a", "group": "le foie", "text": "x"}]) == "sentences"
    assert unit_of("relations", "ddi", [{"id": "a", "group": "d", "text": "x"}]) == "documents"


def test_copies_of_a_pair_are_no_document():
    records = [{"id": "a", "group": "a"}, {"id": "a (2)", "group": "a"}]
    assert unit_of("similarity", "table", records) == "pairs" and unit_of("choice", "options", records) == "questions"


def test_documents_are_drawn_not_their_texts(tmp_path):
    task, items = texts()
    items = [type(item)(item.id, item.text, item.labels, group=str(number // 4)) for number, item in enumerate(items)]
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [BAD]))
    (only,) = one.first.statistics()
    assert only.tolist() == [[[2, 4], [4, 4]]]


def in_folds(root, name: str, answers: list[float]):
    """A run on eight pairs of texts in two folds of four."""
    task, items, _ = families()["similarity"]
    gold = [0.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 4.0]
    pairs = [type(items[0])(str(number), "x", "y", score) for number, score in enumerate(gold)]
    return output_of(root / name, task, pairs, [answers], name, folds=2)


def test_of_folds_interval_and_difference_are_of_the_mean_of_the_folds(tmp_path):
    """The good one sets the second fold far off: best in each fold, and worse than the other over both together."""
    shifted = in_folds(tmp_path, "shifted", [0.1, 1.0, 2.1, 3.0, -6.0, -7.0, -8.1, -6.0])
    fair = in_folds(tmp_path, "fair", [1.0, 0.0, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0])
    (one,) = groups_of(shifted, fair)
    found, means = significance.significance_of(one, DRAWS), {run.name: run.score["mean"] for run in one.runs}
    assert [part.shape for part in one.first.statistics()] == [(1, 4, 6), (1, 4, 6)]
    for name, interval in found.intervals.items():
        assert interval["figure"] == pytest.approx(means[name]) and interval["low"] <= means[name] <= interval["high"]
    difference = found.comparisons["shifted", "fair"]["difference"]
    assert difference == pytest.approx(means["shifted"] - means["fair"]) and difference > 0.1


@pytest.mark.parametrize("kind", families())
def test_the_interval_is_of_the_score_in_every_family(tmp_path, kind):
    task, items, answers = families()[kind]
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [answers]))
    found = significance.significance_of(one, DRAWS).intervals["mine"]
    assert found["figure"] == pytest.approx(one.first.score["mean"])


@pytest.mark.parametrize("key, other", [
    ("protocol", {"protocol": {"name": "tuned", "changed": [], "epochs": 1}}),
    ("number of seeds", {"seeds": [1], "test": {"accuracy": {"mean": 0.5, "deviation": None, "values": [0.5]}}}),
    ("recipe", {"recipe": {"labels": ["yes", "no"], "splits": {}}}),
    ("data", {"data_sha256": [{"test": "other"}]}),
])  # fmt: skip
def test_what_does_not_compare_stands_apart_and_says_why(pair, key, other):
    changed(pair[1], **other)
    first, second = groups_of(*pair)
    assert (first.title, second.title) == ("tiny (1)", "tiny (2)") and not first.differs
    assert [run.name for run in first.runs + second.runs] == ["mine", "other"]
    assert second.differs.startswith(f"{key}: ")


def test_a_baseline_on_other_data_differs_in_no_training(pair, tmp_path):
    baseline = run_of(tmp_path / "c", BAD, model="majority", protocol="baseline")
    changed(baseline, data_sha256=[{"test": "other"}])
    assert [one.differs for one in groups_of(baseline, *pair)] == ["", "data: different"]


def test_what_differs_is_told_and_what_is_the_same_is_not(pair):
    changed(pair[1], protocol={"name": "tuned", "changed": [], "epochs": 1})
    assert groups_of(*pair)[1].differs == "protocol: epochs 1 instead of None"


def test_settings_searched_over_the_same_grid_compare(pair):
    for number, folder in enumerate(pair):
        selection = {"by": "search", "grid": {"epochs": [1, 2]}}
        changed(folder, protocol={"name": "tuned", "changed": [], "epochs": number}, selection=selection)
    assert len(groups_of(*pair)) == 1


def test_a_baseline_stands_beside_every_encoder(pair, tmp_path):
    changed(pair[1], protocol={"name": "tuned", "changed": [], "epochs": 1})
    baseline = run_of(tmp_path / "c", BAD, model="majority", protocol="baseline")
    assert [[run.name for run in one.runs] for one in groups_of(baseline, *pair)] == [
        ["mine", "majority"], ["other", "majority"],
    ]  # fmt: skip


def test_a_longest_sequence_of_the_protocols_own_parts_encoders_but_no_baseline(pair, tmp_path):
    baseline = run_of(tmp_path / "c", BAD, model="majority", protocol="baseline")
    for folder in pair:
        recipe = json.loads((folder / "metrics.json").read_text())["recipe"]
        changed(folder, recipe=recipe | {"max_tokens": 128})
    (one,) = groups_of(baseline, *pair)
    assert [run.name for run in one.runs] == ["mine", "other", "majority"]
    changed(pair[1], recipe=recipe | {"max_tokens": 64})
    first, second = groups_of(baseline, *pair)
    assert second.differs == "max_tokens: 64 instead of 128"
    assert [run.name for run in second.runs] == ["other", "majority"]


def test_models_of_one_name_are_told_apart_by_their_weights(tmp_path):
    folders = [run_of(tmp_path / name, GOOD) for name in "ab"]
    for folder, digest in zip(folders, ("1234567", "abcdefg"), strict=True):
        model = json.loads((folder / "metrics.json").read_text())["model"]
        changed(folder, model=model | {"sha256": digest, "frozen": True})
    (one,) = groups_of(*folders)
    assert [run.name for run in one.runs] == ["mine, frozen (123456)", "mine, frozen (abcdef)"]


def test_scores_by_label_have_a_row_a_label_and_three_columns_a_model(pair, capsys):
    main([*map(str, pair)])
    lines = capsys.readouterr().out.splitlines()
    assert "| label | mine: P | mine: R | mine: F1 | other: P | other: R | other: F1 | in gold |" in lines
    assert any(line.startswith("| yes | 0.833 ± 0.236 | 1.000 ± 0.000 |") and line.endswith("| 4 |") for line in lines)


def test_scores_by_label_of_more_than_three_models_are_tables_that_fit_a_page(tmp_path):
    (one,) = groups_of(*(run_of(tmp_path / name, GOOD, model=name) for name in "abcd"))
    first, second = [table for table in scores.by_label(one) if table.head[0] == "label"]
    assert [first.head[1:-1:3], second.head[1:-1:3]] == [["a: P", "b: P", "c: P"], ["d: P"]]
    assert first.caption.endswith(": scores by label, 1 of 2") and cells(first)["yes"][:3] == cells(second)["yes"][:3]


def test_confusions_of_single_labels_add_up_the_seeds(pair):
    (one,) = groups_of(*pair)
    assert cells(matrices(one)[0]) == {"yes": ["8", "0"], "no": ["2", "6"]}


def test_confusions_of_label_sets_are_of_each_label(tmp_path):
    (one,) = groups_of(output_of(tmp_path / "a", *families()["classification"][:2], [[("a",), ("b",)]]))
    assert cells(matrices(one)[0]) == {"a": ["1", "1", "0", "0"], "b": ["1", "0", "0", "1"]}


def test_confusions_of_entities_tell_types_boundaries_and_nothing(tmp_path):
    task, items, answers = entities()
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [answers]))
    (table,) = matrices(one)
    assert table.head[1:] == [
        "predicted: anatomy", "predicted: symptom", "predicted: other boundaries", "predicted: none",
    ]  # fmt: skip
    assert cells(table) == {"anatomy": ["1", "0", "1", "0"], "symptom": ["1", "1", "0", "1"],
                            "none": ["0", "1", "0", "0"]}  # fmt: skip


def test_columns_of_many_labels_are_headed_by_the_numbers_of_their_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("downstream.report.confusion.MOST_NAMED", 1)
    task, items, answers = entities()
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [answers]))
    (table,) = matrices(one)
    assert table.head == [
        "gold; predicted by number", "1", "2", "predicted: other boundaries", "predicted: none",
    ]  # fmt: skip
    assert cells(table) == {"1 anatomy": ["1", "0", "1", "0"], "2 symptom": ["1", "1", "0", "1"],
                            "none": ["0", "1", "0", "0"]}  # fmt: skip


def test_errors_of_entities_are_shown_in_their_line_with_marks(tmp_path):
    task, items, answers = entities()
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [answers]))
    (table,) = examples(one, one.first, error_sizes(one.first))
    assert table.head == ["document", "gold", "predicted", "wrong in"]
    assert table.rows == [
        ["d1, line 2", "[douleur|symptom] du [rein|anatomy]", "{douleur|anatomy} {du rein|anatomy}", "1 of 1 seeds"],
        ["d2", "[toux|symptom] et [fièvre|symptom] le soir", "{toux|symptom} et fièvre {le|symptom} soir",
         "1 of 1 seeds"],
    ]  # fmt: skip


def test_marks_are_explained_where_there_are_any(pair, tmp_path):
    task, items, answers = entities()
    (marked_up,) = groups_of(output_of(tmp_path / "c", task, items, [answers]))
    (plain,) = groups_of(*pair)
    assert ["are marked [words|TYPE]" in errors.tables(one)[0] for one in (marked_up, plain)] == [True, False]


def test_an_entity_inside_another_is_marked_inside_it():
    spans = [(3, 18, "outer"), (10, 18, "inner"), (0, 2, "before")]
    assert marked("le cancer du foie est", spans, 3, 19, "[]") == "… [cancer [du foie |inner]|outer]e …"


def test_what_most_seeds_get_wrong_comes_first(tmp_path):
    (one,) = groups_of(run_of(tmp_path / "a", told("nnynynyn"), told("ynynynny"), told("ynynynyy")))
    (table,) = examples(one, one.first, error_sizes(one.first))
    assert [(row[0], row[4]) for row in table.rows] == [
        ("t7", "2 of 3 seeds"), ("t0", "1 of 3 seeds"), ("t6", "1 of 3 seeds"),
    ]  # fmt: skip
    assert table.rows[0][1:4] == ["le foie 7", "no", "yes"]


def test_models_are_shown_on_the_items_that_only_one_has_right(pair):
    (one,) = groups_of(*pair)
    (table,) = side_by_side(one, {run.name: error_sizes(run) for run in one.runs})
    assert [row[0] for row in table.rows] == ["t1", "", "", "t3", "", ""]
    assert [row[2:] for row in table.rows[:3]] == [["gold", "no"], ["mine", "no"], ["other", "yes"]]


def test_models_that_are_wrong_in_different_ways_are_shown_too(tmp_path):
    task, items, answers = entities()
    folders = [output_of(tmp_path / name, task, items, [answers[:number] + [[[]]] * (2 - number)], model=name)
               for number, name in enumerate(("none", "first", "both"))]  # fmt: skip
    (one,) = groups_of(*folders)
    (table,) = side_by_side(one, {run.name: error_sizes(run) for run in one.runs})
    assert [row[0] for row in table.rows] == ["d1", "", "", "", "d2", "", "", ""]  # of d1 the line that some have right
    assert table.rows[:2] == [["d1", "gold", "le [foie|anatomy]"], ["", "both", "le {foie|anatomy}"]]
    assert table.rows[3] == ["", "none", "le foie"]
    assert [row[2] for row in (table.rows[7], table.rows[5])] == [
        "toux et fièvre le soir",
        "{toux|symptom} et fièvre {le|symptom} soir",
    ]


@pytest.mark.parametrize("kind", families())
def test_every_family_has_its_report(tmp_path, kind):
    task, items, answers = families()[kind]
    main([str(output_of(tmp_path / "a", task, items, [answers])), "--output", str(tmp_path / "report")])
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    last = task.id_of(items[-1])
    assert "errors of mine" in page and f"\n| {last} " in page


def test_the_data_sets_table_counts_labels_in_each_split(pair):
    (one,) = groups_of(*pair)
    table, counted = data_sets.labels(one)
    assert cells(table) == {"yes": ["4", "4", "4", "12"], "no": ["4", "4", "4", "12"]} and cells(counted) == {
        "files": ["1"] * 3
    }
    assert data_sets.overview([one]).rows == [["tiny", "classification", "8", "8", "8", "1", "official"]]


def test_splits_from_a_list_are_not_called_official(tmp_path):
    parts = {name: f"all @ SUGGESTED.tsv = {name}" for name in ("train", "test")}
    (one,) = groups_of(run_of(tmp_path / "a", GOOD, recipe={"splits": parts, "dev_share": 0.1}))
    digest = one.first.metrics["data_sha256"][0]["test"]
    wanted = f"from a list (SUGGESTED.tsv; sha256 of test {digest[:12]}); dev is a random part of train, seed 1"
    assert data_sets.overview([one]).rows[0][-1] == wanted
    (one,) = groups_of(run_of(tmp_path / "b", GOOD, recipe={"splits": {"all": "x"}, "folds": 3}))
    assert data_sets.overview([one]).rows[0][-1] == "random, seed 1"


def test_published_figures_stand_beside_ours_with_the_difference(tmp_path):
    folder = run_of(tmp_path / "a", GOOD, recipe={"name": "bc2gm"})
    (one,) = groups_of(folder)
    table, said = published.beside_ours(one)
    row = next(row for row in table.rows if row[0].endswith("Table 7: Large1"))
    assert row == ["BioALBERT (002), Table 7: Large1", "micro f1", "0.970", "1.000 (+0.030)"]
    assert "Bio-ELECTRA (004), Table 4 has the same data and split as ours, but its metric is more lenient" in said


def test_published_counts_of_annotations_stand_beside_ours(tmp_path):
    """AliBERT's Table 3."""
    task, items, answers = entities("deft2021_five", ("anatomie", "sosy"))
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [answers]))
    table, said, *_ = data_sets.labels(one)
    assert table.head[-2:] == ["all", "AliBERT, Table 3"]
    assert cells(table)["sosy"][-2:] == ["9", "5,240"] and cells(table)["anatomie"][-2:] == ["6", "4,780"]
    assert "AliBERT, Table 3 is not comparable with ours: the paper counts five types" in said
    assert [row[0] for row in published.beside_ours(one)[0].rows][0] == "AliBERT, Table 4: CamemBERT"


def test_patients_in_several_splits_have_a_row_a_fold_and_none_have_no_table(tmp_path):
    folder, key = output_of(tmp_path / "a", *texts(), [GOOD], folds=2), "patients_in_several_splits"
    for found in ([{}, {}], None):
        assert data_sets.patients(groups_of(changed(folder, **{key: found}))) == []
    (table,) = data_sets.patients(groups_of(changed(folder, **{key: [{}, {"dev and test": [*"abcdef"]}]})))
    assert table.rows == [["tiny, fold 2", "dev and test", "6", "a, b, c and 3 more"]]


def test_shared_sentences_are_counted(tmp_path):
    task, items = texts()
    items = [type(item)(item.id, "un texte assez long pour être cherché dans train", item.labels) for item in items]
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [GOOD]))
    assert data_sets.in_training([one])[0].rows[0][:5] == ["tiny", "1", "1", "8", "8"]
    found = {"sentences": 5, "found": 2, "items": 8, "items_touched": ["t1"], "examples": ["une phrase"]}
    digests = [fold["test"] for fold in one.first.metrics["data_sha256"]]
    report = {"files": ["/x/corpus.txt"], "test_sha256": {"tiny": digests}, "tasks": {"tiny": found}}
    (table,) = data_sets.in_pretraining({"x": report}, [one])
    assert table.rows == [["tiny", "5", "2", "8", "1", "une phrase"]] and "corpus.txt" in table.caption
    (text,) = data_sets.in_pretraining({"x": report | {"test_sha256": {"tiny": ["other"]}}}, [one])
    assert "with other test data" in text
    more = {"test_sha256": {"tiny": digests, "other": [""]}, "tasks": {"tiny": found, "other": found}}
    (table,) = data_sets.in_pretraining({"x": report | more}, [one])  # no run is of the other task
    assert [row[0] for row in table.rows] == ["tiny"]


@pytest.mark.parametrize("content", ["{}", "[]", "not json", '{"model": {}}'])
def test_another_file_of_that_name_is_refused(content, tmp_path):
    (tmp_path / "metrics.json").write_text(content, encoding="utf-8")
    refused([tmp_path], "metrics.json")


@pytest.mark.parametrize("name", ["masked_words.json", "pretraining_text.json"])
def test_a_damaged_file_beside_it_is_refused(name, tmp_path):
    (tmp_path / name).write_text('{"tasks": {"a": 1}, "scores": {"a": 1}}', encoding="utf-8")
    refused([tmp_path], name)


def test_a_folder_of_runs_stands_for_them(pair, tmp_path, capsys):
    main([*map(str, pair)])
    expected = capsys.readouterr().out
    (tmp_path / "suite").mkdir()
    for above in ("suite", "suite/organs"):
        (tmp_path / above).mkdir(exist_ok=True)
        for folder in pair:
            (tmp_path / above / folder.name).symlink_to(folder)
        main([str(tmp_path / "suite")])
        assert capsys.readouterr().out == expected
        for folder in pair:
            (tmp_path / above / folder.name).unlink()


def test_a_folder_of_nothing_one_twice_and_a_model_twice_are_refused(pair, tmp_path):
    (tmp_path / "empty" / "seed-1").mkdir(parents=True)
    (tmp_path / "empty" / "seed-1" / "metrics.json").write_text("{}")  # of a run that has not ended
    refused([tmp_path / "empty"], "has none of metrics.json")
    refused([pair[0], pair[0]], "given twice")
    refused([pair[0], run_of(tmp_path / "c", GOOD, GOOD)], "the same model on the same task")


@pytest.mark.parametrize("line", ["", "{", '{"split": "test"}\n'])
def test_damaged_predictions_are_refused(pair, line):
    (pair[0] / "seed-2" / "predictions.jsonl").write_text(line, encoding="utf-8")
    refused(pair, "predictions.jsonl")


@pytest.mark.parametrize("place, sentence", [(0, "its seeds answer different items"), (1, "answers other items than")])
def test_runs_that_answer_other_items_are_refused(pair, place, sentence):
    for folder in pair[:1] if place == 0 else [pair[1], pair[1]]:
        for file in [folder / "seed-1" / "predictions.jsonl"] + [folder / "seed-2" / "predictions.jsonl"] * place:
            file.write_text(file.read_text().replace('"t7"', '"t8"'))
    refused(pair, sentence)


@pytest.mark.parametrize("kind", families())
def test_predictions_that_lack_a_key_of_their_family_are_refused(tmp_path, kind):
    task, items, answers = families()[kind]
    folder = output_of(tmp_path / "a", task, items, [answers])
    file = folder / "seed-1" / "predictions.jsonl"
    whole = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for key in FAMILIES[kind].keys:
        lines = [json.dumps({name: value for name, value in one.items() if name != key}) for one in whole]
        file.write_text("\n".join(lines), encoding="utf-8")
        refused([folder], f"line {len(whole) - len(items) + 1}: not a prediction (KeyError('{key}'))")
    changed(folder, kind="other")
    refused([folder], "not written by downstream.finetune (KeyError('other'))")


def test_signs_that_some_take_for_line_ends_stay_in_a_line(tmp_path):
    task, items = texts()
    items = [type(item)(item.id, f"a\u2028b\u0085c\u2029d {item.id}", item.labels) for item in items]
    (one,) = groups_of(output_of(tmp_path / "a", task, items, [GOOD]))
    assert one.first.predictions[0][0]["text"] == "a\u2028b\u0085c\u2029d t0"


def reading_record(gold: list, predicted: list, tally) -> dict:
    return {"text": "où ?", "gold": gold, "predicted": predicted, "tally": tally}


@pytest.mark.parametrize("record, amount", [
    (reading_record([["foie"]], ["le foie"], [1.0, 1.0]), None),  # right in French
    (reading_record([["foie"]], ["foie"], [0.0, 1.0]), 1.0),
    (reading_record([["a"], ["b"], ["c"]], ["a"], [0.5, 1.0]), 0.5),  # of a list
    (reading_record([["a"]], ["a"], None), None),  # of another kind than the figure
])  # fmt: skip
def test_whether_an_answer_is_wrong_is_what_the_figure_says(record, amount):
    assert wrong_places("extractive_qa", [record]) == ({} if amount is None else {(0, 0): amount})


def test_of_a_list_all_answers_are_shown_else_the_first():
    lists = reading_record([["a", "A"], ["b"]], ["b", "c"], [0.5, 1.0])
    assert [shown("extractive_qa", [lists], (0, 0), side)[1] for side in ("gold", "predicted")] == ["a // b", "b // c"]
    assert shown("extractive_qa", [reading_record([["a"]], ["b", "c"], [0, 1])], (0, 0), "predicted")[1] == "b"


def test_of_candidates_with_one_score_a_wrong_one_is_first_as_in_the_figure():
    record = {"text": "q", "candidates": ["right", "wrong"], "gold": [0], "predicted": [0.5, 0.5]}
    assert wrong_places("ranking", [record]) == {(0, 0): 1.0}
    assert shown("ranking", [record], (0, 0), "predicted")[1] == "wrong"
    assert wrong_places("ranking", [record | {"predicted": [0.6, 0.5]}]) == {}


def refused(folders, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        main([*map(str, folders)])
    assert sentence in str(error.value) and "\n" not in str(error.value) and str(error.value).endswith(".")


def test_a_test_score_of_settings_by_hand_is_in_no_table(pair):
    changed(pair[0], selection={"by": "hand", "changed": ["batch=4"]})
    refused(pair, "its test score is of settings changed by hand (batch=4)")
    metrics = json.loads((pair[0] / "metrics.json").read_text())
    changed(pair[0], test=None, chief=metrics["chief"], selection=metrics["selection"])
    main([str(pair[0])])  # on dev one may look


def test_an_output_that_is_a_file_is_refused(pair, tmp_path):
    (tmp_path / "table.md").touch()
    refused([pair[0], "--output", tmp_path / "table.md"], "give the folder to write to")
