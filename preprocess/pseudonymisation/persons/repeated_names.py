"""Names that a document or its caller gave, wherever the document has them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.persons.eponyms import NO_NAMES, is_eponym
from preprocess.pseudonymisation.persons.name_lists import WORDS, NameLists
from preprocess.pseudonymisation.persons.name_parts import PARTICLE
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import folded

SHORTEST = 3  # letters
BETWEEN = "-'‑–,^()_/"  # signs between the parts of a name
# In lower case, a word after these is a noun.
NOUN_BEFORE = re.compile(
    r"(?:(?<!\w)(?:le|la|les|un|une|des|du|au|aux|ce|cet|cette|ces|son|sa|ses|leur|de la|en|tres)\s+|l'|d')$"
)
BEGINNING = re.compile(r"(?:^|[\n.!?:•-])\s*$")
TITLE_BEFORE = re.compile(r"(?<!\w)(?:mme|mlle|mr?|monsieur|madame|dr|docteur|pr)\.?\s+$")


def repeated(clues: Clues, names: Sequence[Span]) -> Iterator[Span]:
    """Every other place of the names that were found with certainty, in any case, with accents or without.

    A word of French in lower case, or at the start of a sentence, stays; so does an eponym.
    """
    text, low = clues.text, clues.low
    labels: dict[str, str] = {}
    for start, end, label in names:
        for name in _with_parts(low[start:end]):
            labels[name] = "NOM" if "NOM" in (label, labels.get(name)) else label
    there = {(start, end) for start, end, _ in names}
    for start, end, name in _occurrences(low, labels):
        if (start, end) not in there and not _is_word(text, low, start, end, name) and not is_eponym(text, start):
            yield Span(start, end, labels[name])


def known_names(clues: Clues, known: Sequence[str], found: Sequence[Span], lists: NameLists) -> Iterator[Span]:
    """Every place of the names that the caller gives; eponyms too, for the patient's name must not stay.

    Those of the list are first names, and those that a rule has `found` as first names.

    A French word in lower case counts only beside another name of the caller: "mme petit" with "Petit" and "Anne".
    """
    text, low = clues.text, clues.low
    first = {_plain(low[start:end]) for start, end, label in found if label == "PRENOM"}
    labels = {}
    for name in known:
        for part in _forms(name):
            listed = lists.is_first(part.replace(" ", "-")) and part not in lists.last
            labels[part] = "PRENOM" if listed or part in first else "NOM"
    places = list(_occurrences(low, labels))
    sure = {(start, end) for start, end, name in places if text[start].isupper() or _is_only_a_name(name)}
    beside = {start - 1 for start, _ in sure} | {end + 1 for _, end in sure}
    for start, end, name in places:
        if (
            (start, end) in sure
            or start in beside
            or end in beside
            or TITLE_BEFORE.search(low, max(0, start - 15), start)
        ):
            yield Span(start, end, labels[name])


def _is_only_a_name(name: str) -> bool:
    """Whether a name in lower case is no other word: long enough, and none of the known ones."""
    return len(name) >= SHORTEST and name not in WORDS and name not in NO_NAMES


def _forms(name: str) -> Iterator[str]:
    """A name of the caller and its parts, also short ones and those that are other words; œ may be written oe."""
    composed = unicodedata.normalize("NFC", name)
    for written in {composed, composed.replace("œ", "oe").replace("Œ", "OE")}:
        plain = _plain(folded(written))
        for part in {plain, *plain.split(" ")}:
            if len(part) > 1 and any(map(str.isalpha, part)) and not (part != plain and re.fullmatch(PARTICLE, part)):
                yield part


def _plain(name: str) -> str:
    return re.sub(rf"[\s{re.escape(BETWEEN)}]+", " ", name).strip()


def _with_parts(name: str) -> Iterator[str]:
    """The name, and the parts that a hyphen or a space joins, without particles and initials."""
    name = _plain(name)
    if sum(map(str.isalpha, name)) >= SHORTEST and name not in NO_NAMES:
        yield name
    parts = name.split(" ")
    if len(parts) > 1:
        yield from (
            part for part in parts if len(part) > SHORTEST and part not in NO_NAMES and not re.fullmatch(PARTICLE, part)
        )


def _occurrences(low: str, names: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Where the names are, whatever parts their words."""
    plain = low
    for sign in f"{BETWEEN}\n\u00a0\u202f":
        plain = plain.replace(sign, " ")
    for name in names:
        start = plain.find(name)
        while start >= 0:
            end = start + len(name)
            if not (plain[start - 1 : start].isalnum() or plain[end : end + 1].isalnum()):
                yield start, end, name
            start = plain.find(name, end)


def _is_word(text: str, low: str, start: int, end: int, name: str) -> bool:
    """Whether the name is a word of French here."""
    if text[start].isupper():
        begins = BEGINNING.search(text, max(0, start - 5), start)
        return name in WORDS and not text[start:end].isupper() and bool(begins)
    return name in WORDS or bool(NOUN_BEFORE.search(low, max(0, start - 8), start))
