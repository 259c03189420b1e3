"""The XML inside a zip container, as DOCX and ODT files have it, within bounds of memory."""

import io
import zipfile
import zlib

from lxml import etree

from preprocess.readers.read_log import Fault

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the form of .doc, and of an encrypted .docx
MOST_ENTRIES = 20_000
LARGEST = 100_000_000  # bytes of an unpacked part: the text of some 50 books
OPEN_AND_SAVE = "open it with its own program and save it again"
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


class Container:
    """A zip file in memory. Raises Fault for one that is damaged, encrypted or grows beyond bounds."""

    def __init__(self, data: bytes):
        if data.startswith(OLE):
            raise Fault("an encrypted or an old Microsoft Office file", "save it as .docx without a password")
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(data))
        except DAMAGE as error:
            raise Fault("a damaged zip container", OPEN_AND_SAVE, str(error)) from None
        if len(self.zip.infolist()) > MOST_ENTRIES:
            raise Fault("a zip container of too many files", OPEN_AND_SAVE, f"more than {MOST_ENTRIES:,}")

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return name in self.zip.NameToInfo

    def read(self, name: str) -> bytes:
        """The bytes of a file in it."""
        try:
            info = self.zip.getinfo(name)
        except KeyError:
            raise Fault("a zip container without its main part", OPEN_AND_SAVE, name) from None
        if info.flag_bits & 1:
            raise Fault("an encrypted file", "save it without its password")
        try:
            with self.zip.open(info) as part:
                data = part.read(LARGEST + 1)
        except DAMAGE as error:
            raise Fault("a damaged zip container", OPEN_AND_SAVE, str(error)) from None
        if len(data) > LARGEST:
            raise Fault(f"a part of more than {LARGEST // 1_000_000} MB", "divide the document")
        return data

    def tree(self, name: str) -> etree._Element:
        """The tree of an XML file in it; names are without namespaces. Nothing outside the file is opened."""
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True,
            remove_pis=True, remove_blank_text=True,
        )  # fmt: skip
        try:
            root = etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError as error:
            raise Fault("broken XML in a zip container", OPEN_AND_SAVE, f"{name}: {error}"[:200]) from None
        for element in root.iter(etree.Element):
            element.tag = element.tag.rpartition("}")[2]
        return root


def attribute(element: etree._Element, name: str) -> str:
    """The attribute of this name in whatever namespace, "" if there is none."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def remove(element: etree._Element) -> None:
    """Take an element out of its tree; the text behind it stays."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    element.tail = None
    parent.remove(element)


def move_before(element: etree._Element, block: etree._Element) -> None:
    """Put an element before the block around it, such as a text box before its paragraph."""
    remove(element)
    block.addprevious(element)


def above(element: etree._Element, tags: frozenset[str]) -> etree._Element | None:
    """The nearest element around it that has one of these tags."""
    return next((node for node in element.iterancestors() if node.tag in tags), None)


def mark_layout_rows(root: etree._Element, row: str, cell: str, blocks: frozenset[str]) -> None:
    """Rename the rows of a table that only places text on the page: a cell has two or more paragraphs."""
    for line in root.iter(row):
        for own in line.iterchildren(cell):
            if sum(bool("".join(block.itertext()).strip()) for block in own.iterchildren(*blocks)) > 1:
                line.tag = "layout-row"
                break
