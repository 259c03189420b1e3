"""Words are those of str.split, in short and in long texts."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.documents import words
from preprocess.documents.words import SHORT, count_words, longer_words, single_spaced

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
TEXTS = st.lists(
    st.sampled_from([*SPACES, "a", "é", "œ", "\U0001f489", "\U00010021", "\u200b", "mot", "x" * 30]), max_size=40
)


@pytest.mark.parametrize("short", [0, SHORT])
@given(text=TEXTS.map("".join).filter(bool) | st.text(min_size=1))
def test_words_are_those_of_split(short, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "SHORT", short)
        assert count_words(text) == len(text.split())
        assert single_spaced(text) == " ".join(text.split())
        for length in (0, 1, 30):
            assert longer_words(text, length) == [word for word in text.split() if len(word) > length]


def test_a_long_text_has_the_words_of_split():
    text = "Le patient\u00a0tousse \U0001f489\n" * SHORT
    assert count_words(text) == len(text.split()) == 4 * SHORT and count_words("") == 0
    assert single_spaced(text) == " ".join(text.split()) and single_spaced("") == ""
    assert longer_words(text, 6) == ["patient"] * SHORT and longer_words("", 0) == []


@pytest.mark.parametrize("joined", ["\n", " ", "\n ", "  ", *(space for space in SPACES if space not in "\n ")])
def test_of_long_texts_only_line_ends_are_replaced(joined):
    """hypothesis seldom draws single spaces alone."""
    text = joined.join(["mot"] * SHORT)
    for ends in ("{}", " {}", "{}\n"):
        assert single_spaced(ends.format(text)) == " ".join(["mot"] * SHORT)
