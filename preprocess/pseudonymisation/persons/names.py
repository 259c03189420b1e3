"""Names of persons after words that announce them."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.persons.announcements import (
    AFTER_FIRST,
    AFTER_ROLE,
    ANNOUNCING,
    BORN,
    CLINICAL,
    FIRST_WORDS,
    LOWER_TITLED,
    MEMBER,
    NAME,
    NO_NAME_BEHIND,
    ORDERS,
    PLURAL,
    RELATIVE,
    SECOND,
    SHORT_TITLE,
    SIGNED,
    TITLE_WORDS,
    TITLED,
    WITH_FUNCTION,
)
from preprocess.pseudonymisation.persons.name_lists import WORDS, NameLists
from preprocess.pseudonymisation.persons.name_parts import INITIAL, Order, name_end, parts_of
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import CAPITALISED, LETTER, folded


def announced(clues: Clues, lists: NameLists) -> Iterator[Span]:
    """Names after a title, a role and a colon, a signature, or a word for a relative."""
    text = clues.text
    for pattern, words in ANNOUNCING.items():
        for found in clues.matches(pattern, words):
            if pattern in (AFTER_ROLE, SIGNED, RELATIVE, MEMBER) and _is_clinical(found, lists):
                continue
            if pattern in (SIGNED, RELATIVE, MEMBER) and not _is_person(found["name"], lists):
                continue
            if pattern in (BORN, WITH_FUNCTION) and " " not in found["name"] and not _is_listed(found["name"], lists):
                continue
            yield from _name(text, found, lists, ORDERS.get(pattern, "first name"))
            if pattern is TITLED and PLURAL.match(text, found.start()):
                yield from _others(text, found.end(), lists)
    for found in clues.matches(AFTER_FIRST, FIRST_WORDS):
        yield Span(found.start("name"), name_end(text, *found.span("name")), "PRENOM")
    for found in clues.matches(LOWER_TITLED, TITLE_WORDS):
        yield from _in_lower_case(found, lists)


def _name(text: str, found: re.Match, lists: NameLists, order: Order = "first name") -> Iterator[Span]:
    start, end = found.span("name")
    end = name_end(text, start, end)
    if end > start:
        yield from parts_of(text, start, end, lists, order)


def _others(text: str, end: int, lists: NameLists) -> Iterator[Span]:
    while found := SECOND.match(text, end):
        yield from _name(text, found, lists)
        end = found.end()


def _is_listed(name: str, lists: NameLists) -> bool:
    words = re.findall(CAPITALISED, name)
    return any(lists.is_first(word) or lists.is_last(word) for word in words) or bool(re.match(INITIAL, name))


def _is_person(name: str, lists: NameLists) -> bool:
    """Whether a word after "son fils" or "signé" is a name: of the lists, or a capitalised word that is no acronym."""
    word = re.findall(CAPITALISED, name)[:1]
    return bool(word) and (_is_listed(name, lists) or (len(word[0]) > 2 and not word[0].isupper()))


def _is_clinical(found: re.Match, lists: NameLists) -> bool:
    """Whether it is one capitalised word of medicine, and no name of the lists; all capitals may be a surname."""
    name = found["name"]
    may_be = CLINICAL.fullmatch(name) and not name.isupper() and not NAME.match(found[0])
    return bool(may_be) and not _is_listed(name, lists)


def _in_lower_case(found: re.Match, lists: NameLists) -> Iterator[Span]:
    start = found.start("name")
    for word in re.finditer(rf"{LETTER}[\w'’-]*", found["name"]):
        first, last = lists.is_first(word[0]), lists.is_last(word[0])
        if not (first or last or word.start()) and SHORT_TITLE.match(found[0]):
            last = not NO_NAME_BEHIND.fullmatch(word[0])
        if not (first or last) or folded(word[0]) in WORDS and word.start():
            return
        yield Span(
            start + word.start(), start + word.end(), "NOM" if last and not (first and not word.start()) else "PRENOM"
        )
