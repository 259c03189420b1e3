"""Patients: found in a column, a document's name or a list; in one split each where splits are drawn; else named."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from baseline_helpers import task_of
from task_helpers import ner_task

from alibert_common.errors import InputError
from downstream.data.splits import read_folds, with_fewer
from downstream.tasks import load_task

COLUMN, PATTERN, LIST = {"reader": {"patient": "who"}}, {"patient_pattern": r"^(\w+?)_"}, {"patient_list": "who.tsv"}
DRAWN = {  # the files of each way to draw splits, and the keys of the recipe
    "shares": (["all"], {"splits": {"all": "all.jsonl"}, "dev_share": 0.2, "test_share": 0.3}),
    "folds": (["all"], {"splits": {"all": "all.jsonl"}, "folds": 3}),
    "dev": (["train", "test"], {"splits": {"train": "train.jsonl", "test": "test.jsonl"}, "dev_share": 0.3}),
}
OFFICIAL = {"splits": {name: f"{name}.jsonl" for name in ("train", "dev", "test")}}
ENTITIES = [{"start": 0, "end": 4, "label": "anatomy"}]


def write(root: Path, name: str, documents: list[tuple[str, str]]) -> None:
    """A jsonl split of (id, patient) pairs, whose patients are in who.tsv as well."""
    records = [{"id": own, "text": f"foie {own}", "entities": ENTITIES, "who": patient} for own, patient in documents]
    (root / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    with open(root / "who.tsv", "a") as listed:
        listed.writelines(f"{own}\t{patient}\n" for own, patient in documents)


def documents_of(draw: random.Random, patients: int, first: int = 0) -> list[tuple[str, str]]:
    """Few or many documents of each patient, in any order."""
    whose = [f"p{first + who}" for who in range(patients) for _ in range(draw.choice([1, 1, 2, 12]))]
    draw.shuffle(whose)
    return [(f"{patient}_{number}", patient) for number, patient in enumerate(whose)]


def patients_in(splits) -> dict[str, set[str]]:
    return {name: {item.patient for item in part.items} for name, part in splits.items()}


def official(root: Path, **splits: str) -> None:
    """Documents of these patients, a letter each: official(root, train="aab")."""
    for name, letters in splits.items():
        write(root, name, [(f"{letter}_{name}{number}", letter) for number, letter in enumerate(letters)])


@pytest.mark.parametrize("way", DRAWN)
def test_no_patient_is_in_two_splits_of_a_hundred_corpora(tmp_path, way):
    """Whatever their number of patients and documents, and wherever the patients stand."""
    draw, ended, (files, keys) = random.Random(way), Counter(), DRAWN[way]
    for corpus in range(100):
        root = tmp_path / str(corpus)
        root.mkdir()
        count, where = draw.randint(1, 12), draw.choice([COLUMN, PATTERN, LIST])
        read = {name: documents_of(draw, count, 100 * place) for place, name in enumerate(files)}
        for name, documents in read.items():
            write(root, name, documents)
        task = ner_task("anatomy", format="jsonl", split_seed=corpus, **keys, **where)
        try:
            folds = read_folds(task, root, dev_only=False)
        except InputError as error:
            assert "patient" in str(error) and "too few for" in str(error) and count < 4, str(error)
            ended["refused"] += 1
            continue
        ended["read"] += 1
        for splits in folds:
            found = patients_in(splits)
            assert sum(map(len, found.values())) == len(set.union(*found.values())) == count * len(files)
            ids = [task.id_of(item) for part in splits.values() for item in part.items]
            assert sorted(ids) == sorted(own for documents in read.values() for own, _ in documents)
    assert ended["refused"] > 2 and ended["read"] > 60


@pytest.mark.parametrize("where", [{}, COLUMN])
def test_without_patients_a_patient_is_divided(tmp_path, where):
    """So the test above can fail."""
    write(tmp_path, "all", [(f"d{number}", f"p{number % 6}") for number in range(60)])
    task = ner_task("anatomy", format="jsonl", **DRAWN["shares"][1], **where)
    [splits] = read_folds(task, tmp_path, dev_only=False)
    numbers = {name: {int(task.id_of(item)[1:]) % 6 for item in part.items} for name, part in splits.items()}
    assert (len(numbers["train"] & numbers["test"]) > 0) == (not where)


@pytest.mark.parametrize("way, what", [("shares", "test, dev, train"), ("folds", "3 folds"), ("dev", "dev, train")])
def test_one_patient_cannot_be_divided(tmp_path, way, what):
    files, keys = DRAWN[way]
    for name in files:
        write(tmp_path, name, [(f"{name}_{number}", name) for number in range(20)])
    with pytest.raises(InputError, match=f"tiny: 1 patient is too few for {what}, because a patient's documents stay"):
        read_folds(ner_task("anatomy", format="jsonl", **keys, **PATTERN), tmp_path, dev_only=False)


def test_official_splits_stay_and_their_patients_in_two_of_them_are_named(tmp_path, capsys):
    official(tmp_path, train="abcdexxy", dev="fgy", test="xebcda")
    plain = ner_task("anatomy", format="jsonl", **OFFICIAL)
    [before] = read_folds(plain, tmp_path, dev_only=False)
    assert capsys.readouterr().err == ""
    [splits] = read_folds(ner_task("anatomy", format="jsonl", **OFFICIAL, **PATTERN), tmp_path, dev_only=False)
    assert {name: [*map(plain.id_of, part.items)] for name, part in splits.items()} == {
        name: [*map(plain.id_of, part.items)] for name, part in before.items()
    }
    remedy = "scores are too high; give all documents of a patient to one split\n"
    assert capsys.readouterr().err == (
        f"warning: tiny: 1 patient is in train and dev (y); {remedy}"
        f"warning: tiny: 6 patients are in train and test (a, b, c and 3 more); {remedy}"
    )


def test_what_is_added_to_train_is_compared_too_and_each_fold_is(tmp_path, capsys):
    official(tmp_path, train1="ab", train2="cdt", test1="e", test2="t", more="m")
    write(tmp_path, "dev", [("m_dev", "m"), ("n_dev", "n")])
    splits = {"train": "train{fold}.jsonl", "dev": "dev.jsonl", "test": "test{fold}.jsonl"}
    keys = {"splits": splits, "folds": 3, "also_train": {"more.jsonl": "jsonl"}, **LIST}
    official(tmp_path, train3="q", test3="r")
    read_folds(ner_task("anatomy", format="jsonl", **keys), tmp_path, dev_only=False)
    told = [line.split(";")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == [
        "warning: tiny, fold 1: 1 patient is in train and dev (m)",
        "warning: tiny, fold 2: 1 patient is in train and dev (m)",
        "warning: tiny, fold 2: 1 patient is in train and test (t)",
        "warning: tiny, fold 3: 1 patient is in train and dev (m)",
    ]


def test_few_training_documents_are_documents_still(tmp_path):
    official(tmp_path, train="aaabbb", dev="c", test="d")
    task = ner_task("anatomy", format="jsonl", **OFFICIAL, **COLUMN)
    [splits] = read_folds(task, tmp_path, dev_only=False)
    assert len(with_fewer(task, splits["train"], 4, seed=1).items) == 4


def test_a_document_without_patient_or_with_two_is_refused(tmp_path):
    official(tmp_path, train="ab", dev="c", test="d")

    def refused(**keys) -> str:
        with pytest.raises(InputError) as error:
            read_folds(ner_task("anatomy", format="jsonl", **OFFICIAL | keys), tmp_path, dev_only=False)
        return str(error.value).replace(f"{tmp_path}/", "")

    advice = "or name the patient of every document in a patient_list."
    assert refused(patient_pattern="^([b-z])_") == (
        f"train.jsonl: no patient for 1 documents (first: a_train0); correct patient_pattern, {advice}"
    )
    assert "no patient for 2 documents (first: a_train0)" in refused(patient_pattern=r"^(\d)?")  # which finds nothing
    (tmp_path / "who.tsv").write_text("a_train0.txt\tp\nb_train1\tp\nc_dev0\tq\n")
    assert refused(**LIST) == f"test.jsonl: no patient for 1 documents (first: d_test0); correct patient_list, {advice}"
    (tmp_path / "who.tsv").write_text("a_train0\tp\tq\n")
    assert refused(**LIST) == "who.tsv: a_train0 has 2 patients; a document has one."
    (tmp_path / "who.tsv").write_text("a_train0\n")
    assert refused(**LIST).startswith("who.tsv, line 1: a document and its patient are needed, with a tab")
    assert refused(reader={"patient": "whose"}) == (
        "train.jsonl, line 1: the key 'whose' is None; a word or a number is needed there."
    )


TABLES = {
    "classification": {"text": "a", "label": "b"},
    "relations": {"text": "a", "label": "b"},
    "similarity": {"first": "a", "second": "c", "score": "n"},
    "choice": {"question": "a", "options": {"x": "b", "y": "c"}, "right": "o"},
    "ranking": {"question": "a", "candidate": "c", "right": "n"},
}
ROW = {"a": "où ?", "b": "cardiologie", "c": "le rein", "n": "1", "o": "x", "who": 12}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_has_a_column_of_patients(tmp_path, kind):
    (tmp_path / "t.jsonl").write_text(json.dumps(ROW) + "\n" + json.dumps(ROW | {"who": "13", "a": "quand ?"}) + "\n")
    with_it, without = (
        task_of(kind, reader=TABLES[kind] | more).read(tmp_path, task_of(kind).recipe.format, Counter())
        for more in ({"patient": "who"}, {})
    )
    assert [item.patient for item in with_it] == ["12", "13"] and [item.patient for item in without] == ["", ""]
    assert repr(with_it) == repr(without)


def test_a_document_of_two_patients_is_refused_and_a_question_of_two_is_two(tmp_path):
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(ROW | {"d": "d1", "who": who}) + "\n" for who in "pq"))
    grouped = task_of("classification", reader=TABLES["classification"] | {"patient": "who", "group": "d"},
                      splits={"all": "t.jsonl"}, folds=3)  # fmt: skip
    with pytest.raises(InputError, match=r"t.jsonl: d1 has the patients p and q; a document has one\."):
        read_folds(grouped, tmp_path, dev_only=False)
    ranked = task_of("ranking", reader=TABLES["ranking"] | {"patient": "who"})
    assert [(item.question, item.patient) for item in ranked.read(tmp_path, "ranking", Counter())] == [
        ("où ?", "p"), ("où ?", "q")
    ]  # fmt: skip


def test_the_patient_of_a_question_is_found_in_its_id(tmp_path):
    """The name of its text is a digest."""
    answer = {"text": "foie", "answer_start": 0}
    for name in OFFICIAL["splits"]:
        asked = {"id": f"7_{name}", "question": "où ?", "answers": [answer]}
        content = {"data": [{"paragraphs": [{"context": f"foie {name}", "qas": [asked]}]}]}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(content))
    task = task_of("extractive_qa", **OFFICIAL, **PATTERN)
    [splits] = read_folds(task, tmp_path, dev_only=False)
    assert patients_in(splits) == {name: {"7"} for name in ("train", "dev", "test")}


def test_a_list_may_have_the_suffix_of_a_document_or_not(tmp_path):
    for name in OFFICIAL["splits"]:
        write(tmp_path, name, [(f"{name}.txt", name)])
    task = ner_task("anatomy", format="jsonl", **OFFICIAL, **LIST)
    for ending in (".txt", ""):
        (tmp_path / "who.tsv").write_text("".join(f"{name}{ending}\t{name}\n" for name in OFFICIAL["splits"]))
        [splits] = read_folds(task, tmp_path, dev_only=False)
        assert patients_in(splits) == {name: {name} for name in OFFICIAL["splits"]}


def test_the_patient_of_a_relation_is_that_of_its_document(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}1.txt").write_text("le foie et le rein et la rate")
        lines = ["T1\tA 3 7\tfoie", "T2\tA 14 18\trein", "T3\tA 25 29\trate", "R1\tof Arg1:T1 Arg2:T2"]
        (tmp_path / name / f"{name}1.ann").write_text("\n".join(lines))
    (tmp_path / "who.tsv").write_text("train1\ta\ndev1\tb\ntest1.txt\tc\n")
    names = {name: name for name in OFFICIAL["splits"]}
    task = task_of("relations", format="brat", reader={"pairs": ["A A"]}, labels=["of", "none"], splits=names,
                   negative="none", **LIST)  # fmt: skip
    [splits] = read_folds(task, tmp_path, dev_only=False)
    assert patients_in(splits) == {"train": {"a"}, "dev": {"b"}, "test": {"c"}} and len(splits["test"].items) == 3


@pytest.mark.parametrize(
    "lines, error",
    [
        (r'patient_pattern: "^\\d+_"', r"patient_pattern has no group; put the patient's part in \( \)\."),
        ('patient_pattern: "("', "patient_pattern is no regular expression"),
        ('patient_pattern: "(.)"\npatient_list: l.tsv', "patient_pattern and patient_list say the patient; keep one"),
        ("patient_list: l.tsv\nreader: {patient: a}", "patient of reader and patient_list say the patient; keep one"),
    ],
)
def test_a_recipe_says_once_and_rightly_where_the_patient_is(tmp_path, lines, error):
    text = "task: tiny\nformat: jsonl\nsplits: {all: a}\ndev_share: 0.1\ntest_share: 0.1\ntypes: [anatomy]\n"
    (tmp_path / "r.yaml").write_text(text + 'patient_pattern: "^(.)"\n')
    assert load_task(tmp_path / "r.yaml").recipe.patients_by == ["patient_pattern"]
    (tmp_path / "r.yaml").write_text(text + lines + "\n")
    with pytest.raises(InputError, match=f"r.yaml: {error}"):
        load_task(tmp_path / "r.yaml")


def test_without_patients_records_of_a_recipe_are_those_of_earlier_versions(tmp_path):
    """Else earlier outputs would not be resumed, and `--check` would tell of other data."""
    recipe, other = (ner_task("anatomy", **keys).recipe for keys in ({}, PATTERN))
    assert not any("patient" in key for key in recipe.as_dict()) and "patient" not in repr(recipe)
    assert other.as_dict() == recipe.as_dict() | PATTERN and type(other)(**other.as_dict()) == other


def test_a_digest_is_of_the_patients_too(tmp_path):
    """Intervals depend on them, so results with other patients are not resumed."""
    official(tmp_path, train="ab", dev="c", test="d")
    digests = [
        read_folds(ner_task("anatomy", format="jsonl", **OFFICIAL, **keys), tmp_path, False)[0]["train"].sha256
        for keys in ({}, PATTERN, COLUMN, {"patient_pattern": "(.)$"})
    ]
    assert digests[0] != digests[1] == digests[2] != digests[3]
