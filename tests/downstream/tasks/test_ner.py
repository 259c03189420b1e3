"""Entities to token labels and back: the gold comes back whole through any tokenizer, at its raw offsets."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_helpers import encoded_by, ner_task, perfect
from tiny_models import write_roberta
from tokenizers import Tokenizer, models
from tokenizers.pre_tokenizers import Metaspace
from transformers import ElectraConfig, PreTrainedTokenizerFast

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.spans import Span, tags_of
from downstream.tasks import task_of
from downstream.tasks.base import Encoded, Piece
from downstream.tasks.ner import IGNORED, as_entities, gold_entities
from downstream.training.models import load_config
from downstream.training.tokenizer import Frame, frame_of, load_tokenizer

TYPES = ("anatomy", "symptom")
LIMITS = ElectraConfig(max_position_embeddings=32, num_hidden_layers=1)
NO_SPECIALS = Frame([], [], 0, 24, ([], [], []), False)
MODES = ("outermost", "innermost", "concatenated", "per_type")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return load_tokenizer(write_roberta(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def coarse():
    """A tokenizer whose pieces run over punctuation, as those of models that split at white space only."""
    pieces = [("<unk>", 0.0), ("▁l'hépat", -1.0), ("ite,", -1.0)] + [
        (c, -9.0) for c in "▁abcdefghijklmnopqrstuvwxyz',.éè"
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", model_max_length=64)


def only(encoded):
    """The tags of the one document."""
    [example] = encoded.items
    return example.tags()


def predicted(task, encoded):
    """The entities, in characters, that a perfect model finds in each document."""
    return [task.entities(*pair) for pair in zip(encoded.items, perfect(task, encoded), strict=True)]


def test_every_sub_token_is_labelled_b_first_then_i(tokenizer):
    document = AnnotatedText("a", "le foie, hépatite", [Entity("anatomy", ((3, 7),)), Entity("symptom", ((9, 17),))])
    task = ner_task(*TYPES)
    [piece] = encoded_by(task, tokenizer, document).pieces
    tokens = tokenizer.convert_ids_to_tokens(piece.ids)
    labels = [task.names[label] if label != IGNORED else None for [label] in piece.target]
    assert list(zip(tokens, labels, strict=True)) == [
        ("<s>", None), ("▁le", "O"), ("▁foie", "B-anatomy"), ("▁", "O"), (",", "O"), ("▁hépat", "B-symptom"),
        ("ite", "I-symptom"), ("</s>", None),
    ]  # fmt: skip


TEXTS = st.text(st.sampled_from("le foie hépatite, l'(7,4)\n.é\u00a0"), max_size=80)


@given(TEXTS, st.data(), st.sampled_from(["line", "window"]), st.booleans(), st.sampled_from(MODES))
def test_gold_survives_tokens_windows_and_back(tokenizer, text, data, sequence, training, nested):
    kinds = st.sampled_from(TYPES)
    pairs = st.tuples(st.integers(0, max(len(text) - 1, 0)), st.integers(1, 9), kinds)
    drawn = data.draw(st.lists(pairs, max_size=4)) if text else []
    entities = [Entity(kind, ((start, min(start + size, len(text))),)) for start, size, kind in drawn]
    task = ner_task(*TYPES, nested=nested, sequence=sequence, max_tokens=14)
    example = task.example(AnnotatedText("a", text, entities), Counter())
    if nested == "concatenated" and example.layers[0]:
        task.begin([example])
    encoded = task.encode([example], tokenizer, frame_of(tokenizer, LIMITS), training)
    assert perfect(task, encoded) == [example.layers]
    assert all(len(one.ids) == len(one.target) <= 14 for one in encoded.pieces)
    learned = [label for one in encoded.pieces for label in one.target if set(label) != {IGNORED}]
    assert len(learned) == encoded.counts["tokens"]


def test_predicted_entities_have_raw_offsets(tokenizer):
    text = "  Le\u00a0 FOIE  droit :\n toux…"
    document = AnnotatedText("a", text, [Entity("anatomy", ((6, 17),)), Entity("symptom", ((21, 25),))])
    task = ner_task(*TYPES)
    encoded = encoded_by(task, tokenizer, document)
    [found] = predicted(task, encoded)
    assert [text[one.start : one.end] for one in found] == ["FOIE  droit", "toux"]
    assert as_entities(found) == gold_entities(encoded.items[0])


def test_a_token_over_several_words_lends_them_its_tag(coarse):
    text = "l'hépatite, toux"
    document = AnnotatedText("a", text, [Entity("symptom", ((0, 10),)), Entity("symptom", ((12, 16),))])
    task = ner_task(*TYPES)
    encoded = encoded_by(task, coarse, document, frame=NO_SPECIALS)
    assert only(encoded) == ["B-symptom", "I-symptom", "I-symptom", "O", "B-symptom"]
    [[spans]] = perfect(task, encoded)
    assert tags_of(spans, 5) == [
        "B-symptom",
        "I-symptom",
        "I-symptom",
        "I-symptom",
        "B-symptom",
    ]  # "ite," cannot end before the comma
    assert encoded.counts["tokens across an entity border"] == 1


def test_an_entity_across_a_cut_is_counted_and_still_found(tokenizer):
    text = "le foie\ndu patient"
    document = AnnotatedText("a", text, [Entity("anatomy", ((3, 18),))])
    task = ner_task(*TYPES)
    encoded = encoded_by(task, tokenizer, document)
    assert len(encoded.pieces) == 2 and encoded.counts["entities across a sequence border"] == 1
    assert predicted(task, encoded) == [[(3, 18, "anatomy")]]
    training = encoded_by(task, tokenizer, document, training=True)
    assert len(training.pieces) == 1 and training.counts["entities across a sequence border"] == 0


def test_empty_blank_and_very_long_documents(tokenizer):
    words = ["foie", "patient"] * 5000
    long = AnnotatedText("c", " ".join(words), [Entity("anatomy", ((0, 4),))])
    task = ner_task(*TYPES)
    encoded = encoded_by(task, tokenizer, AnnotatedText("a", "", []), AnnotatedText("b", " \n ", []), long)
    assert encoded.counts["empty documents"] == 2
    assert [len(example.tags()) for example in encoded.items] == [0, 0, 10000]
    assert perfect(task, encoded) == [[[]], [[]], [[Span(0, 1, "anatomy")]]]
    assert max(len(one.ids) for one in encoded.pieces) <= 32 and encoded.counts["tokens"] == 10000


def test_a_blank_text_that_a_tokenizer_makes_tokens_of_has_no_words(coarse):
    assert coarse(" \n ", add_special_tokens=False)["input_ids"]
    encoded = encoded_by(ner_task(*TYPES), coarse, AnnotatedText("a", " \n ", []), frame=NO_SPECIALS)
    assert encoded.pieces == [] and encoded.counts["empty documents"] == 1


def test_discontinuous_gold_can_never_be_found(tokenizer):
    document = AnnotatedText("a", "foie et rate", [Entity("anatomy", ((0, 4), (8, 12)))])
    for policy, found in (("split", 2), ("hull", 1)):
        task = ner_task(*TYPES, discontinuous=policy)
        figures = task.score(items := encoded_by(task, tokenizer, document).items, [items[0].layers])
        assert figures["micro"]["f1"] == 1.0 and figures["micro"]["support"] == found
        assert figures["every_gold_span"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}


def test_an_entity_that_is_annotated_twice_is_one_of_all_that_was_annotated(tokenizer):
    """Once with the space behind it."""
    document = AnnotatedText("a", "foie rate", [Entity("anatomy", ((0, 4),)), Entity("anatomy", ((0, 5),))])
    task = ner_task(*TYPES)
    figures = task.score(items := encoded_by(task, tokenizer, document).items, [items[0].layers])
    assert figures["every_gold_span"] == figures["ceiling"]
    assert figures["ceiling"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}


def test_frame_of_the_models_own_limits(tmp_path):
    folder = write_roberta(tmp_path)
    frame = frame_of(load_tokenizer(folder), load_config(folder))
    assert frame[:4] == ([0], [2], 1, 32)  # 34 positions, of which RoBERTa uses those from the padding id + 1


def test_counts_are_of_this_split(tokenizer):
    task, document = ner_task(*TYPES), AnnotatedText("a", "le foie", [Entity("anatomy", ((3, 7),))])
    wanted = {"documents": 1, "sequences": 1, "words": 2, "tokens": 2, "entities read": 1, "entities kept": 1}
    assert +encoded_by(task, tokenizer, document).counts == Counter(wanted)
    whole = Counter()
    items = [task.example(one, whole) for one in (document, AnnotatedText("b", "le", []))]
    assert +task.encode(items[:1], tokenizer, frame_of(tokenizer, LIMITS), False).counts == Counter(wanted)


NESTED = AnnotatedText("a", "foie du patient et rein", [
    Entity("symptom", ((0, 15),)), Entity("anatomy", ((0, 4),)), Entity("anatomy", ((19, 23),)),
])  # fmt: skip


@pytest.mark.parametrize(
    "nested, layers, found",
    [
        ("outermost", [[(0, 3, "symptom"), (4, 5, "anatomy")]], [0, 2]),
        ("innermost", [[(0, 1, "anatomy"), (4, 5, "anatomy")]], [1, 2]),
        ("concatenated", [[(0, 1, "anatomy+symptom"), (1, 3, "symptom"), (4, 5, "anatomy")]], [1, 0, 2]),
        ("per_type", [[(0, 1, "anatomy"), (4, 5, "anatomy")], [(0, 3, "symptom")]], [1, 0, 2]),
    ],
)
def test_what_each_way_with_nested_entities_holds(tokenizer, nested, layers, found):
    task = ner_task(*TYPES, nested=nested)
    task.begin([task.example(NESTED, Counter())])
    encoded = encoded_by(task, tokenizer, NESTED)
    assert encoded.items[0].layers == layers and encoded.counts["entities kept"] == len(found)
    gold = gold_entities(encoded.items[0])
    assert [as_entities(one) for one in predicted(task, encoded)] == [[gold[number] for number in found]]
    figures = task.score(encoded.items, perfect(task, encoded))
    assert figures["micro"]["f1"] == 1.0 and figures["micro"]["support"] == sum(map(len, layers))
    assert figures["ceiling"]["recall"] == figures["every_gold_span"]["recall"] == len(found) / 3


def test_concatenated_labels_are_those_of_training_and_others_are_counted_and_not_learned(tokenizer):
    task = ner_task(*TYPES, nested="concatenated")
    train = AnnotatedText("t", "foie rein", [Entity("anatomy", ((0, 4),)), Entity("symptom", ((5, 9),))])
    task.begin([task.example(train, Counter())])
    assert task.names == ("O", "B-anatomy", "I-anatomy", "B-symptom", "I-symptom")
    encoded = encoded_by(task, tokenizer, NESTED)
    assert task.unseen(encoded.items) == (1, 3)
    [piece] = encoded.pieces
    assert [label if label == IGNORED else task.names[label] for [label] in piece.target] == [
        IGNORED, IGNORED, "B-symptom", "I-symptom", "O", "B-anatomy", IGNORED,
    ]  # fmt: skip
    figures = task.score(encoded.items, perfect(task, encoded))
    assert set(figures["types"]) == {"anatomy", "anatomy+symptom", "symptom"}
    assert figures["types"]["anatomy+symptom"]["recall"] == 0.0


def test_the_table_of_concatenated_labels_has_the_same_rows_whatever_is_predicted():
    task = ner_task(*TYPES, nested="concatenated")
    items = [task.example(NESTED, Counter())]
    rows = [set(task.score(items, [[spans]])["types"]) for spans in ([], [Span(3, 4, "anatomy+symptom+other")])]
    assert rows[0] == rows[1] == {"anatomy", "anatomy+symptom", "symptom"}


def test_one_head_a_type_of_a_single_type(tokenizer):
    task = ner_task("anatomy", nested="per_type")
    document = AnnotatedText("a", "foie du rein", [Entity("anatomy", ((0, 12),)), Entity("anatomy", ((8, 12),))])
    encoded = encoded_by(task, tokenizer, document)
    assert task.head().names == ("anatomy/O", "anatomy/B", "anatomy/I")
    assert predicted(task, encoded) == [[Span(0, 12, "anatomy")]]
    assert encoded.counts["nested entities dropped"] == 1


@pytest.mark.parametrize("nested", MODES)
def test_a_training_split_without_an_entity_that_is_left_is_refused(nested):
    task = ner_task(*TYPES, nested=nested, discontinuous="drop")
    documents = [
        AnnotatedText("a", "foie et rate", [Entity("anatomy", ((0, 4), (8, 12)))]),
        AnnotatedText("b", "foie", []),
    ]
    with pytest.raises(InputError, match="tiny: no entity to learn from is left"):
        task.begin([task.example(one, Counter()) for one in documents])


def test_a_task_comes_back_from_the_notes_of_its_model():
    task = ner_task(*TYPES, nested="concatenated", rename={"ANAT": "anatomy"})
    task.begin([task.example(NESTED, Counter())])
    notes = {"names": list(task.names), "conditions": {"recipe": task.recipe.as_dict()}}
    again = task_of(notes)
    assert (again.recipe, again.names) == (task.recipe, task.names) and "B-anatomy+symptom" in again.names


def test_what_a_line_of_predictions_and_of_the_description_hold():
    task = ner_task(*TYPES, discontinuous="hull")
    document = AnnotatedText(
        "d1", "foie et rate\ntoux", [Entity("anatomy", ((0, 4), (8, 12))), Entity("symptom", ((13, 17),))]
    )
    item = task.example(document, Counter())
    assert task.record(item, [[Span(3, 4, "symptom")]]) == {
        "id": "d1",
        "text": "foie et rate\ntoux",
        "gold": [
            {"start": 0, "end": 12, "label": "anatomy", "text": "foie et rate"},
            {"start": 13, "end": 17, "label": "symptom", "text": "toux"},
        ],
        "predicted": [{"start": 13, "end": 17, "label": "symptom", "text": "toux"}],
    }
    assert task.describe([item, item]) == {"anatomy": 2, "symptom": 2}
    assert (task.id_of(item), task.group(item), list(task.texts(item))) == ("d1", "d1", ["foie et rate", "toux"])


@pytest.mark.parametrize("nested", ["outermost", "per_type"])
def test_the_score_of_an_entity_is_the_mean_probability_of_its_words_tags(nested):
    """ "foie droit" has a word of two tokens, whose first one counts; "rein" is of another type."""
    task = ner_task("anatomy", "symptom", nested=nested)
    text = AnnotatedText("d", "foie droit rein", [Entity("anatomy", ((0, 10),)), Entity("symptom", ((11, 15),))])
    item = task.example(text, Counter())
    encoded = Encoded([item], [Piece([0] * 4, None, 0, (0, 4))], Counter(), [[(0, 1), (1, 2), (1, 2), (2, 3)]])
    probabilities = np.array([[0.5, 0.9, 0.1, 0.25]]).T
    if nested == "per_type":
        probabilities = np.hstack([probabilities, probabilities / 2])  # a column a type
    [spans] = task.scored(encoded, [item.layers], [probabilities])
    second = 0.125 if nested == "per_type" else 0.25
    assert [(*span, round(span.score, 6)) for span in spans] == [(0, 10, "anatomy", 0.7), (11, 15, "symptom", second)]
    start, end, label = spans[0]  # as before there were scores
