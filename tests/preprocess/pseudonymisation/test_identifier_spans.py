import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.pseudonymisation.spans import LABELS, Span, merged, trimmed

SPANS = st.lists(
    st.builds(
        lambda start, length, label: Span(start, start + length, label),
        st.integers(0, 60), st.integers(1, 20), st.sampled_from(LABELS),
    ),
    max_size=12,
)  # fmt: skip


@pytest.mark.parametrize(
    "spans, kept",
    [
        ([Span(0, 4, "NOM"), Span(0, 10, "ADRESSE")], [Span(0, 10, "ADRESSE")]),
        ([Span(0, 10, "TEL"), Span(0, 10, "IPP")], [Span(0, 10, "IPP")]),
        ([Span(0, 10, "HOPITAL"), Span(8, 14, "NOM")], [Span(0, 10, "HOPITAL"), Span(10, 14, "NOM")]),
        (
            [Span(4, 8, "NOM"), Span(0, 5, "NOM"), Span(7, 12, "NOM")],
            [Span(0, 5, "NOM"), Span(5, 7, "NOM"), Span(7, 12, "NOM")],
        ),
        ([], []),
    ],
)  # fmt: skip
def test_the_longest_span_is_kept_then_the_first_label(spans, kept):
    assert merged(spans) == kept


@given(SPANS)
def test_merged_spans_are_sorted_apart_and_cover_what_was_covered(spans):
    kept = merged(spans)
    assert kept == sorted(kept)
    assert all(before.end <= after.start for before, after in zip(kept, kept[1:], strict=False))
    places = [{place for span in them for place in range(span.start, span.end)} for them in (spans, kept)]
    assert places[0] == places[1]


def test_spaces_at_the_ends_of_a_span_are_no_part_of_it():
    assert trimmed("a  Lyon, b , ", [Span(1, 8, "VILLE"), Span(10, 13, "NOM")]) == [Span(3, 7, "VILLE")]
