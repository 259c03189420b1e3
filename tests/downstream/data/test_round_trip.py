"""brat to tags on words and back to brat: an entity comes back as it was, or is counted by what kept it from that."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.readers import brat
from downstream.data.spans import Policy, flatten, on_words, spans_of, tags_of, to_characters, words_of

TYPES = ("anatomy", "symptom")
ON_DISK = settings(max_examples=50)  # files are written
TEXT = "Le foie,\r\nla rate (12cm)\nétaient  douloureux."


def there_and_back(documents, nested):
    """Documents with the entities that one flat layer of tags holds of these, written as brat and read; and counts."""
    policy, counts, held = Policy(nested, "split", "expand"), Counter(), []
    for document in documents:
        words = words_of(document.text)
        spans = on_words(flatten(document.entities, policy, counts), words, policy, counts)
        back = to_characters(spans_of(tags_of(spans, len(words))), words)
        held.append(AnnotatedText(document.id, document.text, [Entity(one.label, (one[:2],)) for one in back]))
    with tempfile.TemporaryDirectory() as folder:
        brat.write(held, Path(folder, "brat"))
        return brat.read(Path(folder, "brat"), Labels(TYPES), Counter()), counts


@st.composite
def whole_words(draw):
    """Entities of one fragment that begin and end with a word."""
    words = words_of(TEXT)
    first = draw(st.integers(0, len(words) - 1))
    last = draw(st.integers(first, min(first + 4, len(words) - 1)))
    return Entity(draw(st.sampled_from(TYPES)), ((words[first][0], words[last][1]),))


@ON_DISK
@given(st.lists(whole_words(), max_size=8), st.sampled_from(["outermost", "innermost"]))
def test_whole_words_come_back_as_they_were_or_are_counted(entities, nested):
    [back], counts = there_and_back([AnnotatedText("a", TEXT, entities)], nested)
    assert back.text == TEXT
    assert set(back.entities) <= set(entities)
    assert len(back.entities) + counts.total() == len(entities)


@st.composite
def any_entities(draw):
    """Entities of one or two fragments that begin and end anywhere but in white space."""
    solid = [position for position, character in enumerate(TEXT) if not character.isspace()]
    borders = st.lists(st.sampled_from(solid), min_size=2, max_size=4, unique=True).map(sorted)
    ends = draw(borders.filter(lambda some: len(some) != 3))
    fragments = [(first, last + 1) for first, last in zip(ends[::2], ends[1::2], strict=True)]
    return Entity(draw(st.sampled_from(TYPES)), tuple(fragments))


@ON_DISK
@given(st.lists(any_entities(), max_size=6), st.sampled_from(["outermost", "innermost"]))
def test_an_entity_that_does_not_come_back_has_a_cause(entities, nested):
    [back], counts = there_and_back([AnnotatedText("a", TEXT, entities)], nested)
    lost = Counter(entities) - Counter(back.entities)
    assert bool(lost) == bool(+counts)


def test_entities_without_conflict_all_come_back():
    words = words_of(TEXT)
    entities = [Entity(TYPES[number % 2], (word,)) for number, word in enumerate(words)]
    [back], counts = there_and_back([AnnotatedText("a", TEXT, entities)], "outermost")
    assert back.entities == entities and not +counts


@pytest.mark.parametrize("nested, kept", [("outermost", "symptom"), ("innermost", "anatomy")])
def test_of_nested_entities_one_comes_back(nested, kept):
    entities = [Entity("symptom", ((0, 7),)), Entity("anatomy", ((3, 7),))]
    [back], counts = there_and_back([AnnotatedText("a", TEXT, entities)], nested)
    assert [one.label for one in back.entities] == [kept]
    assert +counts == {"nested entities dropped": 1}
