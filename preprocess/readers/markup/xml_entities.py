"""References to entities (`&med;`) in XML become the text that the file declares, or that HTML gives the name.

Nothing outside the file is read. A declared text is bounded, and so is what all references add to a record: a file
cannot fill the memory. A reference to anything else stays as it is written and is counted.
"""

import html
import re

from lxml import etree

from preprocess.readers.read_log import ReadLog

LONGEST = 10_000  # characters of one entity
MOST_ADDED = 1_000_000  # characters that references add to a record
REFERENCE = re.compile(r"&([^&;\s]+);")  # to an entity, or by number to a character


def resolve_entities(record: etree._Element, log: ReadLog) -> None:
    """Put text in the place of the references in a record."""
    references = list(record.iter(etree.Entity))
    if not references:
        return
    dtd = record.getroottree().docinfo.internalDTD
    declared = {} if dtd is None else {entity.name: entity.content for entity in dtd.iterentities()}
    texts: dict[str, str | None] = {}
    added = 0
    for reference in references:
        text = _text_of(reference.name, declared, texts)
        added += len(text or "")
        if text is None or added > MOST_ADDED:
            log.note("XML entities left as written, because the file does not declare their text")
        else:
            _replace(reference, text)


def _text_of(name: str, declared: dict[str, str | None], texts: dict[str, str | None]) -> str | None:
    """The text of an entity, references in it resolved; None for markup, other files and what is too long."""
    if name not in declared:
        text = html.unescape(f"&{name};")
        return None if text == f"&{name};" else text
    if name not in texts:
        texts[name] = None  # of an entity that refers to itself
        content = declared[name]
        if content is not None and "<" not in content:
            parts = REFERENCE.split(content)  # text, name, text, name, ...
            parts[1::2] = [_text_of(inner, declared, texts) for inner in parts[1::2]]
            if None not in parts and sum(map(len, parts)) <= LONGEST:
                texts[name] = "".join(parts)
    return texts[name]


def _replace(reference: etree._Element, text: str) -> None:
    before, parent = reference.getprevious(), reference.getparent()
    text += reference.tail or ""
    if before is None:
        parent.text = (parent.text or "") + text
    else:
        before.tail = (before.tail or "") + text
    parent.remove(reference)
