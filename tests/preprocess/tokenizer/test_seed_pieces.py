"""The pieces with which the training of a Unigram model begins."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from preprocess.tokenizer.seed_pieces import seed_pieces

WORDS = st.dictionaries(st.text("abé", min_size=1, max_size=8), st.integers(1, 3), max_size=8)


@given(WORDS, st.integers(2, 9))
def test_parts_that_different_characters_follow(words, longest):
    counts, followers = Counter(), {}
    for word, times in words.items():
        for start in range(len(word)):
            for end in range(start + 2, len(word) + 1):
                counts[word[start:end]] += times
                followers.setdefault(word[start:end], set()).add(word[end : end + 1])
    expected = {
        part: times
        for part, times in counts.items()
        if times > 1 and len(part) <= longest and (len(followers[part]) > 1 or followers[part] == {""})
    }
    found = list(seed_pieces(words, longest))
    assert dict(found) == expected and len(found) == len(expected)


def test_a_longest_part_that_goes_on_is_left_out_where_the_longer_one_is_too_long():
    assert dict(seed_pieces({"abcde": 2, "xabc": 2}, 4)) == {"abc": 4, "bc": 4, "xabc": 2, "bcde": 2, "cde": 2, "de": 2}
