"""ChemProt as SciBERT has it: JSON lines of a sentence in which << >> and [[ ]] stand around the two mentions."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers.records import distinct, field, json_lines

FIRST = re.compile(r"<< (.+?) >>")
SECOND = re.compile(r"\[\[ (.+?) \]\]")


def read(path: Path, labels: Labels, counts: Counter) -> list[Relation]:
    """A pair of mentions a line, first << >>, then [[ ]], as offsets into the sentence without these signs.

    The 13 labels are ChemProt's relation types; there are no unrelated pairs. The files do not say which mention is the
    chemical and which the protein: both are ENTITY. Nor do they say the document: the group is the sentence. Raises
    InputError for a sentence in which each pair of signs does not stand exactly once.
    """
    return distinct(_items(path, labels, counts), counts)


def _items(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    for file in files_of(path, ".txt", ".jsonl"):
        for number, record in json_lines(file):
            place = f"{file}, line {number}"
            label = labels.keep(field(record, "label", str, place), place, counts, "relations")
            if label is not None:
                text, mentions = _without_signs(field(record, "text", str, place), place)
                yield place, Relation(f"{file.stem}-{number}", text, label, mentions, group=text)


def _without_signs(marked: str, place: str) -> tuple[str, tuple[Mention, Mention]]:
    first, second = FIRST.search(marked), SECOND.search(marked)
    if first is None or second is None or marked.count("<< ") != 1 or marked.count("[[ ") != 1:
        raise InputError(f"{place}: one << mention >> and one [[ mention ]] are needed; mend the sentence.")
    earlier, later = sorted((first, second), key=lambda match: match.start())
    if later.start() < earlier.end():
        raise InputError(f"{place}: the two mentions overlap, which these signs cannot say; mend the sentence.")
    between = marked[earlier.end() : later.start()]
    text = marked[: earlier.start()] + earlier[1] + between + later[1] + marked[later.end() :]
    start = earlier.start() + len(earlier[1]) + len(between)
    places = {
        earlier: Mention(earlier.start(), earlier.start() + len(earlier[1]), "ENTITY"),
        later: Mention(start, start + len(later[1]), "ENTITY"),
    }
    return text, (places[first], places[second])
