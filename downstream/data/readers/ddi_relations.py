"""The DDI corpus's pairs: every two drugs of a sentence, and how they interact; ddi_xml has the form of the files."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers.ddi_xml import attribute, document_of, fragments_of, is_there, place_of, text_of
from downstream.data.readers.records import distinct

NOT_FOR_RELATIONS = "Test for DrugNER task"


def read(path: Path, labels: Labels, counts: Counter) -> list[Relation]:
    """The pairs of the XML files of a folder, at any depth, or of one file; their group is the document.

    Labels are the types advise, effect, int and mechanism; false for drugs that do not interact; true for the one pair
    of the corpus that interacts in a way not said. Mentions in several pieces go from the first to the last, counted.
    A mention whose text is not at its offsets stays there, so that no pair is lost, and is counted (there is one).

    Raises InputError for what is no XML of this form, a pair without its mentions, offsets outside the sentence, and
    for a folder that holds the test set of the entity task, whose pairs were never annotated.
    """
    if any(path.rglob(NOT_FOR_RELATIONS)) or NOT_FOR_RELATIONS in path.parts:
        raise InputError(
            f"{path}: holds {NOT_FOR_RELATIONS!r}, where pairs are not annotated; give 'Test for DDI Extraction task'."
        )
    pairs = (pair for file in files_of(path, ".xml") for pair in _pairs(file, labels, counts))
    return distinct(pairs, counts)


def _pairs(file: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    document = document_of(file)
    group = attribute(document, "id", file)
    for sentence in document.iter("sentence"):
        text = text_of(sentence, file)
        mentions = {attribute(one, "id", file): _mention(one, text, file, counts) for one in sentence.iter("entity")}
        for pair in sentence.iter("pair"):
            place, name = place_of(pair, file), attribute(pair, "id", file)
            label = labels.keep(_label(pair, file), place, counts, "relations")
            first, second = (mentions.get(pair.get(end, "")) for end in ("e1", "e2"))
            if first is None or second is None:
                raise InputError(
                    f"{place}: the pair {name!r} has an entity that is not in the sentence; mend the pair."
                )
            if label is not None:
                yield place, Relation(name, text, label, (first, second), group)


def _label(pair: etree._Element, file: Path) -> str:
    interacts = attribute(pair, "ddi", file)
    return pair.get("type", "true") if interacts == "true" else interacts


def _mention(entity: etree._Element, text: str, file: Path, counts: Counter) -> Mention:
    fragments = fragments_of(entity, text, file)
    counts["discontinuous mentions (hull)"] += len(fragments) > 1
    counts["mentions whose text is not at their offsets"] += not is_there(entity, text, fragments)
    return Mention(fragments[0][0], fragments[-1][1], attribute(entity, "type", file))
