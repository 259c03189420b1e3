"""The DDI corpus's XML, a document a file: sentences with their text and their drugs at offsets (end included)."""

from collections import Counter
from pathlib import Path

from lxml import etree

from downstream.documents import Document, Entity, Labels
from downstream.files import InputError, files_of


def read(path: Path, labels: Labels, counts: Counter) -> list[Document]:
    """One document an .xml file, at any depth of the folder; each sentence is a line of its text.

    A drug whose text is not at its offsets is left out and counted (there is one in the corpus of 2013; white space
    between fragments may differ, as in `mu-selective` for `mu-` and `selective`). Interactions are not read.
    Raises InputError for what is no XML of this form, and for offsets outside the sentence.
    """
    documents = []
    for file in files_of(path, ".xml"):
        root, text, entities = _root(file), "", []
        for sentence in root.iter("sentence"):
            own = sentence.get("text", "").replace("\r", " ").replace("\n", " ")
            for element in sentence.iter("entity"):
                entities += _entity(element, own, len(text), f"{file}, line {element.sourceline}", labels, counts)
            text += own + "\n"
        documents.append(Document(root.get("id", file.stem), text, entities))
    return documents


def _root(file: Path) -> etree._Element:
    try:  # offline, and no entity of the file's own is expanded
        root = etree.fromstring(file.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{file}: not XML ({reason}); copy the file again, or mend it.") from None
    if root.tag != "document":
        raise InputError(f"{file}: its root is <{root.tag}>, not the <document> of the DDI corpus; check the format.")
    return root


def _entity(
    element: etree._Element, sentence: str, shift: int, place: str, labels: Labels, counts: Counter
) -> list[Entity]:
    """None or one; `shift` is where the sentence starts in the document."""
    try:
        pairs = [tuple(map(int, pair.split("-"))) for pair in element.get("charOffset", "").split(";")]
        fragments = sorted((start, last + 1) for start, last in pairs)
    except ValueError:
        raise InputError(f'{place}: not offsets of the form charOffset="0-7" or "3-8;12-15"; mend them.') from None
    for start, end in fragments:
        if not 0 <= start < end <= len(sentence):
            raise InputError(
                f"{place}: offsets {start}-{end - 1} lie outside the {len(sentence)} characters of the sentence; "
                "mend them."
            )
    found = " ".join(sentence[start:end] for start, end in fragments)
    if "".join(found.split()) != "".join(element.get("text", "").split()):
        counts["entities whose text is not at their offsets"] += 1
        return []
    label = labels.keep(element.get("type", ""), place, counts)
    if label is None:
        return []
    return [Entity(label, tuple((start + shift, end + shift) for start, end in fragments))]
