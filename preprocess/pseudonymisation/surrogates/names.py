"""Other names for names: one of a list for each word, in the same form."""

import re
from collections.abc import Sequence

from preprocess.pseudonymisation.persons.name_parts import PARTICLE
from preprocess.pseudonymisation.surrogates.secret_key import Draws
from preprocess.pseudonymisation.words import LETTER, folded

WORD = re.compile(rf"{LETTER}+")
SMALL_WORD = re.compile(PARTICLE, re.IGNORECASE)


def other_name(text: str, names: Sequence[str], draws: Draws, kind: str) -> str:
    """The text with another name in place of each word; particles and signs stay. Initials give initials."""
    return WORD.sub(lambda found: _other_word(found, names, draws, kind), text)


def _other_word(found: re.Match[str], names: Sequence[str], draws: Draws, kind: str) -> str:
    word = found[0]
    if word.islower() and SMALL_WORD.fullmatch(word):
        return word
    plain = folded(word)
    if len(word) == 1:
        return _in_case(word, "ABCDEFGHIJKLMNOPRSTV"[draws.number(kind, plain, 20)])
    place = draws.number(kind, plain, len(names))
    chosen = names[place] if folded(names[place]) != plain else names[(place + 1) % len(names)]
    return _in_case(word, chosen)


def _in_case(word: str, name: str) -> str:
    """The name in the capitals of a word, and without accents where it is in capitals without them."""
    if word.isupper() and len(word) > 1:
        return name.upper()
    return name.lower() if word.islower() else name


def simple(names: Sequence[str]) -> list[str]:
    """The names that are one word of letters."""
    return [name for name in names if WORD.fullmatch(name)]
