import unicodedata
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identified_letters import letters
from letter_sentences import HELD_OUT_PLAIN, PLAIN
from marked_text import marked

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.score import score, table
from preprocess.pseudonymisation.spans import LABELS, Span
from preprocess.pseudonymisation.words import folded

RULES = Rules()
SIGNS = "Mme Dr né le 12/03 à Lyon DUPONT Jean 0123456789 @.fr rue é’-,;:()\n\u00a0"
WORDS = st.sampled_from(
    ["Mme ", "Dupont", "né le ", "12/03/1950", " rue ", "69003 Lyon", "\n", "Jean ", "tél ", "0", "é"]
)
TEXTS = st.lists(WORDS | st.text(SIGNS, max_size=6) | st.text(max_size=4), max_size=25).map("".join)


@settings(max_examples=300)
@given(TEXTS, st.lists(st.text(max_size=8), max_size=3))
def test_identifiers_are_sorted_apart_and_inside_any_text(text, known):
    spans = RULES.find(text, known)
    assert spans == sorted(spans)
    assert all(before.end <= after.start for before, after in zip(spans, spans[1:], strict=False))
    assert all(0 <= span.start < span.end <= len(text) and span.label in LABELS for span in spans)


def test_replacing_identifiers_leaves_the_rest_of_a_letter():
    for letter in letters(40, 11):
        rest, place = [], 0
        for start, end, _ in RULES.find(letter.text):
            rest.append(letter.text[place:start])
            place = end
        rest.append(letter.text[place:])
        replaced = "\x00".join(rest)
        assert [part for part in replaced.split("\x00")] == rest
        assert len(replaced) < len(letter.text)


@given(st.text(st.characters(max_codepoint=0x300) | st.sampled_from("œ’–ŒẠ"), max_size=30))
def test_folding_keeps_the_places(text):
    assert len(folded(text)) == len(text)
    assert folded("ÉLÉONORE Œ’") == "eleonore o'"


def test_letters_written_with_separate_accents_are_read_as_one():
    text, spans = marked("Mme {NOM|Péniguel} née le {DATE_NAISSANCE|3 février 1950}, {NOM|PENIGUEL}")
    apart = unicodedata.normalize("NFD", text)
    found = RULES.find(apart)
    assert [unicodedata.normalize("NFC", apart[span.start : span.end]) for span in found] == [
        text[span.start : span.end] for span in spans
    ]


@pytest.mark.parametrize("word", ["Jean ", "Jean Xyz ", "12/03/2020 ", "69003 Lyon ", "12 rue X, ", "Dr ", "a-", "d'"])
def test_time_grows_with_the_length_of_a_line_and_not_with_its_square(word):
    times = []
    for count in (500, 8000):
        start = process_time()
        RULES.find(word * count)
        times.append(process_time() - start)
    assert times[1] < 80 * times[0] + 0.5


@pytest.mark.parametrize(
    "text", ["test " + "-".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ") + ": Paul Martin", "bât. A, " * 2000]
)
def test_nothing_takes_long_because_of_its_form(text):
    start = process_time()
    RULES.find(text)
    RULES.find("le 3 sept et 4 dec puis\n" * 2000)
    assert process_time() - start < 8


def test_clues_are_the_lines_with_a_word():
    clues = Clues("Rue de Lyon\n75013 PARIS\nla rué\n")
    lines = [clues.text[start:end] for start, end in clues.lines(frozenset({b"rue", b"00000"}))]
    assert lines == ["Rue de Lyon", "75013 PARIS", "la rué"]


@pytest.mark.parametrize("sentence", [*PLAIN, *HELD_OUT_PLAIN])
def test_sentences_that_identify_nobody_stay(sentence):
    assert [sentence[span.start : span.end] for span in RULES.find(sentence)] == []


def test_letters_lose_nearly_all_of_their_identifiers():
    many = letters(100, 1)
    scores, whole = score([RULES.find(letter.text) for letter in many], [letter.spans for letter in many])
    assert scores["all"].character_recall > 0.98 and scores["all"].character_precision > 0.99
    for label in ("SECU", "IPP", "NDA", "MAIL", "TEL", "DATE", "ADRESSE", "ZIP"):
        assert scores[label].recall > 0.97, label
    assert whole > 0.85


def test_letters_of_sentences_that_no_rule_was_made_with_lose_most():
    many = letters(100, 1, held_out=True)
    scores, _ = score([RULES.find(letter.text) for letter in many], [letter.spans for letter in many])
    assert scores["all"].character_recall > 0.9 and scores["all"].character_precision > 0.97


def test_letters_are_the_same_for_a_seed_and_of_one_patient_by_four():
    first, again = letters(8, 3), letters(8, 3)
    assert first == again and first != letters(8, 4)
    assert [letter.patient for letter in first] == ["3-0"] * 4 + ["3-1"] * 4
    for letter in first:
        assert letter.spans == sorted(letter.spans)
        assert all(letter.text[span.start : span.end].strip() for span in letter.spans)


def test_the_score_of_a_known_case():
    truth = [[Span(0, 4, "NOM"), Span(10, 14, "DATE")], [Span(0, 2, "NOM")]]
    found = [[Span(0, 4, "NOM"), Span(10, 12, "DATE")], [Span(0, 2, "PRENOM"), Span(4, 8, "NOM")]]
    scores, whole = score(found, truth)
    assert scores["NOM"] == (1 / 2, 1 / 2, 1.0, 1 / 2)  # the second is found, as a first name
    assert scores["DATE"] == (0.0, 0.0, 1 / 2, 1.0)
    assert scores["all"] == (1 / 3, 1 / 4, 8 / 10, 8 / 12)
    assert scores["TEL"] == (None, None, None, None)
    assert whole == 1 / 2
    assert ["NOM", "0.500", "0.500", "1.000", "0.500"] in table(scores).rows
