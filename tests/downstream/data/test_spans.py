"""Flat sequences: what the policies keep, and that nothing disappears without being counted."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.scheme import IOB2, Entities

from downstream.data.annotated_text import Entity
from downstream.data.spans import (
    Policy,
    Span,
    concatenated,
    flatten,
    layers_of,
    merged,
    on_words,
    spans_of,
    tags_of,
    to_characters,
    words_of,
)

DEFAULT = Policy("outermost", "split", "expand")


def entity(label, *fragments):
    return Entity(label, fragments)


def test_words_split_at_white_space_and_around_punctuation():
    text = "Créatinine: 7,4 mg/L (l’an\u00a0dernier)"
    assert [text[start:end] for start, end in words_of(text)] == (
        "Créatinine : 7 , 4 mg / L ( l ’ an dernier )".split()
    )


@pytest.mark.parametrize("nested, kept", [("outermost", (0, 9)), ("innermost", (5, 9))])
def test_nested_entities(nested, kept):
    counts = Counter()
    entities = [entity("a", (5, 9)), entity("b", (0, 9))]
    assert [span[:2] for span in flatten(entities, Policy(nested, "split", "expand"), counts)] == [kept]
    assert +counts == Counter({"nested entities dropped": 1})


@pytest.mark.parametrize("discontinuous, kept", [("split", [(0, 2), (6, 9)]), ("hull", [(0, 9)]), ("drop", [])])
def test_discontinuous_entities(discontinuous, kept):
    counts = Counter()
    spans = flatten([entity("a", (0, 2), (6, 9))], Policy("outermost", discontinuous, "expand"), counts)
    assert [span[:2] for span in spans] == kept
    assert +counts == Counter({f"discontinuous entities ({discontinuous})": 1})


def test_same_span_crossing_and_duplicate_are_told_apart():
    counts = Counter()
    entities = [entity("a", (0, 5)), entity("a", (0, 5)), entity("b", (0, 5)), entity("c", (4, 8))]
    assert flatten(entities, DEFAULT, counts) == [Span(0, 5, "a")]
    names = ("duplicates dropped", "second types of one span dropped", "crossing entities dropped")
    assert +counts == Counter(dict.fromkeys(names, 1))


@pytest.mark.parametrize("partial, kept", [("expand", [(0, 1)]), ("drop", [])])
def test_a_border_inside_a_word(partial, kept):
    counts = Counter()
    spans = on_words([Span(2, 4, "value")], [(0, 4)], Policy("outermost", "split", partial), counts)
    assert [span[:2] for span in spans] == kept
    assert counts[f"entities on partial words ({partial})"] == 1


def test_two_entities_on_one_word_and_one_on_no_word():
    counts = Counter()
    placed = on_words([Span(0, 2, "a"), Span(2, 4, "b"), Span(4, 5, "c")], [(0, 4), (5, 7)], DEFAULT, counts)
    assert placed == [Span(0, 1, "a")]
    assert counts["entities on a word already taken dropped"] == 1
    assert counts["entities without a word dropped"] == 1


FRAGMENTS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=2).map(
    lambda pairs: tuple(sorted((start, start + size) for start, size in pairs))
)
ENTITIES = st.lists(st.builds(Entity, st.sampled_from("ab"), FRAGMENTS), max_size=8)
POLICIES = st.builds(
    Policy,
    st.sampled_from(["outermost", "innermost"]),
    st.sampled_from(["split", "hull", "drop"]),
    st.sampled_from(["expand", "drop"]),
)


@given(ENTITIES, POLICIES)
def test_flat_spans_never_overlap_and_nothing_is_lost_uncounted(entities, policy):
    counts = Counter()
    spans = flatten(entities, policy, counts)
    assert all(left.end <= right.start for left, right in zip(spans, spans[1:], strict=False))
    discontinuous = sum(len(one.fragments) > 1 for one in entities)
    pieces = {"split": 2, "hull": 1, "drop": 0}[policy.discontinuous]
    made = len(entities) - discontinuous + pieces * discontinuous
    assert len(spans) + sum(count for name, count in counts.items() if name.endswith("dropped")) == made


@given(st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"]), max_size=12))
def test_spans_of_a_sequence_are_those_of_seqeval_strict(tags):
    theirs = [(one.start, one.end, one.tag) for one in Entities([tags], IOB2).entities[0]]
    assert spans_of(tags) == theirs
    assert spans_of(tags_of(spans_of(tags), len(tags))) == spans_of(tags)


def test_back_to_characters():
    text = "douleur du foie"
    words = words_of(text)
    [span] = to_characters([Span(0, 3, "symptom")], words)
    assert text[span.start : span.end] == text


START_SIZE_LABEL = st.tuples(st.integers(0, 9), st.integers(1, 5), st.sampled_from("abc"))
WORD_SPANS = st.lists(
    START_SIZE_LABEL.map(lambda drawn: Span(drawn[0], drawn[0] + drawn[1], drawn[2])), max_size=7, unique=True
)


def of_one_type_meet(spans):
    """Whether two of one type touch, cross or lie in each other."""
    pairs = [(one, other) for one in spans for other in spans if one < other and one.label == other.label]
    return any(one.start <= other.end and other.start <= one.end for one, other in pairs)


@given(WORD_SPANS)
def test_the_way_back_from_concatenated_labels_is_exact_where_none_of_one_type_meet(spans):
    stretches = concatenated(spans)
    assert all(left.end <= right.start for left, right in zip(stretches, stretches[1:], strict=False))
    for word in range(14):
        labels = {span.label for span in spans if span.start <= word < span.end}
        assert labels == {
            one for found in stretches if found.start <= word < found.end for one in found.label.split("+")
        }
    assert spans_of(tags_of(stretches, 14)) == stretches
    if not of_one_type_meet(spans):
        assert merged(stretches) == sorted(spans)


@given(WORD_SPANS)
def test_what_concatenated_labels_change_is_counted(spans):
    words, counts = [(number, number + 1) for number in range(14)], Counter()
    entities = [entity(label, (start, end)) for start, end, label in spans]
    [stretches] = layers_of(entities, words, Policy("concatenated", "split", "expand"), "abc", counts)
    changed = len(set(spans) - set(merged(stretches)))
    assert stretches == concatenated(spans) and counts["entities that concatenated labels change"] == changed
    if changed:
        assert of_one_type_meet(spans)


@pytest.mark.parametrize(
    "spans, back",
    [
        ([(0, 1, "a"), (1, 2, "a")], None),  # the stretches have the same label, and so a border between them
        ([(0, 3, "a"), (1, 2, "a")], [(0, 1, "a"), (1, 2, "a"), (2, 3, "a")]),
        ([(0, 2, "a"), (2, 4, "a"), (1, 3, "b")], [(0, 2, "a"), (1, 2, "b"), (2, 3, "b"), (2, 4, "a")]),
        ([(0, 2, "a"), (2, 4, "b")], None),
        ([(0, 4, "a"), (0, 2, "b"), (2, 4, "c")], None),
        ([(0, 3, "a"), (2, 4, "b")], None),
        ([(0, 1, "a"), (0, 1, "b"), (2, 3, "a")], None),  # with a word between
    ],
)
def test_neighbouring_stretches_that_share_a_type_hold_one_entity_of_it(spans, back):
    spans = [Span(*span) for span in spans]
    assert merged(concatenated(spans)) == sorted(back or spans)


def test_concatenated_labels_count_duplicates_and_partial_words():
    counts, words = Counter(), [(0, 4), (5, 9)]
    entities = [entity("b", (0, 9)), entity("b", (0, 9)), entity("a", (6, 9)), entity("a", (4, 5))]
    [layer] = layers_of(entities, words, Policy("concatenated", "split", "expand"), "ab", counts)
    assert layer == [Span(0, 1, "b"), Span(1, 2, "a+b")]
    assert +counts == Counter(
        {"duplicates dropped": 1, "entities on partial words (expand)": 1, "entities without a word dropped": 1}
    )


@given(ENTITIES, st.sampled_from(["split", "hull", "drop"]), st.sampled_from(["expand", "drop"]))
def test_a_layer_a_type_is_what_outermost_keeps_of_that_type_alone(entities, discontinuous, partial):
    words = [(start, start + 3) for start in range(0, 40, 4)]
    counts, alone = Counter(), Counter()
    layers = layers_of(entities, words, Policy("per_type", discontinuous, partial), "ab", counts)
    outermost = Policy("outermost", discontinuous, partial)
    for kind, layer in zip("ab", layers, strict=True):
        own = [one for one in entities if one.label == kind]
        assert layers_of(own, words, outermost, "ab", alone) == [layer]
        assert {span.label for span in layer} <= {kind}
    assert counts == alone
