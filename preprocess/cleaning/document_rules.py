"""The rules of preprocess.clean that look at all lines of a document: what repeats, what is foreign, where it ends."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from preprocess.cleaning.language import foreign_lines
from preprocess.cleaning.optional_rules import ARTICLES


@dataclass(frozen=True)
class DocumentRule:
    """`finds` gives the numbers, from 0, of the lines to drop; `example` and `unchanged` are documents."""

    name: str
    finds: Callable[[Sequence[str]], set[int]]
    example: str
    unchanged: str
    reason: str


# Shorter lines may recur: 'Antécédents', 'Sans objet', and preprocess.deduplicate leaves them alone as well.
REPEATED_FROM = 20
PAGE_NUMBER = re.compile(r"\bpage\W*\d+(?:\W*(?:sur|de|/)\W*\d+)?", re.IGNORECASE)
REFERENCES = re.compile(
    r"\A\W*(?:\d+\W+)?(?:(?:liste des )?r[ée]f[ée]rences(?: bibliographiques)?|bibliographie|bibliography)\W*\Z",
    re.IGNORECASE,
)


def _pages(text: str) -> int:
    return sum(map(text.count, ("page", "Page", "PAGE", "pAGE")))


def _without_page_number(line: str) -> str:
    return PAGE_NUMBER.sub("page", line) if "page" in line.lower() else line


def repeated_lines(most: int) -> DocumentRule:
    """A rule that keeps the first `most` of lines of 20 characters or more that differ only in a page number."""

    def finds(lines: Sequence[str]) -> set[int]:
        keys = list(map(_without_page_number, lines)) if _pages("\n".join(lines)) > most else lines
        if len(set(keys)) + most > len(keys):  # so of nearly all documents
            return set()
        places = defaultdict(list)
        for number, key in enumerate(keys):
            if len(key) >= REPEATED_FROM:
                places[key].append(number)
        return {number for numbers in places.values() for number in numbers[most:]}

    return DocumentRule(
        f"lines seen {most} times before in the document",
        finds,
        example="\n".join(f"Hôpital Exemple, Mme T., page {n}/{most + 1}\nTexte {n}" for n in range(1, most + 2)),
        unchanged="\n".join(f"Hémoglobine : 12,{n} g/dL\nSans objet" for n in range(1, most + 2)),
        reason="heads and feet that stand on every page. Three: a heading and its place in the table of contents stay",
    )


def _reference_section(lines: Sequence[str]) -> set[int]:
    """The last heading 'Références' and all below it, if at least half of that are lines of a bibliography."""
    heading = max((number for number, line in enumerate(lines) if REFERENCES.search(line)), default=len(lines))
    below = lines[heading + 1 :]
    citations = sum(bool(ARTICLES[0].pattern.search(line)) for line in below)
    return set(range(heading, len(lines))) if citations and 2 * citations >= len(below) else set()


REFERENCE_SECTION = DocumentRule(
    "lines of a section of references",
    _reference_section,
    example="Références\n1. Roux AB, Petit C. Titre.\nRev Exemple. 2010;87(3):293-301.\n2. Blanc D. 2011;12:3-9.",
    unchanged="Bibliographie\nLe service a publié une série de 45 cas.\nElle est jointe au courrier.",
    reason="names, titles in English and numbers, from the heading to the end, where half of the lines look so",
)
FOREIGN_LINES = DocumentRule(
    "lines not in French",
    foreign_lines,
    example="Background: the aim of this study was to describe the outcome of children with severe malaria.",
    unchanged="Le patient reçoit du Targocid et du Bactrim.\nAMOXICILLINE 1 g x 3/j\nFollow-up OK, no event",
    reason="the model is to learn French; lines of fewer than 60 letters go with the rest of their document",
)
