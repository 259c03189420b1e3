"""The DDI corpus's XML (Herrero-Zazo et al., 2013), a document a file: sentences, drugs at offsets, pairs of these."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from alibert_common.errors import InputError
from alibert_common.files import files_of
from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.examples import Mention, Relation
from downstream.data.readers.records import distinct

NOT_FOR_RELATIONS = "Test for DrugNER task"


def read(path: Path, labels: Labels, counts: Counter) -> list[AnnotatedText]:
    """One document an .xml file, at any depth of the folder; each sentence is a line of its text.

    A drug whose text is not at its offsets is left out and counted (there is one in the corpus of 2013). Interactions
    are not read. Raises InputError for what is no XML of this form, and for offsets outside the sentence.
    """
    documents = []
    for file in files_of(path, ".xml"):
        root, text, entities = _document_of(file), "", []
        for sentence in root.iter("sentence"):
            own = _text_of(sentence, file)
            for drug in sentence.iter("entity"):
                fragments = _fragments_of(drug, own, file)
                if not _is_there(drug, own, fragments):
                    counts["entities whose text is not at their offsets"] += 1
                    continue
                label = labels.keep(_attribute(drug, "type", file), _place_of(drug, file), counts)
                if label is not None:
                    entities.append(
                        Entity(label, tuple((start + len(text), end + len(text)) for start, end in fragments))
                    )
            text += own + "\n"
        documents.append(AnnotatedText(_attribute(root, "id", file), text, entities))
    return documents


@distinct
def read_relations(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, Relation]]:
    """The pairs of the XML files of a folder, at any depth, or of one file; their group is the document.

    Labels are the types advise, effect, int and mechanism; false for drugs that do not interact; true for the one pair
    of the corpus that interacts in a way not said. Mentions in several pieces go from the first to the last, counted.
    A mention whose text is not at its offsets stays there, so that no pair is lost, and is counted (there is one).
    Raises InputError for a file that is not XML of this form, a pair without its mentions, and offsets outside the
    sentence. It also refuses the test set of the entity task, whose pairs were never annotated.
    """
    if any(path.rglob(NOT_FOR_RELATIONS)) or NOT_FOR_RELATIONS in path.parts:
        raise InputError(
            f"{path}: holds {NOT_FOR_RELATIONS!r}, where pairs are not annotated; give 'Test for DDI Extraction task'."
        )
    for file in files_of(path, ".xml"):
        document = _document_of(file)
        group = _attribute(document, "id", file)
        for sentence in document.iter("sentence"):
            text = _text_of(sentence, file)
            drugs = {
                _attribute(drug, "id", file): _mention(drug, text, file, counts) for drug in sentence.iter("entity")
            }
            for pair in sentence.iter("pair"):
                place, name, interacts = (
                    _place_of(pair, file),
                    _attribute(pair, "id", file),
                    _attribute(pair, "ddi", file),
                )
                label = pair.get("type", "true") if interacts == "true" else interacts
                label = labels.keep(label, place, counts, "relations")
                first, second = (drugs.get(pair.get(end, "")) for end in ("e1", "e2"))
                if first is None or second is None:
                    raise InputError(
                        f"{place}: the pair {name!r} has an entity that is not in the sentence; correct the pair."
                    )
                if label is not None:
                    yield place, Relation(name, text, label, (first, second), group)


def _mention(drug: etree._Element, text: str, file: Path, counts: Counter) -> Mention:
    fragments = _fragments_of(drug, text, file)
    counts["discontinuous mentions (hull)"] += len(fragments) > 1
    counts["mentions whose text is not at their offsets"] += not _is_there(drug, text, fragments)
    return Mention(fragments[0][0], fragments[-1][1], _attribute(drug, "type", file))


def _document_of(file: Path) -> etree._Element:
    """The root, in the encoding that the file declares (UTF-8 if none)."""
    try:  # offline, and no entity of the file's own is expanded
        root = etree.fromstring(file.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        reason = " ".join(error.msg.split()).rstrip(".")
        raise InputError(
            f"{file}, line {error.lineno}: not XML ({reason}); copy the file again, or correct it."
        ) from None
    if root.tag != "document":
        raise InputError(f"{file}: its root is <{root.tag}>, not the <document> of the DDI corpus; check the format.")
    return root


def _place_of(element: etree._Element, file: Path) -> str:
    return f"{file}, line {element.sourceline}"


def _attribute(element: etree._Element, name: str, file: Path) -> str:
    value = element.get(name)
    if value is None:
        raise InputError(f"{_place_of(element, file)}: a <{element.tag}> has no {name}; correct the file.")
    return value


def _text_of(sentence: etree._Element, file: Path) -> str:
    """A sentence is one line: a line break in it is a space, so that offsets stay."""
    return _attribute(sentence, "text", file).replace("\r", " ").replace("\n", " ")


def _fragments_of(drug: etree._Element, text: str, file: Path) -> tuple[tuple[int, int], ...]:
    """Where it stands in the text of its sentence: sorted (start, end) pairs, end excluded (included in the file)."""
    place = _place_of(drug, file)
    try:
        pairs = [tuple(map(int, pair.split("-"))) for pair in drug.get("charOffset", "").split(";")]
        fragments = tuple(sorted((start, last + 1) for start, last in pairs))
    except ValueError:
        raise InputError(f'{place}: not offsets of the form charOffset="0-7" or "3-8;12-15"; correct them.') from None
    for start, end in fragments:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start}-{end - 1} lie outside the {len(text)} characters of the sentence; "
                "correct them."
            )
    return fragments


def _is_there(drug: etree._Element, text: str, fragments: tuple[tuple[int, int], ...]) -> bool:
    """Whether its text is at its offsets. White space may differ, as in `mu-selective` for `mu-` and `selective`."""
    quoted = "".join(text[start:end] for start, end in fragments)
    return "".join(quoted.split()) == "".join(drug.get("text", "").split())
