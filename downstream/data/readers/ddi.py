"""The DDI corpus's drugs: sentences with their text and their drugs at offsets, as ddi_xml has them."""

from collections import Counter
from pathlib import Path

from lxml import etree

from alibert_common.files import files_of
from downstream.data.annotated_text import AnnotatedText, Entity, Labels
from downstream.data.readers.ddi_xml import attribute, document_of, fragments_of, is_there, place_of, text_of


def read(path: Path, labels: Labels, counts: Counter) -> list[AnnotatedText]:
    """One document an .xml file, at any depth of the folder; each sentence is a line of its text.

    A drug whose text is not at its offsets is left out and counted (there is one in the corpus of 2013). Interactions
    are not read. Raises InputError for what is no XML of this form, and for offsets outside the sentence.
    """
    documents = []
    for file in files_of(path, ".xml"):
        root, text, entities = document_of(file), "", []
        for sentence in root.iter("sentence"):
            own = text_of(sentence, file)
            for element in sentence.iter("entity"):
                entities += _entity(element, own, len(text), file, labels, counts)
            text += own + "\n"
        documents.append(AnnotatedText(attribute(root, "id", file), text, entities))
    return documents


def _entity(
    element: etree._Element, sentence: str, shift: int, file: Path, labels: Labels, counts: Counter
) -> list[Entity]:
    """None or one; `shift` is where the sentence starts in the document."""
    fragments = fragments_of(element, sentence, file)
    if not is_there(element, sentence, fragments):
        counts["entities whose text is not at their offsets"] += 1
        return []
    label = labels.keep(attribute(element, "type", file), place_of(element, file), counts)
    if label is None:
        return []
    return [Entity(label, tuple((start + shift, end + shift) for start, end in fragments))]
