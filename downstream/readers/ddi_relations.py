"""The DDI corpus (Herrero-Zazo et al., 2013): an XML file a document, every two drugs of a sentence annotated."""

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from downstream.documents import Labels
from downstream.files import InputError, files_of, read_text
from downstream.items import Mention, Relation
from downstream.readers.records import distinct

NOT_FOR_RELATIONS = "Test for DrugNER task"


def read(path: Path, labels: Labels, counts: Counter) -> list[Relation]:
    """The pairs of the XML files of a folder, at any depth, or of one file; their group is the document.

    Labels are the types advise, effect, int and mechanism; false for drugs that do not interact; true for the one pair
    of the corpus that interacts in a way not said. Mentions in several pieces go from the first to the last, counted.

    Raises InputError for broken XML, a pair without its mentions, offsets that do not fit the text, and for a folder
    that holds the test set of the entity task, whose pairs were never annotated.
    """
    if any(path.rglob(NOT_FOR_RELATIONS)) or NOT_FOR_RELATIONS in path.parts:
        raise InputError(
            f"{path}: holds {NOT_FOR_RELATIONS!r}, where pairs are not annotated; give 'Test for DDI Extraction task'."
        )
    pairs = (pair for file in files_of(path, ".xml") for pair in _pairs(file, labels, counts))
    return distinct(pairs, counts)


def _pairs(file: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    try:
        document = ElementTree.fromstring(read_text(file).removeprefix("\ufeff"))
    except ElementTree.ParseError as error:
        raise InputError(f"{file}, line {error.position[0]}: not XML ({error}); fetch the file again.") from None
    group = _attribute(document, "id", f"{file}")
    for sentence in document.iter("sentence"):
        place = f"{file}, sentence {sentence.get('id')}"
        text = _attribute(sentence, "text", place)
        mentions = {one.get("id"): _mention(one, text, place, counts) for one in sentence.findall("entity")}
        for pair in sentence.findall("pair"):
            name = _attribute(pair, "id", place)
            label = labels.keep(_label(pair, f"{file}, pair {name}"), f"{file}, pair {name}", counts, "relations")
            if not {pair.get("e1"), pair.get("e2")} <= mentions.keys():
                raise InputError(f"{file}, pair {name}: one of its entities is not in the sentence; mend the pair.")
            if label is not None:
                arguments = mentions[pair.get("e1")], mentions[pair.get("e2")]
                yield f"{file}, pair {name}", Relation(name, text, label, arguments, group)


def _attribute(element: ElementTree.Element, name: str, place: str) -> str:
    value = element.get(name)
    if value is None:
        raise InputError(f"{place}: a <{element.tag}> has no {name}; mend the file.")
    return value


def _label(pair: ElementTree.Element, place: str) -> str:
    interacts = _attribute(pair, "ddi", place)
    return pair.get("type", "true") if interacts == "true" else interacts


def _mention(entity: ElementTree.Element, text: str, place: str, counts: Counter) -> Mention:
    offsets = _attribute(entity, "charOffset", place)
    try:
        fragments = sorted(
            (int(start), int(last) + 1) for start, last in (one.split("-") for one in offsets.split(";"))
        )
    except ValueError:
        raise InputError(f"{place}: charOffset {offsets!r} is not of the form 3-8 or 3-8;12-15; mend it.") from None
    counts["discontinuous mentions (hull)"] += len(fragments) > 1
    start, end = fragments[0][0], fragments[-1][1]
    whole = len(fragments) > 1 or text[start:end] == entity.get("text")
    if not 0 <= start < end <= len(text) or not whole:
        raise InputError(f"{place}: at {offsets} the text is not {entity.get('text')!r}; mend the offsets.")
    return Mention(start, end, _attribute(entity, "type", place))
