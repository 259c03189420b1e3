"""Splits: official ones are read as they are, drawn ones depend on ids and a seed alone, and no document is divided."""

import hashlib
import json
from collections import Counter
from dataclasses import replace

import pytest
from baseline_helpers import task_of
from hypothesis import given, settings
from hypothesis import strategies as st
from task_helpers import ner_task

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText
from downstream.data.data_folder import data_folder
from downstream.data.splits import Split, _divided, _folds_of, documents_in, drawn_order, read_folds, with_fewer
from downstream.tasks.ner import NamedEntities


class Grouped(NamedEntities):
    """Items whose ids are GROUP/NUMBER/LABEL: several an undivided group, a label to spread evenly."""

    def group(self, item):
        return self.id_of(item).split("/")[0]

    def stratum(self, item):
        return self.id_of(item).split("/")[2]


def grouped(**keys) -> Grouped:
    return Grouped(ner_task("anatomy", **keys).recipe)


def write(folder, name, ids):
    """A jsonl split with a document for each id."""
    folder.mkdir(parents=True, exist_ok=True)
    entities = [{"start": 0, "end": 4, "label": "anatomy"}]
    lines = [json.dumps({"id": one, "text": f"foie {one}", "entities": entities}) + "\n" for one in ids]
    (folder / name).write_text("".join(lines))


def ids_in(splits):
    return {name: [item.document.id for item in part.items] for name, part in splits.items()}


def read(task, root, dev_only=False):
    return [ids_in(splits) for splits in read_folds(task, root, dev_only)]


def items_of(task, ids):
    return [task.example(AnnotatedText(one, "foie", []), Counter()) for one in ids]


IDS = [f"d{number}" for number in range(40)]


def test_official_splits_are_the_files(tmp_path):
    for name in ("train", "dev", "test"):
        write(tmp_path, f"{name}.jsonl", [f"{name}-{number}" for number in range(3)])
    task = ner_task("anatomy", format="jsonl", splits={name: f"{name}.jsonl" for name in ("train", "dev", "test")})
    wanted = {name: [f"{name}-{number}" for number in range(3)] for name in ("train", "dev", "test")}
    assert read(task, tmp_path) == [wanted]
    (tmp_path / "test.jsonl").unlink()
    del wanted["test"]
    assert read(task, tmp_path, dev_only=True) == [wanted]


def test_a_list_divides_what_is_read_once(tmp_path, monkeypatch):
    """And each split has its own counts."""
    write(tmp_path, "all.jsonl", ["a", "b", "c"])
    (tmp_path / "l.tsv").write_text("a\ttrain\nb\tdev\nc\ttest\nd\tdev\n")
    names = ("train", "dev", "test")
    task = ner_task("anatomy", format="jsonl", splits={name: f"all.jsonl @ l.tsv = {name}" for name in names})
    read_items, calls = task.read, []
    monkeypatch.setattr(task, "read", lambda *given: calls.append(given) or read_items(*given))
    [splits] = read_folds(task, tmp_path, dev_only=False)
    assert ids_in(splits) == {"train": ["a"], "dev": ["b"], "test": ["c"]} and len(calls) == 1
    missing = "documents of l.tsv that are not there"
    assert [splits[name].counts[missing] for name in names] == [0, 1, 0]


def test_official_folds_are_the_files_of_their_numbers(tmp_path):
    for fold in (1, 2, 3):
        for name in ("train", "test"):
            write(tmp_path / f"fold{fold}", f"{name}.jsonl", [f"{name}-{fold}-{number}" for number in range(4)])
    write(tmp_path, "dev.jsonl", ["dev"])
    splits = {"train": "fold{fold}/train.jsonl", "dev": "dev.jsonl", "test": "fold{fold}/test.jsonl"}
    folds = read(ner_task("anatomy", format="jsonl", splits=splits, folds=3), tmp_path)
    assert [fold["test"][0] for fold in folds] == ["test-1-0", "test-2-0", "test-3-0"]
    assert [fold["train"][3] for fold in folds] == ["train-1-3", "train-2-3", "train-3-3"]
    assert all(fold["dev"] == ["dev"] for fold in folds)


def test_dev_is_drawn_from_train_where_the_data_have_none(tmp_path):
    write(tmp_path, "train.jsonl", IDS)
    write(tmp_path, "test.jsonl", ["t1", "t2"])
    task = ner_task("anatomy", format="jsonl", splits={"train": "train.jsonl", "test": "test.jsonl"}, dev_share=0.25)
    [splits] = read(task, tmp_path)
    assert len(splits["dev"]) == 10 and splits["test"] == ["t1", "t2"]
    assert sorted(splits["train"] + splits["dev"]) == sorted(IDS)
    [without_test] = read(task, tmp_path, dev_only=True)
    assert without_test == {name: splits[name] for name in ("train", "dev")}
    assert splits["train"] == [one for one in IDS if one in splits["train"]]  # in the file's order


def joint(**keys):
    """Train and test of one set, more to train on of another."""
    splits = {"train": "train.jsonl", "test": "test.jsonl"}
    return ner_task("anatomy", format="jsonl", splits=splits, also_train={"more.jsonl": "jsonl"}, **keys)


@pytest.mark.parametrize("dev", [None, "dev.jsonl"])
def test_what_is_added_to_train_is_not_in_dev(tmp_path, dev):
    more = [f"more{number}" for number in range(90)]
    for name, ids in (("train", IDS), ("more", more), ("dev", ["d"]), ("test", ["t"])):
        write(tmp_path, f"{name}.jsonl", ids)
    task = joint(dev_share=0.25)
    if dev:
        splits = task.recipe.splits | {"dev": dev}
        task = NamedEntities(replace(task.recipe, splits=splits, dev_share=None))
    [splits] = read(task, tmp_path)
    assert len(splits["dev"]) == (1 if dev else 10) and not set(splits["dev"]) & set(more)
    assert splits["train"] == [one for one in IDS if one not in splits["dev"]] + more


def test_ids_that_two_training_sets_share_are_refused(tmp_path):
    for name, ids in (("train", IDS), ("more", ["m", *IDS[:2]]), ("test", ["t"])):
        write(tmp_path, f"{name}.jsonl", ids)
    with pytest.raises(
        InputError, match=r"train and also_train: 2 ids stand for several items \(first: d0\); give each"
    ):
        read(joint(dev_share=0.25), tmp_path)


TAGGED = {"tokens": ["foie"], "ner_tags": ["B-anatomy"]}
COMMON = "documents whose id an earlier split has"


def test_documents_that_official_splits_share_are_counted(tmp_path):
    for name, ids in (("train", ["a", "b", "c"]), ("dev", ["d", "c"]), ("test", ["a", "d", "e", "f"])):
        write(tmp_path, f"{name}.jsonl", ids)
    task = ner_task("anatomy", format="jsonl", splits={name: f"{name}.jsonl" for name in ("train", "dev", "test")})
    [splits] = read_folds(task, tmp_path, False)
    assert {name: part.own.get(COMMON) for name, part in splits.items()} == {"train": None, "dev": 1, "test": 2}
    assert all("items without a word" in part.counts for part in splits.values())
    drawn = ner_task("anatomy", format="jsonl", splits={"all": "test.jsonl"}, dev_share=0.25, test_share=0.25)
    [splits] = read_folds(drawn, tmp_path, False)
    assert not any(COMMON in part.own for part in splits.values())


def test_row_numbers_of_files_without_ids_are_no_documents_in_common(tmp_path):
    """Both splits have a row 2 of data.tsv: that was reported as a leak."""
    for name in ("train", "dev", "test"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.tsv").write_text(f"text\tlabel\n{name} un\ty\n{name} deux &lt; trois\tn\n")
    splits = {name: name for name in ("train", "dev", "test")}
    task = task_of("classification", labels=["y", "n"], reader={"text": "text", "label": "label"}, splits=splits)
    [splits] = read_folds(task, tmp_path, False)
    assert [item.id for item in splits["dev"].items] == [item.id for item in splits["test"].items]
    assert not any(COMMON in part.own for part in splits.values())
    assert splits["dev"].counts["items with HTML character references (&lt;), read as they stand"] == 1


@pytest.mark.parametrize("format, line", [("iob", "foie\tB-anatomy"), ("jsonl", json.dumps(TAGGED))])
def test_numbers_of_sentences_without_ids_are_no_documents_in_common(tmp_path, format, line):
    splits = {name: name for name in ("train", "dev", "test")}
    for name in splits:
        (tmp_path / name).mkdir()
        (tmp_path / name / {"iob": "data.tsv", "jsonl": "data.jsonl"}[format]).write_text(f"{line}\n")
    [found] = read_folds(ner_task("anatomy", format=format, splits=splits), tmp_path, False)
    assert ids_in(found) == {name: ["data-1"] for name in splits}
    assert not any(COMMON in part.own for part in found.values())


def bioasq(folder, **kinds):
    """BioASQ splits, each with questions of these kinds."""
    for split, names in kinds.items():
        questions = [
            {
                "id": f"{split}{number}",
                "type": kind,
                "body": "where?",
                "exact_answer": [["liver"]] if kind == "list" else ["liver"],
                "snippets": [{"text": "in the liver"}],
            }
            for number, kind in enumerate(names)
        ]
        (folder / f"{split}.json").write_text(json.dumps({"questions": questions}))


@pytest.mark.parametrize(
    "figure, dev, test, missing",
    [
        ("f1", ["list"], ["factoid"], "chief figure, f1, is of no item of dev;"),
        ("list_f1", ["factoid", "list"], ["factoid"], "chief figure, lists f1, is of no item of test;"),
        ("lenient_accuracy", ["list", "list"], ["factoid"], "figure, factoids lenient_accuracy, is of no item of dev;"),
        ("list_f1", ["factoid", "list"], ["list"], None),
        ("f1", ["factoid", "list"], ["factoid"], None),
    ],
)
def test_a_split_without_questions_of_the_chief_figures_kind_is_refused(tmp_path, figure, dev, test, missing):
    bioasq(tmp_path, train=["list", "factoid"], dev=dev, test=test)
    splits = {name: f"{name}.json" for name in ("train", "dev", "test")}
    task = task_of("extractive_qa", format="bioasq", splits=splits, figure=figure)
    if missing is None:
        [found] = read_folds(task, tmp_path, False)
        assert len(found["dev"].items) == len(dev)
    else:
        with pytest.raises(InputError, match=missing):
            read_folds(task, tmp_path, False)


@pytest.mark.parametrize("empty", ["dev", "test"])
@pytest.mark.parametrize("nested", ["outermost", "per_type"])
def test_a_scored_split_without_an_entity_is_refused(tmp_path, empty, nested):
    splits = {name: f"{name}.jsonl" for name in ("train", "dev", "test")}
    for name in splits:
        write(tmp_path, f"{name}.jsonl", [f"{name}-{number}" for number in range(3)])
    task = ner_task("anatomy", format="jsonl", splits=splits, nested=nested)
    (tmp_path / f"{empty}.jsonl").write_text('{"text": "rien", "entities": []}\n' * 3)
    with pytest.raises(InputError, match=f"the chief figure, micro f1, is of no item of {empty}; .* or other splits"):
        read(task, tmp_path)
    assert empty == "dev" or read(task, tmp_path, dev_only=True)


@pytest.mark.parametrize("figure", ["micro_f1", "accuracy"])
def test_a_scored_split_whose_relations_are_all_negative_has_no_f1_but_accuracy(tmp_path, figure):
    for name, labels in {"train": "yn", "dev": "yn", "test": "nn"}.items():
        lines = [f"{number},a {name} text of @GENE$,{label}\n" for number, label in enumerate(labels)]
        (tmp_path / f"{name}.csv").write_text("id,text,label\n" + "".join(lines))
    task = task_of(
        "relations",
        labels=["y", "n"],
        negative="n",
        figure=figure,
        format="table",
        reader={"text": "text", "label": "label", "id": "id"},
        splits={name: f"{name}.csv" for name in ("train", "dev", "test")},
    )
    if figure == "accuracy":
        assert len(read_folds(task, tmp_path, False)[0]["test"].items) == 2
    else:
        with pytest.raises(InputError, match="the chief figure, micro f1, is of no item of test; "):
            read_folds(task, tmp_path, False)


def test_all_is_divided_into_shares(tmp_path):
    write(tmp_path, "all.jsonl", IDS)
    task = ner_task("anatomy", format="jsonl", splits={"all": "all.jsonl"}, dev_share=0.1, test_share=0.2)
    [splits] = read(task, tmp_path)
    assert {name: len(ids) for name, ids in splits.items()} == {"train": 28, "dev": 4, "test": 8}
    assert sorted(sum(splits.values(), [])) == sorted(IDS)
    assert read(task, tmp_path) == [splits]
    other = NamedEntities(replace(task.recipe, split_seed=2))
    assert read(other, tmp_path)[0]["test"] != splits["test"]
    assert read(task, tmp_path, dev_only=True) == [{name: splits[name] for name in ("train", "dev")}]


ROWS = {
    "similarity": ({"first": "t", "second": "u", "score": "s"}, {}),
    "choice": ({"question": "t", "options": {"1": "u", "2": "t"}, "right": "r"}, {"format": "options", "num_wrong": 1}),
}


@pytest.mark.parametrize("kind", ROWS)
def test_no_copy_is_in_another_drawn_split(tmp_path, kind):
    rows = [{"id": f"p{number}", "t": f"foie {number}", "u": "rein", "s": number % 3, "r": "1"} for number in range(40)]
    lines = [json.dumps(row) for row in rows + rows[:20]]
    (tmp_path / "all.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (columns, keys), shares = ROWS[kind], {"splits": {"all": "all.jsonl"}, "dev_share": 0.2, "test_share": 0.3}
    task = task_of(kind, reader={"id": "id", **columns}, **keys, **shares)
    [splits] = read_folds(task, tmp_path, dev_only=False)
    originals = [{item.id.removesuffix(" (2)") for item in part.items} for part in splits.values()]
    assert sum(len(part.items) for part in splits.values()) == 60 and sum(map(len, originals)) == 40


def test_the_recipes_own_folder_is_beside_it_and_data_takes_its_place(tmp_path):
    for place in ("own", "given"):
        for name in ("train", "dev", "test"):
            write(tmp_path / place, f"{name}.jsonl", [place])
    splits = {name: f"{name}.jsonl" for name in ("train", "dev", "test")}
    task = ner_task("anatomy", format="jsonl", splits=splits, data="own")
    for data, place in ((None, "own"), (tmp_path / "given", "given")):
        [found] = read_folds(task, data_folder(task.recipe, tmp_path / "recipe.yaml", data), False)
        assert ids_in(found) == dict.fromkeys(splits, [place])


def test_the_folder_of_the_recipe_is_looked_for_below_data_as_in_an_evaluation(tmp_path):
    """A recipe's `folder` was used by evaluate and not by finetune."""
    splits = {name: f"{name}.jsonl" for name in ("train", "dev", "test")}
    task = ner_task("anatomy", format="jsonl", splits=splits, folder="organs")
    for name in ("train", "dev"):
        write(tmp_path / "sets" / "fr" / "organs", f"{name}.jsonl", ["a"])
    found = data_folder(task.recipe, tmp_path / "r.yaml", tmp_path / "sets", dev_only=True)
    assert found == tmp_path / "sets" / "fr" / "organs"
    assert data_folder(task.recipe, tmp_path / "r.yaml", found) == found
    with pytest.raises(InputError, match=r"neither the splits of .*r.yaml \(train.jsonl, .*\) nor a folder 'organs'"):
        data_folder(task.recipe, tmp_path / "r.yaml", tmp_path / "sets")


def test_missing_and_empty_splits_are_refused(tmp_path):
    task = ner_task("anatomy", format="brat", splits={"all": "texts"}, folds=3)
    with pytest.raises(InputError, match="texts: no such file or folder; check the recipe's data and splits"):
        read(task, tmp_path)
    (tmp_path / "texts").mkdir()
    with pytest.raises(InputError, match="texts: nothing annotated as brat in it; check"):
        read(task, tmp_path)


GROUPS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=12, max_size=40, unique=True)


@settings(max_examples=30)
@given(GROUPS, st.randoms(use_true_random=False), st.integers(0, 3))
def test_shares_do_not_depend_on_the_order_of_items_and_divide_no_group(groups, shuffler, seed):
    task = grouped(splits={"all": "x"}, dev_share=0.2, test_share=0.3, split_seed=seed)
    ids = [f"{group}/{number}/x" for group in groups for number in range(1 + len(group))]
    shuffled = shuffler.sample(ids, len(ids))
    shares = {"test": 0.3, "dev": 0.2}
    one, other = (
        ids_in(_divided(task, Split(items_of(task, order), Counter()), shares, "train")) for order in (ids, shuffled)
    )
    assert {name: sorted(found) for name, found in one.items()} == {
        name: sorted(found) for name, found in other.items()
    }
    assert sorted(sum(one.values(), [])) == sorted(ids)
    of = {name: {one_id.split("/")[0] for one_id in found} for name, found in one.items()}
    assert sum(map(len, of.values())) == len(groups)  # each group in one split
    assert (len(of["test"]), len(of["dev"])) == (round(0.3 * len(groups)), round(0.2 * len(groups)))


@given(GROUPS, st.integers(0, 3))
def test_how_two_documents_stand_depends_on_no_third_one(groups, seed):
    order = drawn_order(groups, seed)
    assert sorted(order) == sorted(groups)
    fewer = [group for group in order if group != groups[0]]
    assert drawn_order(groups[1:], seed) == fewer


def test_one_document_more_moves_few_others():
    task = ner_task("anatomy", splits={"all": "x"}, dev_share=0.1, test_share=0.2)
    ids = [f"d{number}" for number in range(200)]
    before, after = (
        ids_in(_divided(task, Split(items_of(task, some), Counter()), {"test": 0.2, "dev": 0.1}, "train"))
        for some in (ids, [*ids, "new"])
    )
    of = [{one: name for name, found in splits.items() for one in found} for splits in (before, after)]
    assert sum(of[0][one] != of[1][one] for one in ids) <= 3


def test_the_draw_is_the_one_of_every_machine():
    assert drawn_order(["a", "b", "c", "d", "e"], 1) == ["c", "a", "b", "e", "d"]


@settings(max_examples=30)
@given(GROUPS, st.data())
def test_fewer_documents_are_among_more_of_them_and_no_group_is_divided(groups, data):
    more = data.draw(st.integers(1, len(groups)))
    fewer, seed = data.draw(st.integers(1, more)), data.draw(st.integers(1, 4))
    task, ids = grouped(), [f"{group}/{number}/x" for number in range(3) for group in groups]
    whole = Split(items_of(task, ids), Counter(read=7, nothing=0))
    small, large = (with_fewer(task, whole, number, seed) for number in (fewer, more))
    assert documents_in(task, small) <= documents_in(task, large) <= documents_in(task, whole)
    assert documents_in(task, small) == set(drawn_order(groups, seed)[:fewer]) and len(small.items) == 3 * fewer
    assert [item for item in whole.items if item in large.items] == large.items  # in their order
    assert small.own == {"documents left out of training": len(groups) - fewer} and not whole.own
    assert small.counts == whole.counts


def test_each_seed_draws_documents_of_its_own():
    task = grouped()
    whole = Split(items_of(task, [f"{one}/0/x" for one in IDS]), Counter())
    drawn = [frozenset(documents_in(task, with_fewer(task, whole, 5, seed))) for seed in (1, 2, 3, 1)]
    assert len(set(drawn)) == 3 and drawn[0] == drawn[3]


@pytest.mark.parametrize("number", [-1, 0, 41])
def test_documents_that_there_are_not_cannot_be_drawn(number):
    task = grouped()
    whole = Split(items_of(task, [f"{one}/0/x" for one in IDS]), Counter())
    with pytest.raises(InputError, match=f"tiny: {number} documents cannot be drawn from the 40 of .* 1 to 40"):
        with_fewer(task, whole, number, 1)


@pytest.mark.parametrize("number, keys", [(4, {"dev_share": 0.1, "test_share": 0.3}), (2, {"folds": 3})])
def test_too_few_documents_are_refused(tmp_path, number, keys):
    write(tmp_path, "all.jsonl", IDS[:number])
    task = ner_task("anatomy", format="jsonl", splits={"all": "all.jsonl"}, **keys)
    with pytest.raises(InputError, match=f"tiny: {number} documents are too few for (test, dev, train|3 folds)."):
        read(task, tmp_path)


LABELS = [("x", 30), ("y", 12), ("z", 6)]


def labelled(several=1):
    """Ids of items whose labels are of unlike frequency; `several` to a group."""
    labels = [label for label, count in LABELS for _ in range(count)]
    return [f"g{number // several}/{number}/{label}" for number, label in enumerate(labels)]


@pytest.mark.parametrize("several", [1, 3])
def test_every_item_is_tested_once_dev_is_another_fold_and_no_group_is_divided(several):
    task = grouped(splits={"all": "x"}, folds=4)
    ids = labelled(several)
    folds = [ids_in(splits) for splits in _folds_of(task, Split(items_of(task, ids), Counter()))]
    assert sorted(one for fold in folds for one in fold["test"]) == sorted(ids)
    for number, fold in enumerate(folds):
        assert sorted(fold["train"] + fold["dev"] + fold["test"]) == sorted(ids)
        assert fold["dev"] == folds[(number + 1) % 4]["test"]
        of = {name: {one.split("/")[0] for one in found} for name, found in fold.items()}
        assert not (of["train"] & of["dev"] or of["train"] & of["test"] or of["dev"] & of["test"])


def test_labels_are_as_frequent_in_every_fold():
    task = grouped(splits={"all": "x"}, folds=6)
    for fold in _folds_of(task, Split(items_of(task, labelled()), Counter())):
        assert Counter(one.split("/")[2] for one in ids_in(fold)["test"]) == {"x": 5, "y": 2, "z": 1}


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.integers(0, 2))
def test_folds_do_not_depend_on_the_order_of_items_but_on_the_seed(shuffler, seed):
    ids = labelled(several=2)
    shuffled = shuffler.sample(ids, len(ids))

    def tests(order, seed):
        task = grouped(splits={"all": "x"}, folds=3, split_seed=seed)
        return [set(ids_in(fold)["test"]) for fold in _folds_of(task, Split(items_of(task, order), Counter()))]

    assert tests(ids, seed) == tests(shuffled, seed)
    assert tests(ids, seed) != tests(ids, seed + 1)


@pytest.mark.parametrize("common", [0, 20])
def test_labels_that_are_too_rare_for_every_fold_are_spread_together(common, recwarn):
    task = grouped(splits={"all": "x"}, folds=4)
    ids = [f"r{number}/0/label{number}" for number in range(8)] + [f"c{number}/0/x" for number in range(common)]
    folds = _folds_of(task, Split(items_of(task, ids), Counter()))
    assert [sum(one[0] == "r" for one in ids_in(fold)["test"]) for fold in folds] == [2] * 4
    assert not recwarn.list


def test_the_digest_follows_what_the_items_hold():
    task = ner_task("anatomy")
    first, second, again = (Split(items_of(task, ids), Counter()).sha256 for ids in (["a"], ["b"], ["a"]))
    assert first == again != second and len(first) == 64


def test_two_items_of_one_id_are_one_sentence(tmp_path):
    for name in ("train", "dev", "test"):
        write(tmp_path, f"{name}.jsonl", ["a", "b", "a"] if name == "dev" else ["a", "b"])
    task = ner_task("anatomy", format="jsonl", splits={name: f"{name}.jsonl" for name in ("train", "dev", "test")})
    with pytest.raises(InputError, match=r"dev.jsonl: 1 ids stand for several items \(first: a\); give each its own."):
        read(task, tmp_path)


def test_digests_of_data_are_those_of_earlier_versions():
    """Earlier results are resumed by them, so the class's new name is no part of them."""
    split = Split([AnnotatedText("a", "foie", [])], Counter())
    assert repr(split.items) == "[Document(id='a', text='foie', entities=[])]"
    assert split.sha256 == hashlib.sha256(repr(split.items).encode()).hexdigest()
