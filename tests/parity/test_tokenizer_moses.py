"""Moses mode finds the words that sacremoses finds; what differs is written in preprocess/tokenizer/moses_rules.py."""

import re

import pytest
from sacremoses import MosesTokenizer
from text_helpers import normalize, real_lines, sample_lines

from preprocess.tokenizer.normalizer import TextOptions, build_normalizer

CASED = TextOptions("moses", cased=True)
CHARACTERS = build_normalizer(TextOptions("paper", cased=True))  # what all modes do to characters
# '2' in quotes; an elision, or two around one letter, that a space or another apostrophe follows
EXCEPTIONS = re.compile(r"'\w'|\w'\s")


def compare(lines):
    """(lines compared, lines that differ) where no exception of ours applies."""
    moses = MosesTokenizer("fr")
    normal = [CHARACTERS.normalize_str(line) for line in lines]
    normal = [line for line in normal if not EXCEPTIONS.search(line)]
    differ = [line for line in normal if normalize(line, CASED).split() != moses.tokenize(line, escape=False)]
    return len(normal), differ


def test_the_same_words_on_the_sample():
    compared, differ = compare(sample_lines())
    assert compared > 800 and differ == []


@pytest.mark.parametrize(
    "text",
    [
        "M. Roux, 38,5 °C; l'état (cf. fig. 2) s'améliore... 3,5,7 et 1,a a,1 ,5",
        "p.ex. c.-à-d. etc. Fin. fin. U.S.A. art. 3. J. Dupont",
        "'début', fin'. \"oui\"' l'«os» 5'30 l'1",
        "a..b ...c d.... e.f. .g fin.'",
        "post-opératoire -5 n°4 100% a/b a&b <b> [1] {2} x^2 2²",
    ],
)
def test_the_same_words_where_the_rules_bite(text):
    assert compare([text]) == (1, [])


def test_the_same_words_on_real_lines(shared_data):
    compared, differ = compare(real_lines(shared_data)[::4])
    assert compared > 4000 and differ == []
