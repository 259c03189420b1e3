"""Lines too long are cut, and nothing of them is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.documents.long_lines import Cuts, cut_line


@given(st.text(st.sampled_from("ab .!»\u00a0é\t"), max_size=60), st.integers(1, 12))
def test_the_parts_are_the_line_and_fit(line, longest):
    cuts = Cuts()
    parts = list(cut_line(line, cuts, longest))
    assert "".join(parts) == line and all(len(part) <= longest for part in parts) and all(parts[:-1])
    assert len(parts) - 1 == cuts.at_sentence_ends + cuts.at_word_ends + cuts.inside_words
    assert cuts.lines == (len(line) > longest)


@pytest.mark.parametrize(
    "line, parts, cuts",
    [
        ("Il va bien.", ["Il va bien."], Cuts()),
        ("Il tousse. Il dort. Bien", ["Il tousse. Il dort.", " Bien"], Cuts(1, at_sentence_ends=1)),
        ("Dit « non ! » puis se rendort", ["Dit « non !", " » puis se", " rendort"], Cuts(1, 1, 1)),
        ("à 38.5 mg/kg pendant", ["à 38.5 mg/kg pendant"], Cuts()),
        ("le patient de 38.5 ans", ["le patient de 38.5", " ans"], Cuts(1, at_word_ends=1)),
        ("a" * 45, ["a" * 20, "a" * 20, "a" * 5], Cuts(1, inside_words=2)),
    ],
)
def test_where_a_line_is_cut(line, parts, cuts):
    seen = Cuts()
    longest = {True: 19}.get("tousse" in line, 20)
    longest = 12 if "Dit" in line else longest
    assert list(cut_line(line, seen, longest)) == parts and seen == cuts
