import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_text import marked

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.forms.nir import find_nir
from preprocess.pseudonymisation.spans import Span

MONTHS = [*range(1, 13), *range(20, 43), *range(50, 100)]
LAYOUTS = (
    "{0}{1}{2}{3}{4}{5}{6}",
    "{0} {1} {2} {3} {4} {5} {6}",
    "{0}.{1}.{2}.{3}.{4}.{5}.{6}",
    "{0}-{1}-{2}-{3}-{4}-{5}-{6}",
    "{0} {1} {2} {3} {4} {5} / {6}",
    "{0}\u00a0{1}\u00a0{2}\u00a0{3}\u00a0{4}\u00a0{5}\u00a0{6}",
    "{0}{1}{2}{3}{4}{5} {6}",
    "{0} {1}{2} {3}{4} {5} clé {6}",
    "{0}{1}{2}{3}{4}{5} ({6})",
)
CORSICA = {"2A": "19", "2B": "18"}


@st.composite
def numbers(draw):
    """The seven groups of a NIR. With its key, the number is a multiple of 97."""
    groups = [
        draw(st.sampled_from("123478")),
        f"{draw(st.integers(0, 99)):02}",
        f"{draw(st.sampled_from(MONTHS)):02}",
        draw(st.sampled_from(["01", "69", "75", "2A", "2B", "97", "99"])),
        f"{draw(st.integers(1, 990)):03}",
        f"{draw(st.integers(1, 999)):03}",
    ]
    number = int("".join(CORSICA.get(group, group) if place == 3 else group for place, group in enumerate(groups)))
    key = next(key for key in range(1, 98) if (number + key) % 97 == 0)
    return [*groups, f"{key:02}"]


@given(numbers(), st.sampled_from(LAYOUTS))
def test_a_number_with_its_key_is_found_in_any_layout(groups, layout):
    number = layout.format(*groups)
    text = f"Assurée {number}, régime général"
    assert list(find_nir(Clues(text))) == [Span(8, 8 + len(number), "SECU")]


@given(numbers(), st.integers(1, 96), st.sampled_from(LAYOUTS))
def test_a_wrong_key_is_found_after_a_word_for_it_only(groups, change, layout):
    wrong = [*groups[:6], f"{(int(groups[6]) + change - 1) % 97 + 1:02}"]
    number = layout.format(*wrong)
    assert not list(find_nir(Clues(f"Lot {number} du vaccin")))
    assert list(find_nir(Clues(f"NIR : {number}"))) == [Span(6, 6 + len(number), "SECU")]


@pytest.mark.parametrize(
    "sentence",
    [
        "N° SS : {SECU|1 85 05 78 006 084}",
        "n° de sécurité sociale : {SECU|1850578006084}",
        "Sécurité sociale {SECU|2 69 05 49 588 157 80} CPAM",
        "NIR {SECU|2 69 05 2A 588 157}",
        "Référence 1850578006084 du lot",
        "Séquence 1 85 05 78 006 084 99",
        "Accession 18505780060849123",
        "1 85 13 78 006 084 69",
    ],
)
def test_without_a_key_a_word_must_name_it(sentence):
    text, spans = marked(sentence)
    assert [span for span in Rules().find(text) if span.label == "SECU"] == spans
