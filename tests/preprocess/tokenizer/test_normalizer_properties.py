"""What holds for every text and every mode; the alphabet leans to the signs French clinical text is made of.

EXAMPLES=10000 in the environment makes a long campaign of it.
"""

import os
import unicodedata
from functools import lru_cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_helpers import EVERY_OPTIONS, is_composed, letters_and_digits, normalize, same_text

from preprocess.tokenizer.normalizer import TextNormalizer, rules_only

SIGNS = (
    "éèàçœŒæÉßİǰΐΐµμαΑς°½²³⁹⁻'’‘´`\"«»“”.,;:!?()[]<>/%+-–—−‑•·*^_=▁0123456789"
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029\u00a0\u2009\u202f\u00ad\u200b\u200d\ufeff\u0301\u0327\u0323\u0308"
    "\u0338"
)
UNITS = "7,4 mg/kg/j 12h30 10^9/L HbA1c TNF-α Na+ 120/80 2-3 l' aujourd'hui d’ M. MM. fin. ... <mask> <s>".split()
SEQUENCES = [*UNITS, "1\u2009000", "Le ", "na +", "l '", "1\u202f000\u202f000", "n'y'a", "fin.'"]
# Below U+2500, where every Python we support knows the same letters.
ANY = st.characters(max_codepoint=0x24FF, exclude_categories=["Cs", "Cn", "Co"])
PARTS = st.one_of(st.sampled_from(SIGNS), st.sampled_from(SEQUENCES), st.sampled_from("lLdMjtsaAbeZ"), ANY)
TEXTS = st.lists(PARTS, max_size=14).map("".join)

every_mode = pytest.mark.parametrize("options", EVERY_OPTIONS, ids=str)
# What random text seldom hits: a capital whose small letter is two characters, marks apart from their letter, lines of
# blanks or of invisible characters, separators only Python takes for white space, places where Moses looks around.
HARD = ["\u0130\u0316", "e\u200b\u0301", "a\n\u200b\nb", "a\n ", "a\x1cb\x1fc", "a,", "..a", "l'«", "n'y'a", "na +"]


def many(test):
    """The hard texts first, then random ones."""
    for text in HARD:
        test = example(text=text)(test)
    return bounded(test)


bounded = settings(max_examples=int(os.environ.get("EXAMPLES", "40")))


rules_of = lru_cache(rules_only)  # the patterns take longer to compile than to apply


def documents(text: str) -> int:
    blank = [not line.strip() for line in text.split("\n")]
    return sum(before and not here for before, here in zip([True, *blank], blank, strict=False))


@every_mode
@many
@given(text=TEXTS)
def test_normalising_twice_is_normalising_once(options, text):
    once = normalize(text, options)
    assert normalize(once, options) == once


@every_mode
@many
@given(text=TEXTS)
def test_the_result_is_composed(options, text):
    assert unicodedata.is_normalized("NFC", normalize(text, options))


@every_mode
@many
@given(text=TEXTS)
def test_no_line_and_no_document_comes_or_goes(options, text):
    normal = normalize(text, options)
    assert normal.count("\n") == text.count("\n")
    assert len(normal.splitlines()) == len(text.splitlines())
    assert documents(normal) == documents(text)


@every_mode
@many
@given(text=TEXTS)
@example(text="l\x1b\u0301")  # without the control, the accent joins the letter
def test_no_letter_and_no_digit_is_dropped(options, text):
    controls = {chr(n) for n in (*range(32), 127) if not chr(n).isspace()}
    kept = "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in controls)
    kept = unicodedata.normalize("NFC", kept).replace("\u00b5", "\u03bc")
    if not options.cased:
        kept = unicodedata.normalize("NFC", "".join(c.lower() for c in kept))
    normal = normalize(text, options).replace("\u00b5", "\u03bc")  # mode none leaves the micro sign
    assert letters_and_digits(normal) == letters_and_digits(kept)


@every_mode
@many
@given(text=TEXTS)
def test_no_word_holds_white_space(options, text):
    for word in TextNormalizer(rules_of(options)).words(text):
        assert word and not any(character.isspace() for character in word)


@every_mode
@bounded
@given(text=TEXTS.map(lambda text: unicodedata.normalize("NFC", text)).filter(is_composed))
def test_every_word_points_to_the_raw_text_it_came_from(options, text):
    if "\u0130" in text:
        return  # one raw letter, two after lower-casing: a word may start with the second
    rules = rules_of(options)
    for line in text.splitlines():
        words = TextNormalizer(rules).words(line)
        for word, (start, end) in zip(words, rules.encode(line).offsets, strict=True):
            assert same_text(rules, line[start:end], word)
