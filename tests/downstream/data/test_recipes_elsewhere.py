"""Recipes of sets that are not at hand, on made-up files in the forms that their sources describe."""

import csv
import json
from collections import Counter
from io import StringIO

import pytest
import yaml

from alibert_common.errors import InputError
from downstream.data.splits import read_folds
from downstream.evaluate.plan import find
from downstream.tasks import load_task


def table(*rows, quoted=True):
    """Rows as Python's csv writes them with tabs (BLUE, pandas), or with nothing quoted (BioBERT)."""
    if not quoted:
        return "".join("\t".join(row) + "\n" for row in rows)
    file = StringIO()
    csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
    return file.getvalue()


def nli(*labels):
    """MedNLI's JSON lines, as PhysioNet gives them."""
    sides = {"sentence1": "Patient febrile.", "sentence2": "No fever.", "sentence1_parse": "(ROOT)"}
    records = [{"gold_label": label, "pairID": f"p{number}"} | sides for number, label in enumerate(labels)]
    return "".join(json.dumps(record) + "\n" for record in records)


STS = ["", *"genre filename year old_index source1 source2 sentence1 sentence2 score".split()]


def sts(*scores):
    fixed = ["GENRE", "MedSTS", "2018", "1", "MedSTS", "MedSTS", 'Take "one"\ttablet.', "One tablet."]
    return table(STS, *([str(number), *fixed, score] for number, score in enumerate(scores)))


def i2b2(*labels):
    rows = [["d.a0.a1", 'Given @treatment$ for "bad" @problem$ .', label] for label in labels]  # one index, many labels
    return table(["index", "sentence", "label"], *rows)


DISJOINT = 'The\tnote-1\t0\tO\nleft\t-\t4\tB\natrium\t-\t9\tI\nis\t-\t16\tO\ndilated\t-\t19\tI\n""""\t-\t26\tO\n\n'
PLAIN = "Fever\tnote-2\t0\tB\n.\t-\t5\tO\n\n"
COLUMNS = "Mus\tB\nmusculus\tI\nate\tO\n\nZinc\tB\n,\tO\nnickel\tB\n\n"


def gad(fold, positive):
    return {
        f"{fold}/train.tsv": table(*[['@GENE$ "and" @DISEASE$', str(one % 2)] for one in range(20)], quoted=False),
        f"{fold}/test.tsv": table(
            ["index", "sentence", "label"],
            *[[str(one), f'"@GENE$ {fold} @DISEASE$ {one}', str(int(one < positive))] for one in range(3)],
            quoted=False,
        ),
    }


def squad(name, paragraphs, questions):
    """So many questions on each of so many paragraphs."""
    answer = {"text": "fièvre", "answer_start": 3}
    asked = [
        [{"id": f"{name}-{one}-{number}", "question": "Quoi ?", "answers": [answer]} for number in range(questions)]
        for one in range(paragraphs)
    ]
    found = [{"context": f"La fièvre tombe, {name} {one}.", "qas": qas} for one, qas in enumerate(asked)]
    return json.dumps({"version": "1.1", "data": [{"title": "T", "paragraphs": found}]})


def bioasq(name, **answers):
    """A question a kind of each of these numbers: factoid=2 gives two."""
    exact = {"factoid": [["IL-6", "interleukin 6"]], "list": [["IL-6"], ["TNF"]], "yesno": "yes", "summary": None}
    snippet = {"text": "IL-6 and TNF rise.", "document": "d", "beginSection": "abstract", "offsetInBeginSection": 0}
    questions = []
    for kind, number in answers.items():
        for one in range(number):
            question = {"id": f"{name}-{kind}-{one}", "type": kind, "body": "Which?", "snippets": [snippet]}
            questions.append(
                question | {"ideal_answer": ["They rise."]} | ({"exact_answer": exact[kind]} if exact[kind] else {})
            )
    return json.dumps({"questions": questions})


def bioasq_files(train, golden):
    kinds = {"factoid": 1, "list": 1, "yesno": 1, "summary": 1}
    return {
        train: bioasq("train", factoid=10, list=10, yesno=20, summary=5),
        f"{golden}1_golden.json": bioasq("one", **kinds),
        f"{golden}2_golden.json": bioasq("two", **kinds),
    }


def deft(train, test):
    """So many cases of 2021's train and test, and one that is of 2019 alone, whose types are others."""
    parts = ["train 2019\ttrain 2021"] * train + ["test 2019\t\ttest 2021"] * test + ["test 2019"]
    names = [f"filepdf-{number}-cas" for number in range(len(parts))]
    entities = "T1\tage 11 17\t45 ans\nT2\tsosy 19 25\tfièvre\nA1\tassertion T2 absent\nT3\ttraitement 27 32\topéré\n"
    files = {f"DEFT-cas-cliniques/{name}.txt": "Patient de 45 ans, fièvre, opéré." for name in names}
    files |= {f"DEFT-cas-cliniques/{name}.ann": entities for name in names}
    lines = [f"{name}.txt\t{part}\n" for name, part in zip(names, parts, strict=True)]
    return files | {"distribution-corpus.txt": "".join(lines)}


BLUE = ("train.tsv", "dev.tsv", "test.tsv")
BIOBERT = ("train.tsv", "devel.tsv", "test.tsv")
BIOASQ6 = bioasq_files("BioASQ-training6b/BioASQ-trainingDataset6b.json", "Task6BGoldenEnriched/6B")
RELATIONS = ("PIP", "TeCP", "TeRP", "TrAP", "TrCP", "TrIP", "TrNAP", "TrWP", "false")
NAMES = ("mli_train_v1.jsonl", "mli_dev_v1.jsonl", "mli_test_v1.jsonl")

FILES = {
    "mednli": dict(
        zip(NAMES, [nli("entailment", "contradiction", "neutral"), nli("neutral"), nli("neutral")], strict=True)
    ),
    "medsts": dict(zip(BLUE, [sts("0.0", "3.5", "5.0"), sts("1.0"), sts("2.25")], strict=True)),
    "i2b2_2010": dict(zip(BLUE, [i2b2(*RELATIONS), i2b2("PIP", "PIP"), i2b2("TrIP")], strict=True)),
    "share_clefe": {"Training.tsv": DISJOINT + PLAIN, "Development.tsv": PLAIN, "Test.tsv": DISJOINT},
    "s800": dict.fromkeys(BIOBERT, COLUMNS),
    "bc4chemd": dict.fromkeys(BIOBERT, COLUMNS),
    "deft2021": deft(10, 2),
    "deft2021_five": deft(10, 2),
    "gad": {name: text for fold in range(1, 11) for name, text in gad(fold, positive=1 + fold % 3).items()},
    "squad": {"train-v1.1.json": squad("train", 10, 3), "dev-v1.1.json": squad("dev", 1, 2)},
    "fquad": {"train.json": squad("train", 10, 3), "valid.json": squad("valid", 1, 2)},
    "bioasq_factoid": BIOASQ6,
    "bioasq_list": BIOASQ6,
    "bioasq_yesno": bioasq_files("BioASQ-training7b/trainining7b.json", "Task7BGoldenEnriched/7B"),
}
EXPECTED = {  # items of train, dev and test in the first fold; where the chief figure stands
    "mednli": (3, 1, 1, "accuracy"),
    "medsts": (3, 1, 1, "pearson"),
    "i2b2_2010": (9, 2, 1, "micro/f1"),
    "share_clefe": (2, 1, 1, "micro/f1"),
    "s800": (2, 2, 2, "micro/f1"),
    "bc4chemd": (2, 2, 2, "micro/f1"),
    "deft2021": (9, 1, 2, "micro/f1"),
    "deft2021_five": (9, 1, 2, "micro/f1"),
    "gad": (18, 2, 3, "micro/f1"),
    "squad": (27, 3, 2, "f1"),
    "fquad": (27, 3, 2, "f1"),
    "bioasq_factoid": (18, 2, 4, "factoids/lenient_accuracy"),
    "bioasq_list": (18, 2, 4, "lists/f1"),
    "bioasq_yesno": (18, 2, 2, "accuracy"),
}


@pytest.fixture
def folds_of(repository, tmp_path):
    """Write the made-up files of a task below the folder that its recipe names; read them by it."""

    def read(name, changes=None, file=None):
        file = file or repository / "recipes" / "finetune" / f"{name}.yaml"
        task = load_task(file)
        root = tmp_path / task.recipe.folder
        for path, text in (FILES[name] | (changes or {})).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        assert find(task.recipe, tmp_path) == root
        return task, read_folds(task, root, dev_only=False)

    return read


@pytest.mark.parametrize("name", FILES)
def test_the_files_become_items_of_each_split(folds_of, name):
    task, folds = folds_of(name)
    sizes = tuple(len(folds[0][part].items) for part in ("train", "dev", "test"))
    assert (*sizes, "/".join(task.chief.path)) == EXPECTED[name]
    assert len(folds) == (10 if name == "gad" else 1)
    assert not sum(splits[part].counts["cells that keep their quotes"] for splits in folds for part in splits)


def first(folds, part="train"):
    return folds[0][part].items


def test_inference_has_both_sentences(folds_of):
    _, folds = folds_of("mednli")
    assert [item.labels for item in first(folds)] == [("entailment",), ("contradiction",), ("neutral",)]
    item = first(folds)[0]
    assert (item.id, item.text, item.second) == ("p0", "Patient febrile.", "No fever.")


def test_blues_export_of_inference_is_read_with_the_settings_that_the_recipe_tells(folds_of, repository, tmp_path):
    text = (repository / "recipes" / "finetune" / "mednli.yaml").read_text(encoding="utf-8")
    [told] = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# reader:")]
    recipe = yaml.safe_load(text) | yaml.safe_load(told)
    recipe["splits"] = dict(zip(("train", "dev", "test"), BLUE, strict=True))
    (tmp_path / "mednli.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    rows = table(["index", "sentence1", "sentence2", "label"], ["p", 'A "b".', "C.", "neutral"])
    _, folds = folds_of("mednli", dict.fromkeys(BLUE, rows), tmp_path / "mednli.yaml")
    [item] = first(folds)
    assert (item.id, item.text, item.second, item.labels) == ("p", 'A "b".', "C.", ("neutral",))


def test_similarity_is_read_out_of_blues_columns(folds_of):
    _, folds = folds_of("medsts")
    assert [item.score for item in first(folds)] == [0.0, 3.5, 5.0]
    assert (first(folds)[0].first, first(folds)[0].second) == ('Take "one"\ttablet.', "One tablet.")


def test_clinical_relations_have_eight_types_and_a_negative_class(folds_of):
    task, folds = folds_of("i2b2_2010")
    assert tuple(item.label for item in first(folds)) == task.names == RELATIONS
    assert task.counted == RELATIONS[:-1]
    assert first(folds)[0].text == 'Given @treatment$ for "bad" @problem$ .'


def entities(folds, part="train"):
    texts = [(item.document.text, one) for item in first(folds, part) for one in item.document.entities]
    return [(text[one.start : one.end], one.label) for text, one in texts]


def test_disorders_in_pieces_are_entities_of_their_own_and_counted(folds_of):
    _, folds = folds_of("share_clefe")
    found = [("left atrium", "Disorder"), ("dilated", "Disorder"), ("Fever", "Disorder")]
    assert entities(folds) == found
    assert folds[0]["train"].counts["entities opened by an I"] == 1


def test_clinical_cases_have_the_types_of_2021_alone(folds_of):
    _, folds = folds_of("deft2021")
    assert entities(folds, "test") == [("fièvre", "sosy"), ("opéré", "traitement")] * 2


def test_clinical_cases_have_the_five_types_of_aliberts_tables(folds_of):
    _, folds = folds_of("deft2021_five")
    assert entities(folds, "test") == [("fièvre", "sosy")] * 2


@pytest.mark.parametrize("name, label", [("s800", "Species"), ("bc4chemd", "Chemical")])
def test_biobert_leaves_the_type_to_the_recipe(folds_of, name, label):
    _, folds = folds_of(name)
    assert entities(folds) == [("Mus musculus", label), ("Zinc", label), ("nickel", label)]


def test_the_ten_folds_of_gad_are_those_of_its_folders(folds_of):
    task, folds = folds_of("gad")
    assert task.counted == ("1",)
    positive = [Counter(item.label for item in splits["test"].items)["1"] for splits in folds]
    assert positive == [1 + fold % 3 for fold in range(1, 11)]
    assert folds[9]["test"].items[0].text == '"@GENE$ 10 @DISEASE$ 0'


@pytest.mark.parametrize("name", ["squad", "fquad"])
def test_questions_on_one_paragraph_are_all_in_train_or_all_in_dev(folds_of, name):
    task, folds = folds_of(name)
    train, dev = ({item.id.rsplit("-", 1)[0] for item in first(folds, part)} for part in ("train", "dev"))
    assert (len(train), len(dev)) == (9, 1) and not train & dev
    assert task.recipe.language == ("fr" if name == "fquad" else "en")


def test_factoids_and_lists_are_trained_together_and_with_squad_where_the_recipe_is_told_so(
    folds_of, repository, tmp_path
):
    _, folds = folds_of("bioasq_factoid")
    assert {item.is_list for item in first(folds, "test")} == {True, False}
    assert first(folds)[0].places
    text = (repository / "recipes" / "finetune" / "bioasq_factoid.yaml").read_text(encoding="utf-8")
    (tmp_path / "joint.yaml").write_text(text.replace("# also_train", "also_train"), encoding="utf-8")
    squads = {"train-v1.1.json": squad("squad", 10, 1)}
    _, folds = folds_of("bioasq_factoid", squads, tmp_path / "joint.yaml")
    assert [len(first(folds, part)) for part in ("train", "dev", "test")] == [28, 2, 4]  # dev: of BioASQ alone


def test_questions_of_yes_or_no_come_with_snippets(folds_of):
    _, folds = folds_of("bioasq_yesno")
    assert {(item.labels, item.second) for item in first(folds)} == {(("yes",), "IL-6 and TNF rise.")}


WRONG = {
    "mednli": ("mli_dev_v1.jsonl", nli("-"), "mli_dev_v1.jsonl, line 1: '-' is not known to the recipe"),
    "medsts": (
        "test.tsv",
        table(STS[:-1], STS[:-1]),
        "test.tsv, line 1: 0 columns are named 'score'",
    ),
    "i2b2_2010": ("dev.tsv", i2b2("DDI-int"), "dev.tsv, line 2: 'DDI-int' is not known to the recipe"),
    "share_clefe": ("Test.tsv", "Fever\tB\n.\t-\t5\tO\n", "Test.tsv, line 2: 4 columns after lines of 2"),
    "s800": ("devel.tsv", "Mus\tSpecies\n", "devel.tsv, line 1: 'Species' is not a label"),
    "bc4chemd": ("test.tsv", "Zinc\n", "test.tsv, line 1: a token and a label are needed"),
    "deft2021": (
        "DEFT-cas-cliniques/filepdf-0-cas.ann",
        "T1\tsymptome 19 25\tfièvre\n",
        "filepdf-0-cas.ann, line 1: 'symptome' is not known to the recipe",
    ),
    "deft2021_five": (
        "distribution-corpus.txt",
        "filepdf-0-cas.txt\ttest 2021\n",
        "distribution-corpus.txt: no document of a part 'train 2021' in it",
    ),
    "gad": ("10/test.tsv", "index\tsentence\n0\t@GENE$\n", "test.tsv, line 1: 'sentence', '@GENE$' are not known"),
    "squad": ("dev-v1.1.json", '{"version": "1.1"}', "dev-v1.1.json: the key 'data' is missing"),
    "fquad": ("valid.json", "[", "valid.json, line 1: not JSON"),
    "bioasq_factoid": (
        "Task6BGoldenEnriched/6B1_golden.json",
        '{"questions": [{"id": "a", "type": "factoid", "body": "Which?"}]}',
        "6B1_golden.json, question 1: exact_answer is None",
    ),
    "bioasq_list": (
        "BioASQ-training6b/BioASQ-trainingDataset6b.json",
        '{"questions": [{"id": "a", "type": "list", "body": "Which?", "exact_answer": []}]}',
        "BioASQ-trainingDataset6b.json, question 1: exact_answer is []",
    ),
    "bioasq_yesno": (
        "Task7BGoldenEnriched/7B2_golden.json",
        '{"questions": [{"id": "a", "type": "yesno", "body": "Is it?", "exact_answer": "maybe"}]}',
        "7B2_golden.json, question 1: 'maybe' is not known to the recipe",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_file_is_named_in_one_sentence(folds_of, name):
    path, text, complaint = WRONG[name]
    with pytest.raises(InputError) as error:
        folds_of(name, {path: text})
    sentence = str(error.value)
    assert complaint in sentence and "\n" not in sentence and sentence.endswith(".")
