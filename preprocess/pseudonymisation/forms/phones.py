"""Telephone and fax numbers as they are written in France; short numbers such as 15 or 112 identify nobody."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import NUMBERS as DIGITS
from preprocess.pseudonymisation.clues import Clues, words_of
from preprocess.pseudonymisation.spans import Span

APART = "(?: ?[.\u00a0\u202f/-] ?| )?"
FIRST = r"(?<![\w.,/+-])"
LAST = r"(?![\w]|[.,/-]\d)"
# The codes of France and its overseas, of its neighbours and of the countries that patients call most.
COUNTRIES = "33|262|269|508|590|594|596|681|687|689|32|41|352|377|376|49|39|34|351|44|212|213|216|221|225|223|237|1"
NUMBERS = tuple(
    re.compile(f"{FIRST}{form}{LAST}")
    for form in (
        rf"(?:0[1-9]|\(0[1-9]\))(?:{APART}\d\d){{4}}",  # 01 23 45 67 89
        rf"0{APART}[89]\d\d(?:{APART}\d\d\d){{2}}",  # 0 825 123 456
        r"0[1-9]\d\d[ .-]\d\d\d[ .-]?\d\d\d",  # 0612 345 678
        # +33 (0)1 23 45 67 89
        rf"(?:(?:\+|00{APART})(?:{COUNTRIES})|\(\+(?:{COUNTRIES})\)){APART}(?:\(0\){APART})?\d(?:{APART}\d){{7,10}}",
    )
)
NAMED = re.compile(
    r"\b(?:t[ée]l(?:[ée]phone|[ée]copie)?s?|fax|portables?|port|mobile|gsm|secr[ée]tariat|standard|joignable au|"
    r"rappeler au|appeler le|joindre au)\b[ .]*(?:\([^)\n]{0,20}\)|n[°ºo]|fixe|domicile|mobile|portable|pro|/ ?fax)?"
    r"[ .]*[:=]?\s*(?P<number>[+(]{0,2}\d(?:[ ./()\u00a0\u202f-]{0,2}\d){7,13})(?![\w])",
    re.IGNORECASE,
)
# A number inside the hospital, only after the word for it.
INTERNAL = re.compile(
    r"\b(?:[Pp]ostes?|POSTE|DECT|[Bb]ip|BIP)[ .]*(?:n[°ºo] ?)?:? ?(?P<number>\d{3,6})(?![\w/]|[.,]\d)"
)
WORDS = words_of("""
    tél téls téléphone téléphones télécopie télécopies fax portable portables port mobile gsm secrétariat standard
    joignable rappeler appeler joindre poste postes dect bip
""")
MAY_BE = re.compile(r"\d(?:[ .()\u00a0\u202f/-]{0,3}\d){8}")


def find_phones(clues: Clues) -> Iterator[Span]:
    """The numbers of telephones and faxes."""
    for start, end in clues.lines(DIGITS - {b"0"}):
        if MAY_BE.search(clues.text, start, end):
            for pattern in NUMBERS:
                for found in pattern.finditer(clues.text, start, end):
                    yield Span(found.start(), found.end(), "TEL")
    for pattern in (NAMED, INTERNAL):
        for found in clues.matches(pattern, WORDS):
            yield Span(*found.span("number"), "TEL")
