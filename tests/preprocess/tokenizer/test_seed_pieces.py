"""The pieces with which the training of a Unigram model begins."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from preprocess.tokenizer import trainers
from preprocess.tokenizer.seed_pieces import seed_pieces
from preprocess.tokenizer.trainers import Words

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
    found = list(seed_pieces(words, longest, 10**6))
    assert dict(found) == expected and len(found) == len(expected)


def test_a_longest_part_that_goes_on_is_left_out_where_the_longer_one_is_too_long():
    assert dict(seed_pieces({"abcde": 2, "xabc": 2}, 4, 10)) == {
        "abc": 4,
        "bc": 4,
        "xabc": 2,
        "bcde": 2,
        "cde": 2,
        "de": 2,
    }


@given(WORDS, st.integers(1, 12))
def test_of_many_parts_those_are_left_that_spell_most(words, most):
    every = list(seed_pieces(words, 9, 10**6))
    some = list(seed_pieces(words, 9, most))
    assert some == [part for part in every if part in some] and len(some) <= most
    spelled = sorted((len(part) * count for part, count in every), reverse=True)
    least = spelled[most] if len(every) > most else 0  # parts that spell as much are left out together
    assert some == [(part, count) for part, count in every if len(part) * count > least]


def test_long_pieces_are_learnt_from_any_number_of_parts(monkeypatch):
    """sentencepiece reads the first parts of its file, and short ones come first."""
    random = Random(1)
    words = Counter({"".join(random.choices("abcdefgh", k=6)): 2 for _ in range(3000)})
    words["électrocardiogramme"] = 1000
    monkeypatch.setattr(trainers, "SEED_PIECES", 2000)
    monkeypatch.setattr(trainers, "SEEDS_A_PIECE", 1)
    assert len(list(seed_pieces(words, 32, 10**6))) > 5000
    assert "▁électrocardiogramme" in trainers.train("unigram", Words(words), 300).pieces
