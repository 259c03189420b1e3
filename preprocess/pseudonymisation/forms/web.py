"""E-mail and web addresses."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import Clues, words_of
from preprocess.pseudonymisation.spans import Span

DOMAIN = r"[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"
MAIL = re.compile(rf"(?<![\w.+-])[\w.+-]{{1,64}} ?(?:@|\(at\)|\[at\]|\(arobase\)) ?{DOMAIN}", re.IGNORECASE)
URL = re.compile(
    r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"«»]+"
    r"|(?<![\w.@-])[a-z0-9-]{2,}(?:\.[a-z0-9-]+)*\.(?:fr|com|org|net|eu)\b(?:/[^\s<>\"«»]*)?(?![\w@])"
)
AFTER = ".,;:!?)]}'’»"  # at its end, these belong to the sentence
SIGNS = ("@", "(at)", "[at]", "(arobase)")
WORDS = words_of("http https ftp www fr com org net eu")


def find_web(clues: Clues) -> Iterator[Span]:
    """Addresses of e-mail (also with "(at)" for the sign) and of pages."""
    if any(sign in clues.low for sign in SIGNS):
        for found in MAIL.finditer(clues.text):
            yield Span(found.start(), found.end(), "MAIL")
    for found in clues.matches(URL, WORDS):
        yield Span(found.start(), found.start() + len(found[0].rstrip(AFTER)), "URL")
