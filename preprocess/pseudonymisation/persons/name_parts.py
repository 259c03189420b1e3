"""A sequence of capitalised words as first names and surnames."""

import re
from collections.abc import Iterator
from typing import Literal

from preprocess.pseudonymisation.persons.eponyms import NO_NAMES
from preprocess.pseudonymisation.persons.name_lists import NameLists
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import CAPITALISED, SPACE, UPPER, folded

Order = Literal["first name", "surname", "first name alone"]
PARTICLE = (
    r"(?:de la|de l['’]|de|du|des|d['’]|le|la|les|el|al|ben|bin|ibn|abd|abou|van der|van den|van de|van|von|der|den|"
    r"da|do|dos|"
    r"del|della|di|mac|mc|saint|st|ould|oulad)"
)
INITIAL = rf"(?:[{UPPER}]\.?|(?:Ch|Ph|Th|Cl|Fr|Gh)\.)(?:{SPACE}?-{SPACE}?[{UPPER}]\.?)?(?!\w|['’])"  # J., J-P., Ch.
WORD = rf"(?:{INITIAL}|{CAPITALISED})"
# Jean DUPONT, J.-P. de la Tour, LE GOFF Anne-Marie; up to five words of one line.
WORDS = rf"{WORD}(?:{SPACE}(?:{PARTICLE}{SPACE}?)?{WORD}){{0,4}}"
SEQUENCE = rf"(?:(?!les?{SPACE}|la{SPACE}){PARTICLE}{SPACE}?)?{WORDS}"
TOKEN = re.compile(rf"(?P<particle>{PARTICLE}(?={SPACE}|(?<=['’])))|(?P<initial>{INITIAL})|(?P<word>{CAPITALISED})")
WRITTEN_PARTICLES = frozenset("le la el al ben bin van von de du da dos di del mac mc saint st abd ould".split())


def name_end(text: str, start: int, end: int) -> int:
    """The end of a name: before the first word that is no part of one, such as a function or an examination."""
    last = start
    previous = ""
    for token in TOKEN.finditer(text, start, end):
        word = folded(token[0]).rstrip(".")
        if word in NO_NAMES and not token["initial"] and not (word in WRITTEN_PARTICLES and token.end() < end):
            break
        acronym = token["word"] and len(word) <= 4 and word not in WRITTEN_PARTICLES and token[0].isupper()
        if acronym and len(previous) > 2 and not previous.isupper() and not _may_be_surname(token[0]):
            break
        if not token["particle"]:
            last = token.end()
            previous = token[0]
    return last


def _may_be_surname(word: str) -> bool:
    """Whether capitals are a word that can be said: ROY and LE, but not HTA or IRM."""
    return bool(re.search("[aeiouy]", folded(word))) and len(word) > 2


def parts_of(text: str, start: int, end: int, lists: NameLists, order: Order = "first name") -> Iterator[Span]:
    """The first names and the surname of a sequence. Capitals tell them apart, then the lists, then the order.

    One word alone is a surname unless only the first names have it. In the order "first name alone" it is a first name
    unless only the surnames have it.
    """
    tokens = list(TOKEN.finditer(text, start, end))
    words = [token for token in tokens if not token["particle"]]
    if not words:
        return
    is_first = _first_names([word[0] for word in words], [bool(word["initial"]) for word in words], lists, order)
    labels = {word.start(): "PRENOM" if first else "NOM" for word, first in zip(words, is_first, strict=True)}
    spans: list[Span] = []
    begin = None
    for token in tokens:
        begin = token.start() if begin is None else begin
        if token["particle"]:
            continue
        label = labels[token.start()]
        if spans and spans[-1].label == label:
            spans[-1] = Span(spans[-1].start, token.end(), label)
        else:
            spans.append(Span(begin, token.end(), label))
        begin = None
    yield from spans


def _first_names(words: list[str], initials: list[bool], lists: NameLists, order: Order) -> list[bool]:
    surname_first = order == "surname"
    if len(words) == 1:
        is_first, is_last = lists.is_first(words[0]), lists.is_last(words[0])
        return [initials[0] or (is_first or not is_last if order == "first name alone" else is_first and not is_last)]
    capitals = [word.isupper() and not initial for word, initial in zip(words, initials, strict=True)]
    if any(capitals) and not all(capital or initial for capital, initial in zip(capitals, initials, strict=True)):
        known = [folded(word) not in WRITTEN_PARTICLES for word in words]
        return [not capital and good for capital, good in zip(capitals, known, strict=True)]
    first = [initial or lists.is_first(word) for word, initial in zip(words, initials, strict=True)]
    if any(initials):
        return initials
    if all(first):  # Paul Martin, Marie Claude Simon
        return [bool(number) if surname_first else number < len(words) - 1 for number in range(len(words))]
    if not any(first):
        only_surnames = surname_first or folded(words[0]) in WRITTEN_PARTICLES
        return [number == 0 and not only_surnames for number in range(len(words))]
    if first[0]:
        return [all(first[: number + 1]) for number in range(len(words))]
    return [all(first[number:]) for number in range(len(words))]
