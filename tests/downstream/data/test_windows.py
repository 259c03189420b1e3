"""Cutting documents: every token in exactly one core, nothing longer than the model, cuts in the best place."""

from hypothesis import given
from hypothesis import strategies as st

from downstream.data.windows import LINE, SENTENCE, WORD, cut_ranks, keep_whole, windows


def test_places_to_cut():
    text = "Oui. Non a-t\nbon"
    offsets = [(0, 3), (3, 4), (5, 8), (9, 10), (10, 12), (13, 16)]
    assert cut_ranks(text, offsets, [0, 1, 2, 3, 3, 4]) == [LINE, WORD, SENTENCE, WORD, 0, LINE]


def test_lines_are_sequences_of_their_own_or_packed():
    ranks = [LINE, WORD, LINE, WORD, LINE, WORD]
    assert [one[:2] for one in windows(ranks, 4, 1, whole_lines=True)] == [(0, 2), (2, 4), (4, 6)]
    assert [one[:2] for one in windows(ranks, 4, 1, whole_lines=False)] == [(0, 4), (4, 6)]


def test_a_long_line_is_cut_at_a_sentence_end_and_sees_both_sides():
    ranks = [LINE] + [WORD] * 4 + [SENTENCE] + [WORD] * 4
    first, second = windows(ranks, 8, 2, whole_lines=True)
    assert first == (0, 7, 0, 5)  # two tokens of the next sentence as context
    assert second == (3, 10, 5, 10)


RANKS = st.lists(st.sampled_from([0, WORD, WORD, WORD, SENTENCE, LINE]), min_size=1, max_size=120).map(
    lambda ranks: [LINE, *ranks[1:]]
)


@given(RANKS, st.integers(8, 20), st.booleans())
def test_every_token_is_in_one_core_and_no_sequence_is_too_long(ranks, size, whole_lines):
    cut = windows(ranks, size, size // 8, whole_lines)
    assert [token for one in cut for token in range(one.core_start, one.core_end)] == list(range(len(ranks)))
    for one in cut:
        assert 0 <= one.start <= one.core_start < one.core_end <= one.end <= len(ranks)
        assert one.end - one.start <= size
        assert one.start == one.core_start or ranks[one.core_start] != LINE
        assert one.end == one.core_end or ranks[one.core_end] != LINE


@given(st.lists(st.integers(1, 5), min_size=1, max_size=40), st.integers(12, 30), st.booleans())
def test_training_sequences_never_cut_an_entity_that_fits(sizes, size, whole_lines):
    ranks, entities = [], []
    for length in sizes:
        entities.append((len(ranks), len(ranks) + length))
        ranks += [LINE if length == 1 else WORD] + [LINE if length == 3 else WORD] * (length - 1)
    ranks[0] = LINE
    borders = {one.core_start for one in windows(keep_whole(ranks, entities), size, size // 8, whole_lines)}
    assert not any(start < border < end for border in borders for start, end in entities)


def test_a_long_line_that_others_follow_leaves_room_for_its_context():
    for length in range(1, 80):
        ranks = [LINE] + [WORD] * (length - 1) + [LINE, WORD, LINE]
        for whole_lines in (True, False):
            cut = windows(ranks, 16, 4, whole_lines)
            assert max(one.end - one.start for one in cut) <= 16
            assert cut[-1].core_end == len(ranks)


def test_an_empty_document_has_no_window():
    assert windows([], 16, 2, True) == []
