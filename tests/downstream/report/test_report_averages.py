"""Averages over benchmarks: the same tasks for all, and the papers' figures of these."""

import re

import pytest
import yaml
from report_helpers import changed, output_of, texts, told, without_pictures  # noqa: F401

from alibert_common.report.document import Strong
from downstream.data.resampling_unit import WITHOUT_DOCUMENTS
from downstream.report import averages, errors, published, sections
from downstream.report.groups import group
from downstream.report.read_runs import load_all
from downstream.tasks import load_task

pytestmark = pytest.mark.usefixtures("without_pictures")
GOOD, FAIR, BAD = told("ynynynyn"), told("yyynynyn"), told("yyyyynyn")  # accuracies 1, 0.875, 0.75
PLAIN = {"name": "Mine", "groups": {"all": ["a", "b", "c"]}, "absent": ["d"]}
GROUPED = {"name": "Mine", "groups": {"one": ["a", "b"], "two": ["c"]}, "source": "a paper"}


def setting_of(root, scores: dict[str, dict[str, list]], **protocols):
    """scores: by task, by model, the answers of each seed."""
    folders = []
    for name, models in scores.items():
        task, items = texts(name)
        for model, answers in models.items():
            folder = root / f"{name}-{model}"
            folders.append(output_of(folder, task, items, answers, model, protocols.get(model, "tuned")))
    found = averages.settings(group(load_all(folders).runs))
    assert len(found) == 1
    return found[0]


def rows(table) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in table.rows}


def test_an_average_is_over_the_tasks_that_every_encoder_has(tmp_path):
    both = {"x": [GOOD], "y": [BAD]}
    setting = setting_of(tmp_path, {"a": both, "b": both, "c": {"x": [BAD]}})
    table, missing = averages.average(setting, PLAIN)
    assert [*rows(table)] == ["a", "b", "average"] and rows(table)["average"] == ["1.000", "0.750"]
    assert isinstance(rows(table)["average"][0], Strong) and not isinstance(rows(table)["average"][1], Strong)
    assert "because an encoder has no score in this setting: c." in missing and "without a recipe: d." in missing
    assert table.caption == "Mine: average over 2 tasks (test, protocol tuned, 1 seed)"


def test_a_baseline_that_lacks_a_task_has_no_average_and_takes_none_away(tmp_path):
    both = {"x": [GOOD], "crf": [BAD]}
    setting = setting_of(tmp_path, {"a": both, "b": both, "c": {"x": [BAD]}}, crf="baseline")
    table, *_ = averages.average(setting, PLAIN)
    assert rows(table)["c"] == ["0.750", "-"] and rows(table)["average"] == ["0.917", "-"]


def test_kinds_of_tasks_are_averaged_first_and_each_seed_for_itself(tmp_path):
    seeds = {"a": {"x": [GOOD, BAD]}, "b": {"x": [BAD, BAD]}, "c": {"x": [GOOD, GOOD]}}
    table, said = averages.average(setting_of(tmp_path, seeds), GROUPED)
    assert rows(table)["average"] == ["0.906 ± 0.044"]  # of 0.9375 and 0.875
    assert said == "Source: a paper."


def test_one_task_is_no_average(tmp_path):
    assert averages.average(setting_of(tmp_path, {"a": {"x": [GOOD]}}), PLAIN) == []


def test_every_task_is_in_the_first_table(tmp_path):
    setting = setting_of(tmp_path, {"a": {"x": [GOOD], "y": [FAIR]}, "z": {"y": [BAD]}})
    table = averages.all_tasks(setting)
    assert rows(table) == {"a": ["accuracy", "1.000", "0.875"], "z": ["accuracy", "-", "0.750"]}


def test_models_are_sorted_by_their_distance_from_the_best_score(tmp_path):
    """z has one task, an easy one, and is not the best there; x is the best of all its tasks."""
    scores = {
        "a": {"y": [FAIR], "x": [GOOD], "z": [FAIR]},
        "b": {"y": [BAD], "x": [BAD]},
        "c": {"x": [GOOD], "majority": [BAD]},
    }
    setting = setting_of(tmp_path, scores, majority="baseline")
    assert averages.all_tasks(setting).head[2:] == ["x", "y", "z", "majority"]


def test_ways_of_training_are_not_mixed(tmp_path):
    task, items = texts("a")
    folders = [output_of(tmp_path / name, task, items, [GOOD], protocol=name) for name in ("alibert", "tuned")]
    found = averages.settings(group(load_all(folders).runs))
    assert [one.title for one in found] == ["test, protocol alibert, 1 seed", "test, protocol tuned, 1 seed"]


def test_published_models_are_averaged_over_the_same_tasks(tmp_path):
    setting = setting_of(tmp_path, {"bc5cdr_disease": {"x": [GOOD]}, "bc5cdr_chem": {"x": [GOOD]}})
    for runs in setting.tasks.values():
        runs["x"].metrics["chief"]["path"] = ["micro", "f1"]  # which is that of entities, and the accuracy here
    table, said = averages.average(setting, named("BLUE"))[2:]
    assert rows(table)["ouBioBERT (003), Table 7: SciBERT (Sci)"] == ["0.893", "-"]
    assert OUBIOBERT not in rows(table) and said.endswith("the difference is -.")


def test_a_difference_of_averages_is_told_where_every_figure_compares(tmp_path, monkeypatch):
    setting = setting_of(tmp_path, {task: {"x": [GOOD]} for task in "ab"})
    figures = [published.Published(model, task, ("accuracy",), 0.75, None, "P", compares, "")
               for model, verdicts in {"all": [True, True], "one": [True, "data"], "other": [False, True]}.items()
               for task, compares in zip("ab", verdicts, strict=True)]  # fmt: skip
    monkeypatch.setattr(published, "everything", lambda: figures)
    table = averages.average(setting, PLAIN)[2]
    assert rows(table) == {"P: all": ["0.750", "1.000 (+0.250)"], "P: one": ["0.750", "-"], "P: other": ["0.750", "-"]}


def named(benchmark):
    return next(one for one in averages.benchmarks() if one["name"] == benchmark)


CLINICAL = ["medsts", "share_clefe", "i2b2_2010", "mednli"]
BIOMEDICAL = ["biosses", "bc5cdr_disease", "bc5cdr_chem", "ddi_relations", "chemprot", "hoc"]
OUBIOBERT = "ouBioBERT (003), Table 8: ouBioBERT"


def test_blue_has_a_total_a_clinical_and_a_biomedical_score(tmp_path):
    scores = {task: {"x": [BAD]} for task in CLINICAL} | {task: {"x": [GOOD]} for task in BIOMEDICAL}
    setting = setting_of(tmp_path, scores)
    for name, mean, theirs in [
        ("BLUE", "0.900", ["0.839", "-"]),
        ("BLUE, clinical", "0.750", ["0.805", "-"]),
        ("BLUE, biomedical", "1.000", ["0.861", "-"]),
    ]:
        table, said, published_table, _ = averages.average(setting, named(name))
        assert rows(table)["average"] == [mean] and rows(published_table)[OUBIOBERT] == theirs
        assert "because an encoder" not in said and "without a recipe" not in said
    for name in ("BLUE", "BLUE, biomedical"):
        assert "ChemProt is another export, with thirteen" in averages.average(setting, named(name))[1]


def test_an_average_that_a_paper_reports_is_not_set_beside_one_of_fewer_tasks(tmp_path):
    setting = setting_of(tmp_path, {task: {"x": [GOOD]} for task in CLINICAL[:3]})
    table, said = averages.average(setting, named("BLUE, clinical"))
    assert "because an encoder has no score in this setting: mednli." in said


TOTALS = [54.8, 82.9, 81.2, 82.0, 82.9, 81.8, 77.5, 81.4, 81.4]  # of 003's Table 7, in its order


def test_the_scores_of_blue_that_a_paper_reports_have_the_total_that_it_reports():
    parts = {"BLUE": CLINICAL + BIOMEDICAL, "BLUE, clinical": CLINICAL, "BLUE, biomedical": BIOMEDICAL}
    for name, tasks in parts.items():
        assert sorted(named(name)["groups"]["all"]) == sorted(tasks)
    groups = [*named("BLUE")["groups"].values()]
    figures: dict[str, dict[str, float]] = {}
    for one in published.everything():
        if one.source == "ouBioBERT (003), Table 7":
            figures.setdefault(one.model, {})[one.task] = 100 * one.value
    assert [averages.mean_of(one, groups) for one in figures.values()] == pytest.approx(TOTALS, abs=0.051)


BLURB_ROWS = {  # of 002's Table 7, without its first column, which is of others' models
    "BioALBERT, entities": [95.41, 95.41, 95.70, 95.48, 89.98, 90.34, 90.30, 90.71],
    "BioALBERT, relations": [78.66, 74.67, 79.94, 77.96, 69.62, 71.41, 70.50, 69.53],
    "BioALBERT, similarity": [83.99, 79.07, 89.25, 83.65, 38.37, 56.25, 46.83, 36.24],
}


@pytest.mark.parametrize("name", BLURB_ROWS)
def test_the_scores_of_bioalbert_have_the_averages_that_its_paper_reports(name):
    groups = [*named(name)["groups"].values()]
    figures: dict[str, dict[str, float]] = {}
    for one in published.everything():
        if one.source == "BioALBERT (002), Table 7":
            figures.setdefault(one.model, {})[one.task] = 100 * one.value
    means = [averages.mean_of(one, groups) for one in figures.values()]
    assert means[1:] == pytest.approx(BLURB_ROWS[name], abs=0.025)  # 70.476 is 70.50 there


def test_the_lists_name_recipes_and_their_labels(repository):
    recipes = {file.stem: load_task(file) for file in (repository / "recipes" / "finetune").glob("*.yaml")}
    listed = {task for one in averages.benchmarks() for tasks in one["groups"].values() for task in tasks}
    assert listed <= set(recipes)
    for one in published.everything():
        if one.task == "masked_words":
            continue
        task = recipes[one.task]
        assert 0 < one.value <= 1 or one.path[0] == "data"
        if one.path[0] in ("types", "data"):
            assert one.path[1] in task.recipe.types
        else:
            assert one.path[:-1] == task.chief.path[:-1]
        assert one.compares in published.VERDICTS
        if one.source.startswith(("ouBioBERT", "Bio-ELECTRA")) and task.recipe.kind == "ner":
            assert one.compares is not True  # the one's code is kinder, the other does not say
    assert any(one.path == recipes[one.task].chief.path for one in published.of("hoc"))


def test_scores_of_disorders_do_not_compare():
    """003 (section 3.2) scores a disorder in several pieces as one, the recipe each piece; 002 does not say."""
    assert {one.compares for one in published.of("share_clefe")} == {False}


def test_the_page_says_which_tasks_have_no_published_figure(repository):
    recipes = {file.stem for file in (repository / "recipes" / "finetune").glob("*.yaml")} - {"sample"}
    page = (repository / "docs" / "howto" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`.*?) \|", page.split("The report has no published score for these tasks:")[1], flags=re.MULTILINE
    )
    said = [task for row in rows for task in re.findall(r"`(\w+)`", row)]
    assert sorted(said) == sorted(recipes - {one.task for one in published.everything()})


def test_no_sentence_of_the_report_is_long():
    told = [*sections.READING, errors.MARKS + errors.RULE, *published.VERDICTS.values(), WITHOUT_DOCUMENTS]
    told += [one.condition for one in published.everything()]
    told += [benchmark[key] for benchmark in averages.benchmarks() for key in ("note", "source") if key in benchmark]
    parts = {part for text in told for part in re.split(r"(?<=[.;:])\s+", text)}
    assert len(parts) > 70 and [part for part in parts if len(part.split()) > 25] == []


MEASURES = {
    "f1": "F1", "exact_match": "exact match", "mean_reciprocal_rank": "mean reciprocal rank",
    "accuracy": "accuracy", "pearson": "Pearson's correlation",
}  # fmt: skip


@pytest.mark.parametrize("name", ["French sets", "English sets"])
def test_an_average_over_measures_that_differ_says_so(name, repository):
    tasks = [task for tasks in named(name)["groups"].values() for task in tasks]
    chiefs = {load_task(repository / "recipes" / "finetune" / f"{task}.yaml").chief.path[-1] for task in tasks}
    said = re.search(r"Metrics are mixed \(([^)]*)\)", named(name)["note"])[1]
    assert set(said.split(", ")) == {MEASURES[chief] for chief in chiefs}


def test_every_column_of_a_papers_table_has_its_value():
    for source in yaml.safe_load(published.FILE.read_text(encoding="utf-8")):
        for row in source["rows"]:
            for task, scores in row["tasks"].items():
                assert all(len(values) == len(source["models"]) for values in scores.values()), task


def test_a_task_of_two_tables_has_two_rows_and_is_in_no_average(tmp_path):
    folders = [output_of(tmp_path / name, *texts(name[0]), [GOOD]) for name in ("a1", "a2", "b", "c")]
    changed(folders[1], data_sha256=[{"test": "other"}])
    (setting,) = averages.settings(group(load_all(folders).runs))
    assert [*rows(averages.all_tasks(setting))] == ["a (1)", "a (2)", "b", "c"]
    table, said = averages.average(setting, PLAIN)
    assert [*rows(table)] == ["b", "c", "average"]
    assert "Not in the average, because the task has several tables in this setting: a. Tasks of the" in said
    assert "because an encoder" not in said


def resolved(epochs: int, by_task: dict | None) -> dict:
    """metrics.json of a protocol that has other epochs for other tasks; of older ones without these."""
    return {"protocol": {"name": "tuned", "changed": [], "epochs": epochs}, "protocol_by_task": by_task}


def test_a_protocol_with_other_values_for_other_tasks_is_one_setting(tmp_path):
    folders = [output_of(tmp_path / name, *texts(name), [GOOD]) for name in "ab"]
    for folder, epochs in zip(folders, (15, 35), strict=True):
        changed(folder, **resolved(epochs, {"epochs": {"ner": 15, "other": 35}}))
    (setting,) = averages.settings(group(load_all(folders).runs))
    assert [*rows(averages.average(setting, PLAIN)[0])] == ["a", "b", "average"]
    changed(folders[1], **resolved(35, {"epochs": {"ner": 15, "other": 36}}))  # the file was changed in between
    assert len(averages.settings(group(load_all(folders).runs))) == 2


def test_older_runs_of_such_a_protocol_are_told_apart(tmp_path):
    folders = [output_of(tmp_path / name, *texts(name), [GOOD]) for name in "abc"]
    for folder, epochs in zip(folders, (15, 35, 50), strict=True):
        changed(folder, **resolved(epochs, None))
    found = averages.settings(group(load_all(folders).runs))
    assert [one.title for one in found] == [
        "test, protocol tuned, 1 seed",
        "test, protocol tuned, 1 seed; protocol: epochs 35 instead of 15",
        "test, protocol tuned, 1 seed; protocol: epochs 50 instead of 15",
    ]


def test_a_grid_with_other_values_for_other_tasks_is_one_setting(tmp_path):
    folders = [output_of(tmp_path / name, *texts(name), [GOOD]) for name in "ab"]
    for folder, grid in zip(folders, ([20, 30], [5, 6]), strict=True):
        selection = {"by": "search", "grid": {"epochs": grid, "learning_rate": [1e-5]}}
        by_task = {"grid": {"epochs": {"ner": [20, 30], "other": [5, 6]}}}
        changed(folder, **resolved(grid[0], by_task), selection=selection)
    assert len(averages.settings(group(load_all(folders).runs))) == 1


def test_recipes_with_other_longest_sequences_are_one_setting(tmp_path):
    tasks = {name: texts(name, max_tokens=longest) for name, longest in (("a", 128), ("b", 256))}
    folders = [output_of(tmp_path / name, *task, [GOOD]) for name, task in tasks.items()]
    (setting,) = averages.settings(group(load_all(folders).runs))
    assert [*rows(averages.average(setting, PLAIN)[0])] == ["a", "b", "average"]
