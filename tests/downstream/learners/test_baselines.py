"""Baselines that draw nothing: what they learn, what they cannot see, and the same by the libraries they stand on."""

from collections import Counter
from itertools import product

import numpy as np
import pycrfsuite
import pytest
import torch
from baseline_helpers import items_of, learned, on, task_of
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from task_helpers import ner_task
from tiny_models import write_roberta
from transformers import AutoModel, AutoTokenizer

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.examples import Candidates, LabelledText, ReadingQuestion, Relation, ScoredPair
from downstream.data.spans import Span
from downstream.data.word_features import features, sentences, shape
from downstream.learners.baselines.cosine import EncoderCosine, TfidfCosine
from downstream.learners.baselines.crf import ClusteredCrf, Crf, EmbeddingClusters, clusters_of
from downstream.learners.baselines.dictionary import Dictionary
from downstream.learners.baselines.majority import Majority
from downstream.learners.baselines.tfidf import WORD, Tfidf, overlaps
from downstream.learners.baselines.tfidf_svm import TfidfSvm
from downstream.tasks.extractive_qa import Answer
from downstream.training.loop import Machine

CPU = Machine(torch.device("cpu"), bf16=False)
LEARNERS = [
    (TfidfSvm, "classification", {}, 0.9),
    (TfidfSvm, "classification", {"multi_label": True}, 0.9),
    (TfidfSvm, "relations", {}, 0.9),
    (TfidfSvm, "similarity", {}, 0.9),
    (TfidfSvm, "choice", {}, 0.9),
    (TfidfSvm, "ranking", {}, 0.9),
    (TfidfCosine, "similarity", {}, 0.9),
    (TfidfCosine, "ranking", {}, 0.9),
    (Dictionary, "ner", {}, 0.9),
    (Crf, "ner", {}, 0.9),
]


def text(words: str, *labels: str) -> LabelledText:
    return LabelledText(words, words, labels)


def example(task, words: str, *entities: tuple[str, str]):
    """A document whose entities are the first of these words after the last one."""
    found, place = [], 0
    for label, form in entities:
        start = words.index(form, place)
        place = start + len(form)
        found.append(Entity(label, ((start, place),)))
    return task.example(AnnotatedText(words, words, found), Counter())


@pytest.mark.parametrize("kind, family, keys, least", LEARNERS)
def test_a_plain_signal_is_learned_and_majority_is_beaten(kind, family, keys, least):
    task = task_of(family, **keys)
    train, dev, test = (items_of(task, number, seed) for seed, number in enumerate((60, 30, 40)))
    assert on(learned(kind(task), train, dev), test) > least > on(learned(Majority(task), train, dev), test) + 0.1


@pytest.mark.parametrize("kind, family, keys, least", LEARNERS)
def test_what_training_has_not_said_has_no_effect(kind, family, keys, least):
    """Neither the answers of test nor its words: another learner that never saw it says the same."""
    task = task_of(family, **keys)
    train, dev, test = (items_of(task, number, seed) for seed, number in enumerate((30, 10, 10)))
    alone, informed = kind(task), kind(task)
    informed.encode(test, False)
    learned(alone, train, dev)
    learned(informed, train, dev)
    assert alone.num_parameters == informed.num_parameters
    assert alone.answer(alone.encode(dev, False)) == informed.answer(informed.encode(dev, False))


# ------------------------------------------------------------------------------------------------------------ majority


def answers(task, train: list, items: list) -> list:
    learner = learned(Majority(task), train, train)
    return learner.answer(learner.encode(items, False))


def test_majority_is_the_most_frequent_label_or_set():
    train = [text("1", "peau"), text("2", "coeur"), text("3", "coeur")]
    assert answers(task_of("classification", labels=["peau", "coeur"]), train, train[:1]) == [("coeur",)]
    sets = [text("1", "a", "b"), text("2", "b", "a"), text("3", "a"), text("4"), text("5", "a")]
    several = task_of("classification", labels=["a", "b"], multi_label=True)
    assert answers(several, sets[:4], sets[:1]) == [("a", "b")]
    assert answers(several, sets, sets[:1]) == [("a", "b")]  # as often as ("a",), and met first
    relations = [Relation(str(number), "t", label) for number, label in enumerate(["none", "cures", "none"])]
    assert (
        answers(task_of("relations", labels=["cures", "none"], negative="none"), relations, relations[:2])
        == ["none"] * 2
    )


def test_majority_of_numbers_candidates_and_entities():
    pairs = [ScoredPair("1", "a", "b", 1.0), ScoredPair("2", "a", "b", 4.0)]
    assert answers(task_of("similarity"), pairs, pairs[:1]) == [2.5]
    questions = [
        Candidates(str(number), "q", ("a", "b", "c"), right) for number, right in enumerate([(0,), (2, 1), (1, 2)])
    ]
    assert answers(task_of("choice"), questions, questions[:1]) == [[-1.0, 1.0, 1.0]]
    assert answers(task_of("ranking"), questions, questions[:1]) == [[0.0, -1.0, -2.0]]
    for nested, layers in (("outermost", [[]]), ("per_type", [[], []])):
        task = ner_task("CHEM", "DISO", nested=nested)
        items = [example(task, "de l'aspirine", ("CHEM", "aspirine"))]
        assert answers(task, items, items) == [layers]


def test_majority_of_answers_in_texts():
    def asked(*forms: str) -> ReadingQuestion:
        places = ((0, 0, 4),) if forms else ()
        return ReadingQuestion("q", "q ?", ("foie",), tuple((form,) for form in forms), places)

    task = task_of("extractive_qa")
    assert answers(task, [asked("foie"), asked("rein"), asked("foie")], [asked()]) == [Answer(("foie",), (1.0,), 0.0)]
    assert answers(task, [asked("foie"), asked(), asked()], [asked()]) == [Answer((), (), 1.0)]


# ---------------------------------------------------------------------------------------------------------- dictionary


def found_by_dictionary(task, train: list, words: str) -> list:
    learner = learned(Dictionary(task), train, train)
    return learner.answer(learner.encode([example(task, words)], False))[0]


def test_dictionary_takes_the_longest_form_whatever_its_case():
    task = ner_task("CHEM", "DISO")
    train = [example(task, "Cancer du sein, cancer", ("DISO", "Cancer du sein"), ("DISO", "cancer"))]
    assert found_by_dictionary(task, train, "CANCER DU SEIN cancer du foie cancers") == [
        [Span(0, 3, "DISO"), Span(3, 4, "DISO")]
    ]


def test_dictionary_has_the_most_frequent_type():
    task = ner_task("CHEM", "DISO")
    fer = [example(task, "fer", (label, "fer")) for label in ("DISO", "CHEM", "CHEM")]
    assert found_by_dictionary(task, fer, "le fer") == [[Span(1, 2, "CHEM")]]


def test_dictionary_leaves_out_what_is_more_often_no_entity():
    task = ner_task("CHEM", "DISO")
    train = [example(task, "fer or or", ("CHEM", "or")), example(task, "fer or fer", ("CHEM", "fer"))]
    assert found_by_dictionary(task, train, "fer or") == [[]]  # 1 of 3 each
    train.append(example(task, "fer", ("CHEM", "fer")))
    assert found_by_dictionary(task, train, "fer or") == [[Span(0, 1, "CHEM")]]  # 2 of 4, and 1 of 3


def test_words_inside_a_longer_form_say_nothing_against_a_shorter_one():
    task = ner_task("CHEM", "DISO")
    train = [example(task, "acide folique . folique", ("CHEM", "acide folique"), ("DISO", "folique"))]
    train += [example(task, "acide folique", ("CHEM", "acide folique"))] * 3
    assert found_by_dictionary(task, train, "un folique") == [[Span(1, 2, "DISO")]]


def test_dictionary_has_one_a_layer():
    task = ner_task("CHEM", "DISO", nested="per_type")
    train = [example(task, "intoxication au plomb", ("DISO", "intoxication au plomb"))]
    train += [task.example(AnnotatedText("1", "le plomb", [Entity("CHEM", ((3, 8),))]), Counter())]
    assert found_by_dictionary(task, train, "intoxication au plomb") == [[Span(2, 3, "CHEM")], [Span(0, 3, "DISO")]]
    learner = learned(Dictionary(task), train, train)
    assert learner.num_parameters == 2


# ----------------------------------------------------------------------------------------------------------------- crf


def test_features_of_a_word_and_its_neighbours():
    found = features(["L'", "IRM", "du", "12/03"])[1]
    assert found[:4] == ["bias", "word=IRM", "lower=irm", "shape=X"]
    assert {"1 first=i", "4 first=irm", "2 last=rm", "-2 outside", "-1 shape=X'", "+2 shape=0/0", "+1 word=du"} < set(
        found
    )
    assert len(found) == 4 + 8 + 1 + 9  # of four neighbours one is missing
    assert [shape(word) for word in ("Covid19", "émie", "B12", "…")] == ["Xx0", "x", "X0", "…"]


def test_clusters_join_words_of_like_neighbours_and_know_no_others():
    """Two kinds of words that never stand in one place."""
    lines = []
    for organ, drug in product(("foie", "rein", "coeur"), ("aspirine", "codéine", "morphine")):
        lines += [f"douleur au {organ} gauche", f"traitement par {drug} le matin"] * 400
    found = clusters_of(lines, numbers=(2, 4))
    assert len({tuple(found[word][:1]) for word in ("foie", "rein", "coeur")}) == 1
    assert "inconnu" not in found and all(len(names) == 2 for names in found.values())
    learner = ClusteredCrf(ner_task("a"))
    learner.look_up = lambda word: ["2 cluster=1"] if word == "foie" else []
    rows = learner.features(["Foie", "gauche"])
    assert rows[0][-1] == "2 cluster=1" and rows[1][-1] == "-1 2 cluster=1" and "bias" in rows[1]
    assert len(rows[1]) == len(features(["Foie", "gauche"])[1]) + 1


def test_the_clustered_crf_learns_from_a_file_and_names_it(tmp_path):
    (tmp_path / "text.txt").write_text("le foie\nle rein\n" * 20)
    train, test = [example(ner_task("a"), "le foie", ("a", "foie"))] * 3, [example(ner_task("a"), "le foie")]
    learner = ClusteredCrf(ner_task("a"), tmp_path / "text.txt")
    assert learner.conditions["vectors"]["text"]["name"] == "text.txt"
    learner.fit(learner.encode(train, True), learner.encode(train, False), 1)
    assert learner.answer(learner.encode(test, False)) == [[[Span(1, 2, "a")]]]
    (tmp_path / "text.txt").write_text("un deux trois")
    other = ClusteredCrf(ner_task("a"), tmp_path / "text.txt")
    with pytest.raises(InputError, match="repeats no word"):
        other.fit(other.encode(train, True), other.encode(train, False), 1)


def test_clusters_of_an_encoder_join_words_whose_subwords_have_like_embeddings(tmp_path):
    folder = write_roberta(tmp_path / "model", width=32)
    model = AutoModel.from_pretrained(folder)
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    table = model.get_input_embeddings().weight.data
    table[vocabulary["▁foie"]] = table[vocabulary["▁rein"]] = 9 * torch.eye(32)[0]
    model.save_pretrained(folder)
    found = EmbeddingClusters(folder, numbers=(8,))
    assert found("foie") == found("rein") != found("patient") and found("foie")[0].startswith("8 cluster=")
    learner = ClusteredCrf(ner_task("a"), None, folder)
    assert learner.conditions["vectors"].keys() == {"model", "sha256"}
    train, test = [example(ner_task("a"), "le foie", ("a", "foie"))] * 3, [example(ner_task("a"), "le foie")]
    learner.fit(learner.encode(train, True), learner.encode(train, False), 1)
    assert learner.answer(learner.encode(test, False)) == [[[Span(1, 2, "a")]]]
    with pytest.raises(InputError, match="--vectors-text and --vectors-model both give the vectors"):
        ClusteredCrf(ner_task("a"), tmp_path / "text.txt", folder)


def test_a_sentence_is_a_line_or_the_document():
    task = ner_task("CHEM")
    document = example(task, "un deux\n\ntrois . quatre\n")
    assert sentences(document.document.text, document.words, by_line=True) == [(0, 2), (2, 5)]
    assert sentences(document.document.text, document.words, by_line=False) == [(0, 5)]
    assert sentences(" \n", [], by_line=True) == []


@pytest.mark.parametrize("sequence", ["line", "window"])
@pytest.mark.parametrize("nested", ["outermost", "per_type"])
def test_crf_equals_the_library(sequence, nested, tmp_path):
    task = task_of("ner", nested=nested, sequence=sequence)
    train, test = items_of(task, 20, 1), [*items_of(task, 5, 2), example(task, "")]
    learner = learned(Crf(task), train, train)
    mine, weights = learner.answer(learner.encode(test, False)), 0
    for layer in range(task.num_layers):
        trainer = pycrfsuite.Trainer(
            "lbfgs", {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}, verbose=False
        )
        for item in train:
            for words, tags in by_hand(item, item.tags(layer), sequence):
                trainer.append(features(words), tags)
        trainer.train(str(tmp_path / "model"))
        weights += trainer.logparser.last_iteration["active_features"]
        tagger = pycrfsuite.Tagger()
        tagger.open(str(tmp_path / "model"))
        for item, spans in zip(test, mine, strict=True):
            tags = [tag for words, _ in by_hand(item, item.tags(), sequence) for tag in tagger.tag(features(words))]
            assert [(span.start, f"B-{span.label}") for span in spans[layer]] == [
                (place, tag) for place, tag in enumerate(tags) if tag[0] == "B"
            ]
    assert any(spans for layers in mine for spans in layers) and learner.num_parameters == weights


def test_crf_answers_nothing_for_a_type_that_training_has_not():
    task = task_of("ner", nested="per_type", types=["CHEM", "DISO", "ANAT"])
    train, test = items_of(task, 20, 1), items_of(task, 5, 2)
    learner = learned(Crf(task), train, train)
    two = learned(Crf(task_of("ner", nested="per_type")), train, train)
    assert learner.answer(learner.encode(test, False)) == [
        [*layers, []] for layers in two.answer(two.encode(test, False))
    ]
    assert learner.num_parameters == two.num_parameters


def by_hand(item, tags: list[str], sequence: str) -> list[tuple[list[str], list[str]]]:
    """Words and tags of each sentence, from the text itself."""
    text = item.document.text if sequence == "line" else item.document.text.replace("\n", " ")
    lines, rest = [line.split() for line in text.split("\n") if line.split()], list(tags)
    return [(words, [rest.pop(0) for _ in words]) for words in lines]


# ------------------------------------------------------------------------------------------------------- TF-IDF, cosine


def test_svm_equals_the_library():
    """At every setting, and with the best."""
    task = task_of("classification")
    train, dev, test = (items_of(task, number, seed) for seed, number in enumerate((40, 20, 20)))
    learner = learned(TfidfSvm(task), train, dev)
    views = [TfidfVectorizer(ngram_range=(1, 2), token_pattern=WORD, sublinear_tf=True)]
    views.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True))
    known = sparse.hstack([view.fit_transform([item.text for item in train]) for view in views])
    on_dev, on_test = (
        sparse.hstack([view.transform([item.text for item in items]) for view in views]) for items in (dev, test)
    )
    direct, accuracies = {}, {}
    for strength, balanced in product((0.01, 0.1, 1.0), (False, True)):
        name = f"C {strength:g}" + ", balanced" * balanced
        machine = LinearSVC(C=strength, class_weight="balanced" if balanced else None, random_state=1)
        direct[name] = OneVsRestClassifier(machine).fit(known, [item.labels[0] for item in train])
        accuracies[name] = direct[name].score(on_dev, [item.labels[0] for item in dev])
    assert learner.selected["tried"] == pytest.approx(accuracies) and len(set(accuracies.values())) > 2
    assert accuracies["C 0.01, balanced"] != accuracies["C 0.01"]
    chosen = direct[f"C {learner.selected['strength']:g}" + ", balanced" * learner.selected["balanced"]]
    columns = [list(chosen.classes_).index(name) for name in task.names]
    mine = learner.outputs([(item.text, None) for item in test])
    assert np.allclose(mine, chosen.decision_function(on_test)[:, columns], atol=1e-3)
    assert learner.num_parameters == sum(one.coef_.size + 1 for one in chosen.estimators_)


def test_svm_chooses_on_dev_and_says_so():
    task = task_of("classification", labels=["rare", "often"])
    train = [text(f"mot{number} foie", "often") for number in range(20)] + [text("rein foie", "rare")]
    dev = [text("rein foie", "rare"), text("rein foie", "rare"), text("mot1 foie", "often")]
    selected = learned(TfidfSvm(task), train, dev).selected
    assert len(selected["tried"]) == 6 and {"strength", "balanced", "border", "tried"} == set(selected)
    name = f"C {selected['strength']:g}" + ", balanced" * selected["balanced"]
    assert selected["tried"][name] == max(selected["tried"].values()) > min(selected["tried"].values())
    assert list(selected["tried"].values()).index(selected["tried"][name]) == list(selected["tried"]).index(
        name
    )  # the first of equals


def test_svm_chooses_the_border_of_several_labels_on_dev():
    """Both labels stand in training with the same word as often as without: no distance is above 0."""
    task = task_of("classification", labels=["a", "b"], multi_label=True)
    train = [text("foie", "a"), text("foie"), text("foie"), text("rein", "b"), text("rein"), text("rein")]
    dev = [text("foie", "a"), text("rein", "b")]
    learner = learned(TfidfSvm(task), train, dev)
    assert learner.selected["border"] < 0 and learner.selected["tried"]["C 0.01"] == 0
    assert learner.answer(learner.encode(dev, False)) == [("a",), ("b",)]


def test_a_threshold_of_probabilities_does_not_move_the_border():
    items = items_of(task_of("classification", multi_label=True), 30, 1)
    found = []
    for threshold in (0.5, 0.9):
        learner = learned(TfidfSvm(task_of("classification", multi_label=True, threshold=threshold)), items, items)
        found.append(learner.answer(learner.encode(items, False)))
    assert found[0] == found[1]


def test_a_label_that_training_never_has_is_never_given():
    task = task_of("classification", labels=["a", "b", "never", "always"], multi_label=True)
    train = [text("foie", "a", "always"), text("rein", "b", "always"), text("foie rein", "a", "b", "always")]
    learner = learned(TfidfSvm(task), train, train)
    assert learner.answer(learner.encode([text("foie"), text("")], False))[0] == ("a", "always")


def test_a_right_candidate_weighs_what_the_recipe_says():
    """Of twenty pairs that look alike one is right."""
    items = [Candidates("1", "foie", ("rein",) * 20, (3,))]
    for weight, sign in ((1.0, -1), (300.0, 1)):
        task = task_of("ranking", right_weight=weight)
        learner = learned(TfidfSvm(task), items, items)
        assert np.sign(learner.outputs([("foie", "rein")])[0, 0]) == sign


def test_texts_without_a_word_are_refused():
    with pytest.raises(InputError, match="no training text has a word"):
        Tfidf().fit([(" ", None), ("", "\n")])


def test_overlaps_of_two_texts():
    assert overlaps([("Le foie gras", "le foie"), ("a", ""), ("a b", None)]).tolist() == [
        pytest.approx([2 / 3, 2 / 3, 1.0, 2 / 3]),
        [0.0] * 4,
        [0.0] * 4,
    ]


def test_tfidf_cosines_by_hand():
    task = task_of("similarity")
    train = [ScoredPair("1", "foie", "rein", 1.0), ScoredPair("2", "foie gras", "rein", 2.0)]
    learner = learned(TfidfCosine(task), train, train)
    one, same, other, unknown = learner.outputs(
        [("foie gras", "foie gras"), ("FOIE", "foie"), ("foie", "rein"), ("zzz", "foie")]
    )[:, 0]
    assert one == pytest.approx(1.0) == same and other == unknown == 0.0
    views = [vectors.toarray() for vectors in learner.tfidf.vectors(["foie", "foie gras"])]
    assert learner.outputs([("foie", "foie gras")])[0, 0] == pytest.approx(np.mean([a @ b for a, b in views]))


def test_encoder_cosines_are_those_of_mean_states(tmp_path):
    folder = write_roberta(tmp_path / "model", width=16)
    task = task_of("similarity", max_tokens=12)
    learner = EncoderCosine(task, folder, CPU)
    short, long = "le patient", "le foie et le rein du patient traite de la douleur"  # of two windows
    pairs = [ScoredPair("1", short, long, 1.0), ScoredPair("2", short, short, 2.0)]
    learned(learner, pairs, pairs)
    mine = learner.answer(learner.encode(pairs, False))
    assert mine[1] == pytest.approx(1.0) and mine[0] < 0.999
    ids = [learner.tokenizer(one, add_special_tokens=False)["input_ids"] for one in (short, long)]
    assert 10 < len(ids[1]) <= 19
    windows = [[ids[0]], [ids[1][:10], ids[1][-10:]]]
    with torch.no_grad():
        states = [
            torch.cat([learner.model(torch.tensor([[0, *one, 2]])).last_hidden_state[0] for one in some]).mean(0)
            for some in windows
        ]
    assert mine[0] == pytest.approx(torch.cosine_similarity(*states, dim=0).item(), abs=1e-5)
    assert learner.conditions["model"]["folder"] == "model" and learner.conditions["protocol"]["name"] == "cosine"
    assert learner.num_parameters == sum(one.numel() for one in learner.model.parameters())
