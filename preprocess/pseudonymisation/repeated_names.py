"""Names that a document or its caller gave, wherever the document has them."""

import re
from collections.abc import Iterator, Sequence

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.eponyms import NO_NAMES, is_eponym
from preprocess.pseudonymisation.name_lists import WORDS, NameLists
from preprocess.pseudonymisation.name_parts import PARTICLE
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import folded

SHORTEST = 3  # letters
# In lower case, a word after these is a noun.
NOUN_BEFORE = re.compile(r"(?:(?<!\w)(?:le|la|les|un|une|des|du|au|aux|ce|cet|cette|ces|son|sa|ses|leur|de la|en|tres)\s+|l'|d')$")
BETWEEN = r"[\s'-]{0,2}"


def repeated(clues: Clues, names: Sequence[Span]) -> Iterator[Span]:
    """Every other place of the names that were found with certainty, in any case, with accents or without.

    A word of French in lower case, or at the start of a sentence, stays; so does an eponym.
    """
    text, low = clues.text, clues.low
    labels: dict[str, str] = {}
    for start, end, label in names:
        for name in _with_parts(low[start:end]):
            labels[name] = "NOM" if "NOM" in (label, labels.get(name)) else label
    for found in _occurrences(low, labels):
        if not is_eponym(text, found.start()) and not _is_word(text, low, found):
            yield Span(found.start(), found.end(), labels[_plain(found[0])])


def known_names(clues: Clues, known: Sequence[str], lists: NameLists) -> Iterator[Span]:
    """Every place of the names that the caller gives; eponyms too, for the patient's name must not stay.

    A French word in lower case counts only beside another name of the caller: "mme petit" with "Petit" and "Anne".
    """
    text, low = clues.text, clues.low
    labels = {}
    for name in known:
        for part in _with_parts(folded(name).strip()):
            labels[part] = "PRENOM" if lists.is_first(part) and part not in lists.last else "NOM"
    places = list(_occurrences(low, labels))
    sure = {place.start(): place for place in places if not (_plain(place[0]) in WORDS and text[place.start()].islower())}
    ends = {place.end() for place in sure.values()}
    for place in places:
        titled = re.compile(r"(?<!\w)(?:mme|mlle|mr?|monsieur|madame|dr|docteur|pr)\.?\s+$").search(low, 0, place.start())
        if place.start() in sure or titled or place.start() - 1 in ends or place.end() + 1 in sure:
            yield Span(place.start(), place.end(), labels[_plain(place[0])])


def _plain(name: str) -> str:
    return re.sub(r"[\s'-]+", " ", name)


def _with_parts(name: str) -> Iterator[str]:
    """The name, and the parts that a hyphen or a space joins, without particles and initials."""
    name = _plain(name)
    if sum(map(str.isalpha, name)) >= SHORTEST and name not in NO_NAMES:
        yield name
    parts = name.split(" ")
    if len(parts) > 1:
        yield from (part for part in parts if len(part) > SHORTEST and part not in NO_NAMES and not re.fullmatch(PARTICLE, part))


def _occurrences(low: str, names: dict[str, str]) -> Iterator[re.Match]:
    """Their places, the longest name first."""
    there = [name for name in names if name.split(" ")[0] in low]
    if there:
        forms = (BETWEEN.join(map(re.escape, name.split(" "))) for name in sorted(there, key=len, reverse=True))
        for found in re.finditer(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)", low):
            if _plain(found[0]) in names:
                yield found


def _is_word(text: str, low: str, found: re.Match) -> bool:
    name = _plain(found[0])
    if text[found.start()].isupper():
        begins = re.compile(r"(?:^|[\n.!?:•-])\s*$").search(text, max(0, found.start() - 5), found.start())
        return name in WORDS and not found[0].isupper() and bool(begins)
    return name in WORDS or bool(NOUN_BEFORE.search(low, max(0, found.start() - 8), found.start()))
