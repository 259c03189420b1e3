"""Other numbers for numbers, in the same layout: digits for digits, letters for letters."""

import re

from preprocess.pseudonymisation.forms.nir import nir_key
from preprocess.pseudonymisation.surrogates.secret_key import Draws

DIGIT = re.compile(r"\d")
# Numbers of the French plan that nobody gets, for works of fiction. Source: ARCEP, decision 2018-0881, annex.
FICTION = {"01": "019900", "02": "026191", "03": "035301", "04": "046571", "05": "053649", "06": "063998",
           "07": "063998"}  # fmt: skip
FRANCE = re.compile(r"\(?(?:\+|00)[ .]?33\)?")


def other_number(text: str, draws: Draws, kind: str) -> str:
    """Other digits and other ASCII letters, in the same places."""
    drawn = iter(draws.digits(kind, "".join(filter(str.isalnum, text)).upper()))
    return "".join(_other_sign(sign, next(drawn, "0")) if sign.isalnum() else sign for sign in text)


def _other_sign(sign: str, digit: str) -> str:
    if sign.isdecimal():
        return digit
    if sign.isascii() and sign.isalpha():
        return chr((ord(sign.upper()) - ord("A") + int(digit) + 1) % 26 + ord("A" if sign.isupper() else "a"))
    return sign


def digits_of(text: str) -> str:
    """The digits of a text."""
    return "".join(DIGIT.findall(text))


def other_nir(text: str, draws: Draws) -> str:
    """Another number of the social security: the sex stays, the key is right, month and department exist."""
    digits = digits_of(text)
    drawn = draws.digits("SECU", "".join(filter(str.isalnum, text)).upper()[:13])
    number = digits[:1] + drawn[:2] + f"{int(drawn[2:6]) % 12 + 1:02}{int(drawn[6:10]) % 89 + 1:02}" + drawn[10:16]
    return with_digits(text, number + f"{nir_key(number):02}")


def other_phone(text: str, draws: Draws) -> str:
    """Another number of the same kind; in France, where it can be, one that nobody gets."""
    country = FRANCE.match(text)
    start = country.end() if country else 0
    digits = digits_of(text[start:])
    national = f"0{digits.removeprefix('0')}" if country else digits
    drawn = draws.digits("TEL", national)
    if len(national) == 10 and (fixed := FICTION.get(national[:2])):
        other = fixed + drawn[:4]
        return text[:start] + with_digits(text[start:], other[len(other) - len(digits) :])
    kept = 2 if len(digits) > 6 and not text.startswith(("+", "00")) else 0
    return text[:start] + with_digits(text[start:], digits[:kept] + drawn[: len(digits) - kept])


def with_digits(text: str, digits: str) -> str:
    """The text with these digits in place of its own, in their order; letters (2A of Corsica) become digits too."""
    left = iter(digits)
    return re.sub(r"\d|(?<=\d)[ABab](?!\w{3})", lambda found: next(left, found[0]), text)
