"""XML as a stream of records, each of which is a tree of its own; names are without namespaces.

lxml finds text in a record by XPath. Its parser opens nothing outside the file and refuses entities that grow; entities
of plain text are resolved within bounds. The memory is that of one record. Records inside a record are emptied, and
stay as long as it.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from lxml import etree

from alibert_common.errors import InputError
from preprocess.documents.compression import open_bytes
from preprocess.documents.document import PATIENT, Document
from preprocess.readers.dates import iso_date
from preprocess.readers.lines import LONGEST, encoding_of
from preprocess.readers.markup.xml_entities import resolve_entities
from preprocess.readers.markup.xml_text import Shape, lines_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import CommandError, ReadLog, readable, without_field
from preprocess.readers.records.record import lines_of_text

CHUNK = 1 << 16
XML_NAMESPACE = "{http://www.w3.org/XML/1998/namespace}"
LANGUAGES = ({"fr", "fre", "fra"}, {"en", "eng"})  # ISO 639: two letters, three in libraries, three
# Python's name: libxml2's
ENCODINGS = {
    "utf-8": "utf-8", "cp1252": "windows-1252", "iso8859-1": "iso-8859-1", "utf-16": "utf-16",
    "utf-16-le": "utf-16le", "utf-16-be": "utf-16be", "utf-32": "utf-32", "utf-32-le": "utf-32le",
    "utf-32-be": "utf-32be",
}  # fmt: skip
ANY = Shape(blocks=frozenset({"p", "head", "title", "item", "l", "lb", "div", "list-item"}))


def read_xml(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A document a record: its text is what the XPaths of `options` find in it, an element a line or more."""
    if not options.record or not options.text:
        raise CommandError(
            f"{readable(file)}: say which elements are records and which hold the text with --record-path and "
            f"--text-path, or give --format jats, pubmed or theses."
        )
    for number, record in enumerate(records_of(file, options, log, (options.record,)), 1):
        count_without_field(record, options, log)
        yield document_of_record(record, options, number, texts(record, options.text, ANY))


def document_of_record(
    record: etree._Element, options: ReadOptions, number: int, text: list[str], lists: Collection[str] = ()
) -> Document:
    """The document of a record whose text is known; metadata of the names in `lists` are lists even of one value."""
    name, date = ("".join(texts(record, [path], ANY)[:1]) for path in (options.id, options.date))
    values = {key: value for key, path in options.metadata.items() if (value := texts(record, [path], ANY))}
    metadata: dict = {key: value if key in lists or len(value) > 1 else value[0] for key, value in values.items()}
    if patient := "".join(texts(record, [options.patient], ANY)[:1]):
        metadata[PATIENT] = patient
    return Document(name or f"{options.name}-{number}", options.default_source, text, "", iso_date(date), metadata)


def records_of(file: Path, options: ReadOptions, log: ReadLog, names: tuple[str, ...]) -> Iterator[etree._Element]:
    """Stream the elements of these names; each is emptied when the next is asked for.

    Raises InputError where the XML is broken: what follows cannot be told apart any more.
    """
    encoding = encoding_of(file, options, log, "utf-8") if options.encoding else ""
    parser = etree.XMLPullParser(
        events=("end",), tag=[f"{{*}}{name}" for name in names], encoding=ENCODINGS.get(encoding),
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True,
    )  # fmt: skip
    count = since = 0
    with open_bytes(file, log) as handle:
        while True:
            chunk = handle.read(CHUNK)
            broken = _broken(parser, chunk)
            for _, record in parser.read_events():
                count, since = count + 1, 0
                resolve_entities(record, log)
                yield _without_namespaces(record)
                _forget(record, names)
            if broken:
                raise InputError(f"{readable(file)}, after record {count}: broken XML ({broken}); get the file again.")
            since += len(chunk)
            if since > LONGEST:
                raise InputError(
                    f"{readable(file)}, after record {count}: {LONGEST // 1_000_000} MB without the end of a "
                    f"{' or '.join(names)}; name the element that is a record with --record-path."
                )
            if not chunk:
                return


def count_without_field(record: etree._Element, options: ReadOptions, log: ReadLog) -> None:
    """Count the XPaths of the user that find nothing in a record."""
    for path in options.named_paths():
        if not find(record, path):
            log.note(without_field(path))


def texts(record: etree._Element, paths: Iterable[str], shape: Shape, language: str = "any") -> list[str]:
    """The lines that XPaths find; of elements, those in the language."""
    lines: list[str] = []
    for result in (result for path in paths for result in find(record, path)):
        if not isinstance(result, etree._Element):
            lines += lines_of_text(str(result))
        elif language == "any" or is_language(_language_of(result), language):
            lines += lines_of(result, shape)
    return lines


def _language_of(element: etree._Element) -> str:
    """The xml:lang of the element, or else of what holds it; empty if none has one."""
    codes = (node.get(f"{XML_NAMESPACE}lang") for node in (element, *element.iterancestors()))
    return next(filter(None, codes), "")


def is_language(code: str, language: str) -> bool:
    """Whether a code such as fr, fre or fr-CA is the language asked for; no code is any."""
    code, language = (name.lower().replace("_", "-").partition("-")[0] for name in (code, language))
    return language in ("any", code) or not code or any({code, language} <= same for same in LANGUAGES)


def find(record: etree._Element, path: str) -> list:
    """The elements or texts that an XPath finds, none for the empty path. Raises CommandError for no XPath."""
    try:
        results = _compiled(path)(record) if path else []
    except etree.XPathError as error:
        raise CommandError(f"path '{path}': {error}; see XPath 1.0, names without their prefix.") from None
    return results if isinstance(results, list) else [results]


@lru_cache(maxsize=256)  # more than all formats have; compiling one takes longer than asking a record with it
def _compiled(path: str) -> etree.XPath:
    return etree.XPath(path)


def _broken(parser: etree.XMLPullParser, chunk: bytes) -> str:
    try:
        parser.feed(chunk) if chunk else parser.close()
    except etree.XMLSyntaxError as error:
        first = next(iter(parser.feed_error_log), None)  # what is raised may be a consequence of it
        sentence = f"{first.message}, line {first.line}, column {first.column}" if first else str(error)
        return " ".join(sentence.split())
    return ""


def _without_namespaces(record: etree._Element) -> etree._Element:
    for element in record.iter(etree.Element):
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if "}" in name and not name.startswith(XML_NAMESPACE)]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))
    return record


def _forget(record: etree._Element, names: tuple[str, ...]) -> None:
    """Free the record and what stood before it, but for what belongs to a record around it."""
    inside = any(etree.QName(element).localname in names for element in record.iterancestors())
    record.clear(keep_tail=inside)
    for element in () if inside else (record, *record.iterancestors()):
        while element.getprevious() is not None:
            element.getparent().remove(element.getprevious())
