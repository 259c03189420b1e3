"""Readers on the real data sets: as many items and labels as their authors say, or docs/results/data_counts.md says."""

from collections import Counter

import pytest
from item_helpers import read_items

from downstream.data.annotated_text import Labels
from downstream.data.readers import CANDIDATES, ENTITIES, PAIRS, RELATIONS, TEXTS


def test_fracco_as_annotated(shared_data):
    types = {"expression_CIM": 25738, "morphologie": 25697, "topographie": 18864, "differenciation": 1047}
    types |= {"stadeTNM": 33, "stade": 1}  # not in the authors' table, whose sum is 71,346
    folder = shared_data / "fr_ner" / "fracco" / "brat_raw"
    documents, counts = read_items(ENTITIES["brat"], folder, Labels(tuple(types)))
    entities = [entity for document in documents for entity in document.entities]
    assert (len(documents), counts["documents without .ann left out"]) == (1300, 1)  # 1,301 texts
    assert Counter(entity.label for entity in entities) == types and len(entities) == 71380
    assert sum(len(entity.fragments) > 1 for entity in entities) == 846
    assert sum(len(document.text.split()) for document in documents) == 1031487


@pytest.mark.parametrize(
    "split, texts, substances",
    [("Train", 714, 14764), ("Test/Test for DrugNER task", 112, 686), ("Test/Test for DDI Extraction task", 191, 3040)],
)
def test_drugs(shared_data, split, texts, substances):
    labels = Labels(("drug", "group", "brand", "drug_n"))
    documents, counts = read_items(ENTITIES["ddi"], shared_data / "en" / "ddi2013" / split, labels)
    assert (len(documents), sum(len(document.entities) for document in documents)) == (texts, substances)
    assert +counts == ({"entities whose text is not at their offsets": 1} if split == "Train" else {})


@pytest.mark.parametrize("split, texts, labels", [("train", 1514, 2110), ("dev", 1022, 1446), ("test", 1088, 1560)])
def test_morfitt(shared_data, split, texts, labels):
    specialities = "chemistry etiology genetics immunology microbiology parasitology"
    specialities += " pharmacology physiology psychology surgery veterinary virology"
    settings = {"id": "identifier", "text": "abstract", "label": "specialities", "separator": "|", "quoted": True}
    path = shared_data / "fr_cls" / "morfitt" / f"{split}.tsv"
    items, counts = read_items(TEXTS["table"], path, Labels(tuple(specialities.split())), **settings)
    assert (len(items), sum(len(item.labels) for item in items)) == (texts, labels)
    assert not +counts  # no quoted cell is left, nothing is empty


def test_biosses(shared_data):
    path = shared_data / "en" / "biosses" / "BIOSSESNormalized.tsv"
    items, counts = read_items(PAIRS["table"], path, first=1, second=2, score=3)
    assert len(items) == 100 and not +counts
    assert {min(item.score for item in items), max(item.score for item in items)} == {0.0, 4.0}


def test_hallmarks_of_cancer(shared_data):
    hallmarks = (
        "Activating invasion and metastasis, Avoiding immune destruction, Cellular energetics, "
        "Enabling replicative immortality, Evading growth suppressors, Genomic instability and mutation, "
        "Inducing angiogenesis, Resisting cell death, Sustaining proliferative signaling, Tumor promoting inflammation"
    )
    items, counts = read_items(TEXTS["hoc"], shared_data / "en" / "hoc", Labels(tuple(hallmarks.split(", "))))
    assert (len({item.group for item in items}), len(items)) == (1852, 17464)
    assert +counts == {"sentences labelled NULL": 11}
    assert sum(not item.labels for item in items) == 13021


def test_pubmedqa(shared_data):
    folder, labels = shared_data / "en" / "pubmedqa", Labels(("yes", "no", "maybe"))
    train, _ = read_items(TEXTS["pubmedqa"], folder / "ori_pqal.json", labels)
    test, _ = read_items(TEXTS["pubmedqa"], folder / "test_ground_truth.json", labels)
    assert (len(train), len(test)) == (500, 500) and not {item.id for item in train} & {item.id for item in test}
    assert Counter(item.labels for item in test) == {("yes",): 276, ("no",): 169, ("maybe",): 55}


@pytest.mark.parametrize(
    "split, relations, sentences, kinds",
    [("train", 4169, 1653, 13), ("dev", 2427, 910, 12), ("test", 3469, 1397, 12)],
)
def test_chemprot(shared_data, split, relations, sentences, kinds):
    types = "ACTIVATOR AGONIST AGONIST-ACTIVATOR AGONIST-INHIBITOR ANTAGONIST DOWNREGULATOR INDIRECT-DOWNREGULATOR"
    types += " INDIRECT-UPREGULATOR INHIBITOR PRODUCT-OF SUBSTRATE SUBSTRATE_PRODUCT-OF UPREGULATOR"
    path = shared_data / "en" / "chemprot_scibert" / f"{split}.txt"
    items, counts = read_items(RELATIONS["chemprot"], path, Labels(tuple(types.split())))
    assert (len(items), len({item.group for item in items})) == (relations, sentences) and not +counts
    assert len({item.label for item in items}) == kinds


@pytest.mark.parametrize(
    "split, types, hulls, elsewhere",
    [
        ("Train", {"false": 23771, "effect": 1687, "mechanism": 1319, "advise": 826, "int": 188, "true": 1}, 38, 1),
        (
            "Test/Test for DDI Extraction task",
            {"false": 4737, "effect": 360, "mechanism": 302, "advise": 221, "int": 96},
            9,
            0,
        ),
    ],
)
def test_drug_interactions(shared_data, split, types, hulls, elsewhere):
    items, counts = read_items(RELATIONS["ddi"], shared_data / "en" / "ddi2013" / split, Labels(tuple(types)))
    assert Counter(item.label for item in items) == types
    wanted = {"discontinuous mentions (hull)": hulls, "mentions whose text is not at their offsets": elsewhere}
    assert +counts == +Counter(wanted)


def test_euadr_folds(shared_data):
    folder, labels = shared_data / "en" / "euadr_biobert_10fold", Labels(("positive", "negative"))
    tested = Counter()
    for fold in range(10):
        train, _ = read_items(RELATIONS["euadr"], folder / f"train_{fold}.json", labels)
        test, _ = read_items(RELATIONS["euadr"], folder / f"test_{fold}.json", labels)
        assert (len(train), len(test)) == {0: (318, 37), 1: (318, 37), 2: (319, 36)}.get(fold, (320, 35))
        assert not {item.text for item in train} & {item.text for item in test}
        tested.update(item.text for item in test)
    assert set(tested.values()) == {1} and len(tested) == 355


@pytest.mark.parametrize(
    "split, by_right_answers, twice",
    [("train", (595, 528, 718, 296, 34), 1), ("dev", (164, 45, 71, 30, 2), 0), ("test", (321, 97, 141, 56, 7), 0)],
)
def test_frenchmedmcqa(shared_data, split, by_right_answers, twice):
    items, counts = read_items(CANDIDATES["frenchmedmcqa"], shared_data / "fr_qa" / "frenchmedmcqa" / f"{split}.json")
    assert Counter(len(item.right) for item in items) == dict(enumerate(by_right_answers, 1))
    assert len(items) == len({item.id for item in items}) == {"train": 2171, "dev": 312, "test": 622}[split]
    assert {len(item.candidates) for item in items} == {5}
    assert counts["items that stand in the files twice"] == twice


@pytest.mark.parametrize(
    "split, pairs, terms, right, paraphrases",
    [("train", 3981, 2614, 3978, 3887), ("val", 1063, 659, 1063, 1057), ("test", 1253, 823, 1253, 1242)],
)
def test_refomed(shared_data, split, pairs, terms, right, paraphrases):
    items, counts = read_items(CANDIDATES["refomed"], shared_data / "fr_pairs" / "refomed" / f"refomed_{split}.csv")
    assert (len(items), {len(item.candidates) for item in items}) == (terms, {paraphrases})
    assert len(items) + counts["pairs of a term that has others"] == pairs
    assert sum(len(item.right) for item in items) == right
