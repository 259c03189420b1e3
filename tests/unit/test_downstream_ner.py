"""Entities to token labels and back: the gold comes back whole through any tokenizer, at its raw offsets."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import write_roberta
from tokenizers import Tokenizer, models
from tokenizers.pre_tokenizers import Metaspace
from transformers import PreTrainedTokenizerFast

from downstream.documents import Document, Entity
from downstream.models import frame_of, load_config, load_tokenizer
from downstream.spans import Policy
from downstream.tasks.ner import IGNORED, Layout, gold_spans, label_names, predicted_spans, prepare, stitch

NAMES = label_names(["anatomy", "symptom"])
POLICY = Policy("outermost", "split", "expand")


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


def split_of(tokenizer, *documents, size=24, whole_lines=True, training=False):
    return prepare(list(documents), tokenizer, Layout(NAMES, POLICY, size, whole_lines), training)


def gold_as_predicted(split):
    return stitch(split, [[max(label, 0) for label in one.labels] for one in split.sequences], NAMES)


def test_every_sub_token_is_labelled_b_first_then_i(tokenizer):
    document = Document("a", "le foie, hépatite", [Entity("anatomy", ((3, 7),)), Entity("symptom", ((9, 17),))])
    split = split_of(tokenizer, document)
    [sequence] = split.sequences
    tokens = tokenizer.convert_ids_to_tokens(sequence.ids)
    assert list(zip(tokens, (NAMES[label] for label in sequence.labels), strict=True)) == [
        ("▁le", "O"), ("▁foie", "B-anatomy"), ("▁", "O"), (",", "O"), ("▁hépat", "B-symptom"), ("ite", "I-symptom"),
    ]  # fmt: skip


TEXTS = st.text(st.sampled_from("le foie hépatite, l'(7,4)\n.é\u00a0"), max_size=80)


@settings(deadline=None)
@given(TEXTS, st.data(), st.booleans(), st.booleans())
def test_gold_survives_tokens_windows_and_back(tokenizer, text, data, whole_lines, training):
    pairs = st.tuples(st.integers(0, max(len(text) - 1, 0)), st.integers(1, 9))
    drawn = data.draw(st.lists(pairs, max_size=4)) if text else []
    entities = [Entity("anatomy", ((start, min(start + size, len(text))),)) for start, size in drawn]
    split = split_of(tokenizer, Document("a", text, entities), size=12, whole_lines=whole_lines, training=training)
    assert gold_as_predicted(split) == [split.examples[0].tags]
    assert all(len(one.ids) == len(one.labels) <= 12 for one in split.sequences)
    scored = sum(label != IGNORED for one in split.sequences for label in one.labels)
    assert scored == split.counts["tokens"]


def test_predicted_entities_have_raw_offsets(tokenizer):
    text = "  Le\u00a0 FOIE  droit :\n toux…"
    document = Document("a", text, [Entity("anatomy", ((6, 17),)), Entity("symptom", ((21, 25),))])
    split = split_of(tokenizer, document)
    [tags] = gold_as_predicted(split)
    found = predicted_spans(split.examples[0], tags)
    assert [text[one.start : one.end] for one in found] == ["FOIE  droit", "toux"]
    assert found == gold_spans(split.examples[0])


def test_a_token_over_several_words_lends_them_its_tag(coarse):
    text = "l'hépatite, toux"
    document = Document("a", text, [Entity("symptom", ((0, 10),)), Entity("symptom", ((12, 16),))])
    split = split_of(coarse, document)
    assert split.examples[0].tags == ["B-symptom", "I-symptom", "I-symptom", "O", "B-symptom"]
    [tags] = gold_as_predicted(split)
    assert tags == [
        "B-symptom",
        "I-symptom",
        "I-symptom",
        "I-symptom",
        "B-symptom",
    ]  # "ite," cannot end before the comma
    assert split.counts["tokens across an entity border"] == 1


def test_an_entity_across_a_cut_is_counted_and_still_found(tokenizer):
    text = "le foie\ndu patient"
    document = Document("a", text, [Entity("anatomy", ((3, 18),))])
    split = split_of(tokenizer, document)
    assert len(split.sequences) == 2 and split.counts["entities across a sequence border"] == 1
    assert predicted_spans(split.examples[0], gold_as_predicted(split)[0]) == [(3, 18, "anatomy")]
    training = split_of(tokenizer, document, training=True)
    assert len(training.sequences) == 1 and training.counts["entities across a sequence border"] == 0


def test_empty_blank_and_very_long_documents(tokenizer):
    words = ["foie", "patient"] * 5000
    long = Document("c", " ".join(words), [Entity("anatomy", ((0, 4),))])
    split = split_of(tokenizer, Document("a", "", []), Document("b", " \n ", []), long, size=30)
    assert split.counts["empty documents"] == 2
    assert [len(example.tags) for example in split.examples] == [0, 0, 10000]
    assert [len(tags) for tags in gold_as_predicted(split)] == [0, 0, 10000]
    assert max(len(one.ids) for one in split.sequences) <= 30


def test_a_blank_text_that_a_tokenizer_makes_tokens_of_has_no_words(coarse):
    assert coarse(" \n ", add_special_tokens=False)["input_ids"]
    split = split_of(coarse, Document("a", " \n ", []))
    assert split.sequences == [] and split.counts["empty documents"] == 1


def test_discontinuous_gold_can_never_be_found(tokenizer):
    document = Document("a", "foie et rate", [Entity("anatomy", ((0, 4), (8, 12)))])
    assert gold_spans(split_of(tokenizer, document).examples[0]) == [None]


def test_frame_of_the_models_own_limits(tmp_path):
    folder = write_roberta(tmp_path)
    frame = frame_of(load_tokenizer(folder), load_config(folder))
    assert frame == ([0], [2], 1, 32)  # 34 positions, of which RoBERTa uses those from the padding id + 1


def test_counts_are_of_this_split(tokenizer):
    split = split_of(tokenizer, Document("a", "le foie", [Entity("anatomy", ((3, 7),))]))
    wanted = {"documents": 1, "sequences": 1, "words": 2, "tokens": 2, "entities read": 1, "entities kept": 1}
    assert +split.counts == Counter(wanted)
