"""Tagged tokens, as columns and JSON lines hold them: the text rebuilt, and the entities that the tags mean.

The raw text is not in such files: one space is put between tokens, and each sentence is a line.
"""

from collections import Counter
from typing import NamedTuple

from alibert_common.errors import InputError
from downstream.data.annotated_text import Document, Entity, Labels

BEGINS = "BSU"  # B (IOB2, IOBES, BILOU), S (IOBES) and U (BILOU) open an entity
CONTINUES = "IEL"  # I, E (IOE2, IOBES) and L (BILOU) go on with one, or open one after anything else (IOB1, IO)
CLOSES = "ESLU"  # after these the next I opens a new entity


class Token(NamedTuple):
    """A token with its tag as it is written; `place` names file and line for an error."""

    text: str
    tag: str
    place: str


def rebuild(name: str, sentences: list[list[Token]], labels: Labels, counts: Counter) -> Document:
    """The document of these sentences. An I that continues nothing opens an entity, as conlleval has it; counted."""
    lines, entities, start = [], [], 0
    for sentence in sentences:
        offsets = []
        for token in sentence:
            offsets.append((start, start + len(token.text)))
            start += len(token.text) + 1  # a space, or the end of the line
        lines.append(" ".join(token.text for token in sentence) + "\n")
        entities += _entities(sentence, offsets, labels, counts)
    return Document(name, "".join(lines), entities)


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
