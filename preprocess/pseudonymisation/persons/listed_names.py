"""Names that the lists of first names and surnames know, without a word that announces them."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.persons.eponyms import NO_NAMES, is_eponym
from preprocess.pseudonymisation.persons.name_lists import WORDS, NameLists
from preprocess.pseudonymisation.persons.name_parts import WRITTEN_PARTICLES, parts_of
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import CAPITALISED, SPACE, UPPER, folded

INITIALED = re.compile(
    rf"(?<![\w./-])(?:(?!M\.)[{UPPER}]\.{SPACE}?(?:-?[{UPPER}]\.{SPACE}?)?(?P<after>{CAPITALISED})|"
    rf"(?P<before>{CAPITALISED}){SPACE}[{UPPER}]\.(?!\w))"
)
CAPITALS = re.compile(
    rf"(?<![\w'’.-])(?:[dD]['’])?{CAPITALISED}(?:{SPACE}(?:d[eu] |d['’]|de la )?{CAPITALISED}){{1,7}}"
)
SHORTEST = 3  # letters of a surname of no list


def listed(clues: Clues, lists: NameLists) -> Iterator[Span]:
    """A first name of the list beside a surname; an initial beside a surname of the list. No eponyms."""
    text = clues.text
    for found in clues.matches(CAPITALS, lists.first_clues):
        yield from _listed_pairs(text, found, lists)
    for found in clues.matches(INITIALED, lists.last_clues):
        word = found["after"] or found["before"]
        if lists.is_last(word) and folded(word) not in NO_NAMES | WORDS and not is_eponym(text, found.start()):
            yield from parts_of(text, found.start(), found.end(), lists)


def _listed_pairs(text: str, found: re.Match, lists: NameLists) -> Iterator[Span]:
    words = [word for word in re.finditer(CAPITALISED, found[0])]
    start = found.start()
    for number, word in enumerate(words):
        if not lists.is_first(word[0]) or folded(word[0]) in NO_NAMES:
            continue
        for other in _beside(words, number):
            if _is_surname(words[other][0], word[0], other > number, lists):
                first, last = sorted((word, words[other]), key=lambda part: part.start())
                if not is_eponym(text, start + first.start()):
                    yield from parts_of(text, start + first.start(), start + last.end(), lists)
                break


def _beside(words: list[re.Match], number: int) -> Iterator[int]:
    """The next and the previous word, beyond particles such as "Le" and "El"."""
    for step, end in ((1, len(words)), (-1, -1)):
        places = range(number + step, end, step)
        yield from [place for place in places if folded(words[place][0]) not in WRITTEN_PARTICLES][:1]


def _is_surname(word: str, beside: str, comes_after: bool, lists: NameLists) -> bool:
    """Whether a word beside a first name is a surname. One of no list is, in capitals or behind the first name."""
    name = folded(word)
    if name in NO_NAMES:
        return False
    if lists.is_last(word):
        return True
    said = len(name) >= SHORTEST and bool(re.search("[aeiouy]", name))
    return (
        said
        and folded(beside) not in WORDS
        and (comes_after or word.isupper())
        and not (word.isupper() and beside.isupper())
    )
