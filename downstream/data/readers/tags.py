"""Tagged tokens, as columns and JSON lines hold them: the text rebuilt, and the entities that the tags mean.

The raw text is not in such files. `spacing` says how it is rebuilt: `french` (the default) puts no space where French
has none ("l'observation d'un foie (droit)."), `spaces` puts one between all tokens. Each sentence is a line. Words are
split around punctuation, so both have the same words, and the same scores for the same answers.
"""

import re
from collections import Counter
from typing import NamedTuple

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText, Entity, Labels

BEGINS = "BSU"  # B (IOB2, IOBES, BILOU), S (IOBES) and U (BILOU) open an entity
CONTINUES = "IEL"  # I, E (IOE2, IOBES) and L (BILOU) go on with one, or open one after anything else (IOB1, IO)
CLOSES = "ESLU"  # after these the next I opens a new entity

FRENCH, SPACES = "french", "spaces"
APOSTROPHES = ("'", "’")
ELISIONS = set("c d j l m n s t qu jusqu lorsqu puisqu quoiqu presqu".split())
CLOSES_UP = {",", ".", ")", "]", "}", "…", "..."}  # no space before; : ; ! ? » and % have one in French
OPENS_UP = {"(", "[", "{"}  # no space after
CLITIC = re.compile(r"-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous|ce|ci|là|mêmes?|moi|toi|lui|leur|les?|la|y|en)", re.I)


class Token(NamedTuple):
    """A token with its tag as it is written; `place` names file and line for an error."""

    text: str
    tag: str
    place: str


def rebuild(
    name: str, sentences: list[list[Token]], labels: Labels, counts: Counter, spacing: str = FRENCH
) -> AnnotatedText:
    """The document of these sentences. An I that continues nothing opens an entity, as conlleval has it; counted.

    Raises InputError for a spacing that there is not, and for a tag that means nothing.
    """
    if spacing not in (FRENCH, SPACES):
        raise InputError(f"spacing is {spacing!r}; choose {FRENCH} or {SPACES} under the recipe's reader.")
    text, entities = "", []
    for sentence in sentences:
        offsets, words = [], [token.text for token in sentence]
        for place, word in enumerate(words):
            if place and (spacing == SPACES or is_spaced(words[:place], word)):
                text += " "
            offsets.append((len(text), len(text) + len(word)))
            text += word
        text += "\n"
        entities += _entities(sentence, offsets, labels, counts)
    return AnnotatedText(name, text, entities)


def is_spaced(before: list[str], word: str) -> bool:
    """Whether French puts a space between the words before and this one."""
    last = before[-1]
    if last in APOSTROPHES:
        return not (len(before) > 1 and before[-2].lower() in ELISIONS)
    if word in APOSTROPHES:
        return last.lower() not in ELISIONS
    elided = last.endswith(APOSTROPHES) and last[:-1].lower() in ELISIONS
    return not (elided or last in OPENS_UP or word in CLOSES_UP or CLITIC.fullmatch(word))


def _entities(sentence: list[Token], offsets: list[tuple[int, int]], labels: Labels, counts: Counter) -> list[Entity]:
    found: list[list] = []  # label (None if the recipe drops it), start, end
    letter_before, label_before = "O", None
    for token, (start, end) in zip(sentence, offsets, strict=True):
        letter, label = _parse(token, labels)
        opens = letter in BEGINS or letter_before in CLOSES or label_before != label
        if label is not None and opens:
            counts["entities opened by an I"] += letter not in BEGINS
            found.append([labels.keep(label, token.place, counts), start, end])
        elif label is not None:
            found[-1][2] = end
        letter_before, label_before = letter, label
    return [Entity(label, ((start, end),)) for label, start, end in found if label is not None]


def _parse(token: Token, labels: Labels) -> tuple[str, str | None]:
    """Letter and type (None for O) of a tag: B-TYPE, CAS's B_TYPE, or the B of sets of one type (BioBERT, BLUE)."""
    if token.tag == "O":
        return "O", None
    letter, joint, label = token.tag[:1], token.tag[1:2], token.tag[2:]
    if not joint and len(labels.types) == 1:
        joint, label = "-", labels.types[0]
    if letter not in tuple(BEGINS + CONTINUES) or joint not in ("-", "_") or not label:
        raise InputError(
            f"{token.place}: {token.tag!r} is not a label; use O, or B- or I- (or E-, S-, L-, U-) and a type, which "
            "may be left out only where the recipe has just one."
        )
    return letter, label
