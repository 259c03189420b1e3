"""Numbers of a hospital for a patient (IPP) and for a stay (NDA): by its own patterns, or after a word for them."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from alibert_common.errors import InputError
from preprocess.pseudonymisation.clues import Clues, words_of
from preprocess.pseudonymisation.spans import Span

# Five digits or more, grouped or not: "IPP 40 mg" is a dose of a proton pump inhibitor.
NUMBER = r"(?P<id>[A-Z]{0,3}\d(?:[ .\u00a0-]?\d){4,14}[A-Z]?)(?![\w/])"
SIGN = r"(?:\s*\(?(?:n[°ºo]\.?|num[ée]ro|id)\)?)?\s*[:=#|]?\s*"
OF_NUMBER = r"(?:n[°ºo]\.?|num[ée]ro|num\.)\s*(?:de\s+|du\s+|d['’])?"
DEFAULT_IPP = (
    rf"\b(?:I\.?P\.?P\b\.?|NIP\b|PatientID|ID\s+patient|{OF_NUMBER}patient|identifiant(?:\s+permanent)?"
    rf"(?:\s+(?:du\s+)?patient)?){SIGN}{NUMBER}"
)
DEFAULT_NDA = (
    rf"\b(?:NDA\b|IEP\b|{OF_NUMBER}(?:dossier|s[ée]jour|venue|passage|hospitalisation|admission|visite)"
    rf"(?:\s+administratif)?|(?:dossier|s[ée]jour|venue|admission)(?:\s+(?:administratif|m[ée]dical))?){SIGN}{NUMBER}"
)

NAMES = words_of(
    "IPP I NIP PatientID ID identifiant patient NDA IEP dossier no numero num n séjour venue passage admission visite "
    "hospitalisation"
)


@lru_cache(8)
def compiled(patterns: tuple[str, ...], option: str) -> tuple[re.Pattern, ...]:
    """The patterns of a user. Raises InputError for one that Python cannot read or that finds the empty text."""
    ready = []
    for pattern in patterns:
        try:
            ready.append(re.compile(pattern, re.IGNORECASE))
        except re.error as error:
            raise InputError(f"{option} {pattern!r}: cannot be read ({error}); correct the pattern.") from None
        if ready[-1].match(""):
            raise InputError(f"{option} {pattern!r}: finds the empty text too; let it ask for a digit.")
    return tuple(ready)


def find_numbers(clues: Clues, patterns: Sequence[str], label: str) -> Iterator[Span]:
    """What the patterns find: their group `id` or, without one, the whole of it."""
    for pattern in compiled(tuple(patterns), f"--{label.lower()}"):
        group: str | int = "id" if "id" in pattern.groupindex else 0
        places = (
            clues.matches(pattern, NAMES)
            if pattern.pattern in (DEFAULT_IPP, DEFAULT_NDA)
            else pattern.finditer(clues.text)
        )
        for found in places:
            if found[group]:
                yield Span(*found.span(group), label)
