"""ODT files: the body with text frames, then the notes. Headers, footers, comments and deleted text are left out."""

from lxml import etree

from preprocess.readers.content import Content
from preprocess.readers.conversion.container import (
    Container,
    above,
    attribute,
    mark_layout_rows,
    move_before,
    remove,
)
from preprocess.readers.conversion.symbols import with_symbols
from preprocess.readers.markup.xml_text import Shape, lines_of
from preprocess.readers.read_log import Fault

BLOCKS = frozenset({"p", "h"})
LEFT_OUT = ("tracked-changes", "annotation", "forms", "title", "desc", "binary-data", "script", "note-citation")
SHAPE = Shape(BLOCKS | {"line-break", "table", "layout-row"}, row="table-row", inner=frozenset({"table", "sub-table"}))
MOST_SPACES = 1000  # that one element stands for


def read_odt(data: bytes) -> Content:
    """The text of an ODT file. Raises Fault."""
    container = Container(data)
    if container.has("META-INF/manifest.xml") and b"encryption-data" in container.read("META-INF/manifest.xml"):
        raise Fault("an encrypted file", "save it without its password")
    root = container.tree("content.xml")
    body = root.find("body/text")
    if body is None:
        raise Fault("an OpenDocument file without text", "save it as .odt, or leave it out")
    for element in [node for tag in LEFT_OUT for node in body.iter(tag)]:
        remove(element)
    _apply_styles(root, body)
    for space in body.iter("s", "tab"):
        count = attribute(space, "c")
        space.text = "\t" if space.tag == "tab" else " " * min(int(count) if count.isdigit() else 1, MOST_SPACES)
    noted = list(body.iter("note-body"))
    for note in noted:
        remove(note)
    for box in list(body.iter("text-box")):
        if (block := above(box, BLOCKS)) is not None:
            move_before(box, block)
    mark_layout_rows(body, "table-row", "table-cell", BLOCKS)
    return Content([with_symbols(line) for part in (body, *noted) for line in lines_of(part, SHAPE)])


def _apply_styles(root: etree._Element, body: etree._Element) -> None:
    """Rename raised and lowered spans as in HTML, and take out hidden ones."""
    styles = {attribute(style, "name"): _kind(style) for style in root.iter("style")}
    for span in list(body.iter("span")):
        kind = styles.get(attribute(span, "style-name"))
        if kind == "hidden":
            remove(span)
        elif kind:
            span.tag = kind


def _kind(style: etree._Element) -> str:
    properties = style.find("text-properties")
    if properties is None:
        return ""
    if attribute(properties, "display") == "none":
        return "hidden"
    place = attribute(properties, "text-position").partition(" ")[0]
    if place == "super" or place.rstrip("%").isdigit() and place.rstrip("%") != "0":
        return "sup"
    return "sub" if place == "sub" or place.startswith("-") else ""
