"""The DDI corpus's XML (Herrero-Zazo et al., 2013), a document a file: what readers of drugs and of pairs share."""

from pathlib import Path

from lxml import etree

from alibert_common.errors import InputError


def document_of(file: Path) -> etree._Element:
    """The root, in the encoding that the file declares (UTF-8 if none).

    Raises InputError for what is no XML, or XML of another form.
    """
    try:  # offline, and no entity of the file's own is expanded
        root = etree.fromstring(file.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        reason = " ".join(error.msg.split()).rstrip(".")
        raise InputError(f"{file}, line {error.lineno}: not XML ({reason}); copy the file again, or mend it.") from None
    if root.tag != "document":
        raise InputError(f"{file}: its root is <{root.tag}>, not the <document> of the DDI corpus; check the format.")
    return root


def place_of(element: etree._Element, file: Path) -> str:
    return f"{file}, line {element.sourceline}"


def attribute(element: etree._Element, name: str, file: Path) -> str:
    """Raises InputError for an element without it."""
    value = element.get(name)
    if value is None:
        raise InputError(f"{place_of(element, file)}: a <{element.tag}> has no {name}; mend the file.")
    return value


def text_of(sentence: etree._Element, file: Path) -> str:
    """A sentence is one line: a line break in it is a space, so that offsets stay."""
    return attribute(sentence, "text", file).replace("\r", " ").replace("\n", " ")


def fragments_of(entity: etree._Element, text: str, file: Path) -> tuple[tuple[int, int], ...]:
    """Where a drug stands in the text of its sentence: sorted (start, end) pairs, end excluded (included in the file).

    Raises InputError for offsets that are none, and for offsets outside the sentence.
    """
    place = place_of(entity, file)
    try:
        pairs = [tuple(map(int, pair.split("-"))) for pair in entity.get("charOffset", "").split(";")]
        fragments = tuple(sorted((start, last + 1) for start, last in pairs))
    except ValueError:
        raise InputError(f'{place}: not offsets of the form charOffset="0-7" or "3-8;12-15"; mend them.') from None
    for start, end in fragments:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{place}: offsets {start}-{end - 1} lie outside the {len(text)} characters of the sentence; mend them."
            )
    return fragments


def is_there(entity: etree._Element, text: str, fragments: tuple[tuple[int, int], ...]) -> bool:
    """Whether its text is at its offsets. White space may differ, as in `mu-selective` for `mu-` and `selective`."""
    found = "".join(text[start:end] for start, end in fragments)
    return "".join(found.split()) == "".join(entity.get("text", "").split())
