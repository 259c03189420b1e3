"""DOCX files: the body with text boxes and content controls, as the last saved version shows it, then the notes.

Headers and footers, comments, deleted and hidden text are left out, and so are the numbers that a list gives its items.
"""

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
from preprocess.readers.conversion.symbols import symbol, with_symbols
from preprocess.readers.markup.xml_text import Shape, lines_of

MAIN = "word/document.xml"  # its usual name
PARAGRAPH = frozenset({"p"})
# `Fallback` repeats a drawing for old programs; `del` and `moveFrom` hold what a tracked change removed.
LEFT_OUT = ("Fallback", "del", "moveFrom", "instrText", "delText", "comments")
TEXT = {"tab": "\t", "ptab": "\t", "noBreakHyphen": "‑"}
SHAPE = Shape(PARAGRAPH | {"br", "cr", "tbl", "layout-row"}, row="tr", inner=frozenset({"tbl"}))
ALTERNATIVE = "parts of another format in DOCX files, not read"
OFF = ("0", "false", "off")


def read_docx(data: bytes) -> Content:
    """The text of a DOCX file. Raises Fault."""
    container = Container(data)
    name = _main_part(container)
    root = _tree(container, name)
    noted = _notes(container, name, root)
    for element in [node for tag in LEFT_OUT for node in root.iter(tag)]:
        remove(element)
    for run in list(root.iter("r")):
        _set_text(run)
    for box in list(root.iter("txbxContent")):
        if (paragraph := above(box, PARAGRAPH)) is not None:
            move_before(box, paragraph)
    mark_layout_rows(root, "tr", "tc", PARAGRAPH)
    count = sum(1 for _ in root.iter("altChunk"))
    return Content([*lines_of(root, SHAPE), *noted], notes={ALTERNATIVE: count} if count else {})


def _main_part(container: Container) -> str:
    """The name of the part that the package calls its document."""
    if container.has(MAIN) or not container.has("_rels/.rels"):
        return MAIN
    for relation in container.tree("_rels/.rels"):
        if attribute(relation, "Type").endswith("/officeDocument"):
            return attribute(relation, "Target").lstrip("/")
    return MAIN


def _tree(container: Container, name: str) -> etree._Element:
    """The tree of a part with no text but that of runs: drawings hold numbers as text."""
    root = container.tree(name)
    for element in root.iter(etree.Element):
        element.tail = None
        if element.tag != "t":
            element.text = None
    return root


def _notes(container: Container, main: str, root: etree._Element) -> list[str]:
    """The lines of the footnotes and endnotes that the body refers to."""
    lines: list[str] = []
    for kind in ("footnote", "endnote"):
        called = {attribute(reference, "id") for reference in root.iter(f"{kind}Reference")}
        name = f"{main.rpartition('/')[0]}/{kind}s.xml"
        for note in _tree(container, name) if called and container.has(name) else ():
            for run in list(note.iter("r")):
                _set_text(run)
            lines += lines_of(note, SHAPE) if attribute(note, "id") in called else []
    return lines


def _set_text(run: etree._Element) -> None:
    """Leave of a run what is to be read: characters of fonts and raised digits as text, nothing of a hidden run."""
    settings = run.find("rPr")
    if settings is not None:
        hidden = settings.find("vanish")
        if hidden is not None and attribute(hidden, "val") not in OFF:
            remove(run)
            return
    moved = _moved(settings)
    for part in run:
        if part.tag == "t":
            part.tag = moved or part.tag
            part.text = with_symbols(part.text or "", _font(settings))
        elif part.tag == "sym":
            part.text = symbol(_code(attribute(part, "char")), attribute(part, "font"))
        elif part.tag == "fldChar":
            part.text = _form_value(part)
        elif part.tag in TEXT:
            part.text = TEXT[part.tag]


def _font(settings: etree._Element | None) -> str:
    fonts = None if settings is None else settings.find("rFonts")
    return "" if fonts is None else attribute(fonts, "ascii") or attribute(fonts, "hAnsi")


def _form_value(field: etree._Element) -> str:
    """A box of a form, or the entry that was chosen from a list; "" for another field."""
    box, choices = field.find("ffData/checkBox"), field.find("ffData/ddList")
    if box is not None:
        state = next((found for name in ("checked", "default") if (found := box.find(name)) is not None), None)
        return "☒" if state is not None and attribute(state, "val") not in OFF else "☐"
    if choices is None:
        return ""
    entries, chosen = [attribute(entry, "val") for entry in choices.iter("listEntry")], choices.find("result")
    number = attribute(chosen, "val") if chosen is not None else "0"
    return entries[int(number)] if number.isdecimal() and int(number) < len(entries) else ""


def _moved(settings: etree._Element | None) -> str:
    """The tag for raised or lowered text, as in HTML."""
    place = None if settings is None else settings.find("vertAlign")
    return {"superscript": "sup", "subscript": "sub"}.get("" if place is None else attribute(place, "val"), "")


def _code(digits: str) -> int:
    try:
        return int(digits, 16)
    except ValueError:
        return 0
