"""Flat sequences: what the policies keep, and that nothing disappears without being counted."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.scheme import IOB2, Entities

from downstream.documents import Entity
from downstream.spans import Policy, Span, flatten, on_words, spans_of, tags_of, to_characters, words_of

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
