"""Seeds and folds of an experiment: what is finished stays, what is refused, what is written; without a model."""

import json
import shutil
from collections import Counter

import pytest
from task_helpers import ner_task

from alibert_common.directories import directory_written_whole
from alibert_common.errors import InputError
from alibert_common.files import write_json
from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.splits import Split
from downstream.experiment.run import Experiment
from downstream.learners.base import Learner
from downstream.metrics.seeds import over_folds
from downstream.tasks.base import Encoded
from downstream.training.epochs import Epoch

PROTOCOL = {
    "name": "none", "changed": [], "source": "", "epochs": 1, "updates": None, "batch": 1, "learning_rate": 0.1
}  # fmt: skip


class Guesser(Learner):
    """Finds the entities of the documents whose number its seed, or `luck`, divides."""

    saves = True
    num_parameters = 7

    def __init__(self, task, luck=None, dies_at=None):
        self.task, self.luck, self.dies_at, self.fits = task, luck or {}, dies_at, 0
        model = {"folder": "guesser", "architecture": "none", "random_init": False, "frozen": False, "sha256": ""}
        self.conditions = {"model": model, "protocol": PROTOCOL, "max_tokens": 8, "precision": "fp32", "device": "cpu"}

    def encode(self, items, training):
        return Encoded(items, [None] * len(items), Counter(training=int(training)))

    def fit(self, train, dev, seed):
        self.fits += 1
        if self.fits == self.dies_at:
            raise KeyboardInterrupt
        assert train.counts["training"] and not dev.counts["training"]
        self.met = [*getattr(self, "met", []), ([item.document.id for item in train.items], train.epoch)]
        self.seed = seed
        return [Epoch(1, 0.5, 0.25, 0.1)]

    def kept(self, curve):
        return curve[-1]

    def answer(self, encoded):
        step = self.luck.get(self.seed, self.seed)
        return [item.layers if int(item.document.id) % step == 0 else [[]] for item in encoded.items]

    def save(self, target, notes):
        with directory_written_whole(target) as folder:
            write_json(folder / "finetuning.json", notes)


@pytest.fixture
def without_pictures(monkeypatch):
    for name in ("draw_scores", "draw_curves"):
        monkeypatch.setattr(f"downstream.experiment.results.{name}", lambda *_: None)


SHARES = {"splits": {"all": "x"}, "dev_share": 0.2, "test_share": 0.2}


def experiment(output, folds=1, task=None, **learner):
    """Twelve documents; fold K of several tests those from 4(K-1) on, and the next four are dev."""
    task = task or ner_task("anatomy", **({"splits": {"all": "x"}, "folds": folds} if folds > 1 else {}))
    entities = [Entity("anatomy", ((0, 4),))]
    items = [
        task.example(AnnotatedText(str(number), "foie", entities * (number != 4)), Counter()) for number in range(12)
    ]
    parts = [Split(items[start : start + 4], Counter(read=4)) for start in (0, 4, 8)]
    turned = [[*parts[number:], *parts[:number]] for number in range(folds)]
    splits = [dict(zip(("test", "dev", "train"), three, strict=True)) for three in turned]
    splits = [{name: one[name] for name in ("train", "dev", "test")} for one in splits]
    guesser = Guesser(task, **learner)
    conditions = {"task": "tiny", "recipe": task.recipe.as_dict(), **guesser.conditions}
    conditions |= {"selection": {"by": "hand"}, "versions": {}}
    return Experiment(task, guesser, splits, output, conditions)


def metrics_of(output):
    return json.loads((output / "metrics.json").read_text())


def without_times(value):
    """The same without what was measured of the machine."""
    if isinstance(value, dict):
        measured = ("seconds", "peak_memory")
        return {key: without_times(one) for key, one in value.items() if not key.startswith(measured)}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_seed_has_a_folder_and_the_best_on_dev_is_the_model(tmp_path, without_pictures, capsys):
    experiment(tmp_path / "out", luck={1: 5, 2: 1, 3: 1}).run(3)
    assert names_in(tmp_path / "out") == ["metrics.json", "model", "seed-1", "seed-2", "seed-3", "table.md"]
    metrics = metrics_of(tmp_path / "out")
    assert metrics["seeds"] == [1, 2, 3]
    assert (metrics["model_seed"], metrics["model_fold"]) == (2, None)  # of equals the first
    card = (tmp_path / "out" / "model" / "README.md").read_text()
    assert "micro f1, mean of 3 seeds" in card and "micro f1, this folder's model, seed 2" in card
    scores = [json.loads((tmp_path / "out" / f"seed-{seed}" / "metrics.json").read_text()) for seed in (1, 2, 3)]
    assert metrics["dev"]["micro"]["f1"]["values"] == [one["dev"]["micro"]["f1"] for one in scores]
    assert [one["fold"] for one in scores] == [None] * 3
    notes = json.loads((tmp_path / "out" / "model" / "finetuning.json").read_text())
    assert notes["dev"] == max(one["dev"]["micro"]["f1"] for one in scores)
    assert (notes["seed"], notes["fold"], notes["names"]) == (2, None, ["O", "B-anatomy", "I-anatomy"])
    assert [set(one) for one in metrics["data"]] == [{"train", "dev", "test"}]
    assert metrics["data"][0]["dev"] == {"items": 4, "read": 4, "training": 0, "types": {"anatomy": 3}}
    lines = (tmp_path / "out" / "seed-2" / "predictions.jsonl").read_text().splitlines()
    assert [(one["split"], one["id"]) for one in map(json.loads, lines)] == [
        *(("dev", str(number)) for number in range(4, 8)), *(("test", str(number)) for number in range(4))
    ]  # fmt: skip
    assert "seed-2: micro f1 on dev" in capsys.readouterr().out


def test_the_score_of_a_seed_is_the_mean_of_its_folds_and_supports_are_summed(tmp_path, without_pictures):
    experiment(tmp_path / "out", folds=3).run(2)
    metrics = metrics_of(tmp_path / "out")
    wanted = [f"seed-{seed}-fold-{fold}" for seed in (1, 2) for fold in (1, 2, 3)]
    assert [name for name in names_in(tmp_path / "out") if name.startswith("seed")] == wanted
    recalls = [[1.0, 1.0, 1.0], [0.5, 1 / 3, 0.5]]  # of the three folds' test documents, of which the fifth is empty
    values = metrics["test"]["micro"]["recall"]["values"]
    assert values == pytest.approx([sum(folds) / 3 for folds in recalls])
    assert metrics["test"]["micro"]["support"] == metrics["test"]["types"]["anatomy"]["support"] == 11
    assert metrics["test"]["ceiling"]["support"] == 11
    assert len(metrics["data"]) == 3 and len(metrics["seconds_per_seed"]) == 2
    assert len(metrics["curves"]) == len(metrics["best_epochs"]) == 6
    notes = json.loads((tmp_path / "out" / "model" / "finetuning.json").read_text())
    assert (notes["seed"], notes["fold"]) == (1, 1) == (metrics["model_seed"], metrics["model_fold"])
    assert "this folder's model, seed 1, fold 1" in (tmp_path / "out" / "model" / "README.md").read_text()


def test_folds_are_drawn_too(tmp_path):
    experiment(tmp_path / "out", folds=3).run(1)
    for picture in ("scores.png", "curves.png"):
        assert (tmp_path / "out" / picture).read_bytes().startswith(b"\x89PNG")
    assert "| anatomy | 1.000 | 1.000 | 1.000 | 11 |" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.parametrize("dies_at", [1, 2, 4, 6])
def test_killed_between_units_it_goes_on_with_the_same_metrics(tmp_path, without_pictures, dies_at):
    experiment(tmp_path / "whole", folds=3).run(2)
    with pytest.raises(KeyboardInterrupt):
        experiment(tmp_path / "out", folds=3, dies_at=dies_at).run(2)
    assert not (tmp_path / "out" / "metrics.json").exists()
    again = experiment(tmp_path / "out", folds=3)
    again.run(2)
    assert again.learner.fits == 6 - (dies_at - 1)
    assert without_times(metrics_of(tmp_path / "out")) == without_times(metrics_of(tmp_path / "whole"))
    assert names_in(tmp_path / "out") == names_in(tmp_path / "whole")


def test_what_a_killed_run_left_half_written_is_removed_and_nothing_else(tmp_path, without_pictures):
    half = [".seed-1.ab12_x.partial", ".seed-2-fold-3.zz.partial.old", ".model.q.partial", ".metrics.json.77.partial"]
    others = [".notes.md.77.partial", ".seed-1.swp", "notes.partial", ".seed-x.ab.partial"]
    for name in [*half, *others]:
        (tmp_path / name).mkdir(parents=True)
    experiment(tmp_path).run(1)
    assert [name for name in [*half, *others] if (tmp_path / name).exists()] == others


def test_a_damaged_result_is_one_sentence(tmp_path, without_pictures):
    experiment(tmp_path / "out").run(1)
    (tmp_path / "out" / "seed-1" / "metrics.json").write_text('{"dev": 1')
    with pytest.raises(InputError, match=r"seed-1/metrics\.json, line 1: is not JSON"):
        experiment(tmp_path / "out").run(1)


def without(file, key):
    """Take a key out of a record."""
    write_json(file, {name: value for name, value in json.loads(file.read_text()).items() if name != key})


RECORDED = """
seed fold best_epoch num_parameters selected_on_dev data curve seconds threads peak_memory dev test
""".split()


@pytest.mark.parametrize("key", RECORDED)
def test_a_result_that_lacks_something_is_one_sentence(tmp_path, without_pictures, key):
    experiment(tmp_path / "out").run(1)
    without(tmp_path / "out" / "seed-1" / "metrics.json", key)
    again = experiment(tmp_path / "out")
    with pytest.raises(
        InputError, match=rf"seed-1/metrics\.json: lacks {key}; remove .*seed-1, and it is made anew\.$"
    ):
        again.run(2)
    assert again.learner.fits == 0


def test_those_are_all_that_a_result_holds(tmp_path, without_pictures):
    experiment(tmp_path / "out").run(1)
    assert set(json.loads((tmp_path / "out" / "seed-1" / "metrics.json").read_text())) == {*RECORDED, "conditions"}


@pytest.mark.parametrize("key", ["seed", "fold", "dev", "conditions"])
def test_a_model_whose_notes_lack_something_is_one_sentence(tmp_path, without_pictures, key):
    experiment(tmp_path / "out").run(1)
    without(tmp_path / "out" / "model" / "finetuning.json", key)
    again = experiment(tmp_path / "out")
    with pytest.raises(
        InputError, match=rf"model/finetuning\.json: lacks {key}; remove .*model, and it is made anew\.$"
    ):
        again.run(2)
    assert again.learner.fits == 0
    shutil.rmtree(tmp_path / "out" / "model")
    again.run(1)
    assert json.loads((tmp_path / "out" / "model" / "finetuning.json").read_text())["seed"] == 1


def test_more_seeds_go_on_from_those_that_are_done(tmp_path, without_pictures, capsys):
    experiment(tmp_path / "out").run(1)
    more = experiment(tmp_path / "out")
    more.run(3)
    assert more.learner.fits == 2 and metrics_of(tmp_path / "out")["seeds"] == [1, 2, 3]
    assert "seed-1: micro f1 on dev 1.0000 (finished before)" in capsys.readouterr().out


def test_a_lost_model_is_that_of_the_best_again(tmp_path, without_pictures):
    luck = {1: 5, 2: 1, 3: 2}
    experiment(tmp_path / "out", luck=luck).run(3)
    before = metrics_of(tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "model")
    again = experiment(tmp_path / "out", luck=luck)
    again.run(3)
    assert again.learner.fits == 1
    assert json.loads((tmp_path / "out" / "model" / "finetuning.json").read_text())["seed"] == 2
    assert without_times(metrics_of(tmp_path / "out")) == without_times(before)


def test_a_card_tells_of_its_model_also_where_fewer_seeds_are_asked_for(tmp_path, without_pictures):
    luck = {1: 5, 2: 1, 3: 2}
    experiment(tmp_path / "out", luck=luck).run(3)
    again = experiment(tmp_path / "out", luck=luck)
    again.run(1)
    card = (tmp_path / "out" / "model" / "README.md").read_text()
    assert "this folder's model, seed 2" in card and "mean of 1 seed\n" in card and not again.learner.fits
    shutil.rmtree(tmp_path / "out" / "seed-2")
    experiment(tmp_path / "out", luck=luck).run(1)
    assert (tmp_path / "out" / "model" / "README.md").read_text() == card


def test_other_conditions_are_refused_before_anything_is_trained_or_written(tmp_path, without_pictures):
    experiment(tmp_path / "out", task=ner_task("anatomy", **SHARES)).run(2)
    for file in (tmp_path / "out" / "seed-1").iterdir():
        file.unlink()
    (tmp_path / "out" / "seed-1").rmdir()
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    other = experiment(tmp_path / "out", task=ner_task("anatomy", **SHARES, split_seed=2))
    with pytest.raises(InputError, match=r"seed-2/metrics.json: made under other conditions \(recipe\)"):
        other.run(2)
    assert other.learner.fits == 0
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_model_of_other_conditions_is_replaced_where_no_unit_is_left(tmp_path, without_pictures):
    experiment(tmp_path / "out").run(1)
    for file in (tmp_path / "out" / "seed-1").iterdir():
        file.unlink()
    (tmp_path / "out" / "seed-1").rmdir()
    other = experiment(tmp_path / "out", luck={1: 5})
    other.conditions["protocol"] = PROTOCOL | {"changed": ["luck"]}
    other.run(1)
    notes = json.loads((tmp_path / "out" / "model" / "finetuning.json").read_text())
    assert notes["conditions"]["protocol"]["changed"] == ["luck"]


def test_clear_removes_what_was_written_and_nothing_else(tmp_path):
    output = tmp_path / "out"
    run = experiment(output, folds=3)
    run.run(1)
    foreign = ["notes.txt", "seed-1-old", "seeds", "seed-x"]
    for name in foreign:
        (output / name).mkdir()
        (output / name / "kept.txt").touch()
    run.clear()
    assert names_in(output) == sorted(foreign)
    assert all((output / name / "kept.txt").is_file() for name in foreign)


@pytest.mark.parametrize("name", ["model", "seed-1", "seed-2-fold-3"])
def test_a_foreign_folder_under_the_name_of_ours_is_never_replaced(tmp_path, name):
    (tmp_path / "out" / name).mkdir(parents=True)
    (tmp_path / "out" / name / "config.json").touch()
    for call in (lambda run: run.run(1), lambda run: run.clear()):
        with pytest.raises(InputError, match=f"{name}: not from downstream.finetune, and would be replaced"):
            call(experiment(tmp_path / "out", folds=3))
    assert [path.name for path in tmp_path.rglob("*")] == ["out", name, "config.json"]


def test_drawn_splits_are_written_and_official_ones_are_not(tmp_path, without_pictures):
    experiment(tmp_path / "official").run(1)
    assert not (tmp_path / "official" / "splits.json").exists()
    experiment(tmp_path / "folds", folds=3).run(1)
    written = json.loads((tmp_path / "folds" / "splits.json").read_text())
    numbers = [[str(number) for number in range(start, start + 4)] for start in (0, 4, 8)]
    assert written["split_seed"] == 1 and len(written["folds"]) == 3
    assert written["folds"][1] == {"train": numbers[0], "dev": numbers[2], "test": numbers[1]}
    for name, keys in {
        "shares": SHARES, "dev": {"splits": {"train": "x", "test": "y"}, "dev_share": 0.1},
    }.items():  # fmt: skip
        experiment(tmp_path / name, task=ner_task("anatomy", **keys, split_seed=5)).run(1)
        written = json.loads((tmp_path / name / "splits.json").read_text())
        assert written == {"split_seed": 5, "folds": [dict(zip(("train", "dev", "test"), numbers[::-1], strict=True))]}


def test_splits_are_written_before_the_training_that_may_be_killed(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        experiment(tmp_path / "out", folds=3, dies_at=1).run(1)
    assert names_in(tmp_path / "out") == ["splits.json"]


def test_the_mean_over_folds():
    folds = [
        {"types": {"a": {"f1": 0.2, "support": 3}}, "accuracy": 0.5, "none": None},
        {"types": {"a": {"f1": None, "support": 0}}, "accuracy": 1.0, "none": None},
        {"types": {"a": {"f1": 0.4, "support": 4}}, "accuracy": 0.0, "none": None},
    ]
    mean = over_folds(folds)
    assert mean == {"types": {"a": {"f1": pytest.approx(0.3), "support": 7}}, "accuracy": 0.5, "none": None}
    assert over_folds(folds[:1]) == folds[0]


def test_a_type_of_some_folds_counts_in_these():
    row = {"f1": 0.5, "support": 2}
    folds = [{"types": {"a": row}}, {"types": {"b": {"f1": 1.0, "support": 1}, "a": row}}, {"types": {}}]
    assert over_folds(folds) == {"types": {"a": {"f1": 0.5, "support": 4}, "b": {"f1": 1.0, "support": 1}}}


@pytest.mark.parametrize("folds", [1, 3])
def test_each_seed_trains_on_documents_that_it_draws_for_the_epochs_of_all(tmp_path, without_pictures, folds):
    run = experiment(tmp_path / "out", folds=folds)
    run.train_documents = 2
    run.run(3)
    met = run.learner.met
    assert [(len(ids), epoch) for ids, epoch in met] == [(2, 4)] * 3 * folds
    for number, unit in enumerate(run.units(3)):
        written = json.loads((tmp_path / "out" / unit.name / "metrics.json").read_text())
        part = run.splits_of(unit)["train"]
        assert [item.document.id for item in part.items] == met[number][0]
        assert written["drawn_for_training"] == {"documents": 2, "seed": unit.seed, "sha256": part.sha256}
        assert written["data"]["train"]["items"] == written["data"]["train"]["documents left out of training"] == 2
        assert written["data"]["dev"]["items"] == 4 and "documents left out of training" not in written["data"]["dev"]
    assert len({tuple(ids) for ids, _ in met}) > folds  # not the same ones for all seeds


def test_all_documents_are_trained_on_as_ever(tmp_path, without_pictures):
    run = experiment(tmp_path / "out")
    run.run(2)
    assert run.learner.met == [(["8", "9", "10", "11"], None)] * 2
    assert "drawn_for_training" not in json.loads((tmp_path / "out" / "seed-1" / "metrics.json").read_text())


def test_few_documents_without_anything_to_learn_are_refused_before_any_training(tmp_path, without_pictures):
    run = experiment(tmp_path / "out")
    run.folds[0]["dev"], run.folds[0]["train"] = run.folds[0]["train"], run.folds[0]["dev"]  # the empty one is in train
    run.train_documents = 1
    empty = [unit.seed for unit in run.units(9) if run.splits_of(unit)["train"].items[0].document.id == "4"]
    assert 1 < empty[0] <= 9
    with pytest.raises(InputError, match="tiny: no entity to learn from"):
        run.run(9)
    assert run.learner.fits == 0


UNSEEN = "1 of 5 entities have a label that training has not, and count as missed"


def with_two_types(output, split, **how):
    """An experiment with concatenated labels, and in this split of the first fold a word of two types, document 12."""
    run = experiment(output, task=ner_task("anatomy", "symptom", nested="concatenated", **how.pop("recipe", {})), **how)
    twice = AnnotatedText("12", "foie", [Entity("anatomy", ((0, 4),)), Entity("symptom", ((0, 4),))])
    run.folds[0][split].items.append(run.task.example(twice, Counter()))
    return run


def warnings_of(run, num_seeds, capsys):
    """What a run warns of; before anything else is printed."""
    run.run(num_seeds)
    printed = capsys.readouterr().out.splitlines()
    warned = [line for line in printed if line.startswith("warning: ")]
    assert printed[: len(warned)] == warned
    return warned


def test_labels_that_training_has_not_are_warned_of_once_and_counted(tmp_path, without_pictures, capsys):
    run = with_two_types(tmp_path / "out", "test")
    assert warnings_of(run, 2, capsys) == [f"warning: test: {UNSEEN}"]
    [data] = metrics_of(tmp_path / "out")["data"]
    assert data["test"]["entities of a label that training has not"] == 1
    assert not any("entities of a label that training has not" in data[split] for split in ("train", "dev"))
    assert warnings_of(with_two_types(tmp_path / "other", "train"), 1, capsys) == []


def test_each_fold_warns_of_labels_that_its_training_has_not(tmp_path, without_pictures, capsys):
    run = with_two_types(tmp_path / "out", "test", folds=3, recipe={"splits": {"all": "x"}, "folds": 3})
    assert warnings_of(run, 2, capsys) == [f"warning: fold 1, test: {UNSEEN}", f"warning: fold 3, dev: {UNSEEN}"]


def test_each_seed_warns_of_labels_that_the_documents_it_draws_have_not(tmp_path, without_pictures, capsys):
    run = with_two_types(tmp_path / "out", "train")
    run.folds[0]["test"].items.append(run.folds[0]["train"].items[-1])
    run.train_documents = 2
    drawn = {unit.name: {item.document.id for item in run.splits_of(unit)["train"].items} for unit in run.units(5)}
    without = [name for name, ids in drawn.items() if "12" not in ids]
    assert 0 < len(without) < 5
    assert warnings_of(run, 5, capsys) == [f"warning: {name}, test: {UNSEEN}" for name in without]


def test_the_task_knows_what_the_drawn_documents_hold(tmp_path, without_pictures):
    run = experiment(tmp_path / "out")
    begun = []
    begin = run.task.begin
    run.task.begin = lambda items: (begun.append(len(items)), begin(items))
    run.train_documents = 3
    run.run_one(run.units(1)[0])
    assert begun[-1] == 3
