"""Numbers of the French social security (NIR), with or without their key."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import NUMBERS, Clues, words_of
from preprocess.pseudonymisation.spans import Span

APART = "[ .\u00a0\u202f-]?"  # what may stand between two digits
# Sex, year and month, department (2A and 2B in Corsica) and commune, rank, key: the digits, however they are grouped.
NUMBER = re.compile(
    rf"(?<![\w.,])[1-478](?:{APART}\d){{5}}{APART}[\dABab](?:{APART}\d){{6}}"
    rf"(?:(?:{APART}| ?[-/] ?| ?[Cc]l[ée] ?:? ?)\d\d| ?\(\d\d\))?(?!\w)"
)
NAMED = re.compile(
    r"(?:\bNIR|\bINS|s[ée]curit[ée]\s+sociale|\bn(?:°|º|o|um[ée]ro)\s*(?:de\s+)?(?:SS|s[ée]cu)|\bSS|immatriculation)"
    r"[^\n\d]{0,20}$",
    re.IGNORECASE,
)
# Of the digits that stand together: the rank has three, and may be joined to others.
LENGTHS = NUMBERS - {b"0", b"00", b"0000", b"0er"} | words_of(
    "180062A004084 180062B004084 180062A00408400 180062B00408400"
)
BEFORE = 45  # characters in which such a word stands


def find_nir(clues: Clues) -> Iterator[Span]:
    """Numbers with a right key; after a word such as "NIR", those without a key or with a wrong one too."""
    for found in clues.matches(NUMBER, LENGTHS):
        if is_nir(found[0]) or NAMED.search(clues.text, max(0, found.start() - BEFORE), found.start()):
            yield Span(found.start(), found.end(), "SECU")


def is_nir(text: str) -> bool:
    """Whether the characters are a NIR of 15 with a known month and the key 97 - number mod 97.

    Source: INSEE. Corsica counts as 19 (2A) and 18 (2B); months 20 to 42 and 50 to 99 stand for unknown ones.
    """
    signs = "".join(sign for sign in text.upper() if sign.isalnum()).replace("CLE", "").replace("CLÉ", "")
    digits = signs.replace("2A", "19", 1) if signs[5:7] == "2A" else signs
    digits = digits.replace("2B", "18", 1) if signs[5:7] == "2B" else digits
    if len(digits) != 15 or not digits.isdecimal():
        return False
    month = int(digits[3:5])
    known = 1 <= month <= 12 or 20 <= month <= 42 or month >= 50
    return known and digits[0] in "123478" and nir_key(digits[:13]) == int(digits[13:])


def nir_key(number: str) -> int:
    """The key of the 13 digits."""
    return 97 - int(number) % 97
