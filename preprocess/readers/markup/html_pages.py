"""Pages of HTML: the main text, a line for each block, without scripts, styles and navigation.

lxml, which is there for XML: on 5,000 random broken pages its parser loses the same words as a browser's, once the ends
of `body` and `html` are taken out, after which it would read no further.
"""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from lxml import html as lxml_html

from preprocess.documents.compression import open_bytes
from preprocess.documents.document import PATIENT, Document
from preprocess.documents.first_bytes import LOOKED_AT, check_text, wide_encoding
from preprocess.readers.dates import iso_date
from preprocess.readers.lines import LONGEST, NAMES
from preprocess.readers.markup.xml_records import count_without_field, texts
from preprocess.readers.markup.xml_text import Shape, line_of, lines_of
from preprocess.readers.options import ReadOptions
from preprocess.readers.read_log import Fault, ReadLog

HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
SKIPPED = frozenset(
    "head script style template noscript nav header footer button select svg math iframe object".split()
)
BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure form hr "
    "html legend li main ol p pre section summary table tbody td tfoot th thead title tr ul".split()
)
# A row that holds headings or a table is not one of data: old pages are laid out with tables.
PAGE = Shape(BLOCKS | HEADINGS, SKIPPED, frozenset({"pre"}), row="tr", inner=HEADINGS | {"table"})
DATES = " | ".join(
    f"//meta[translate(@{key}, 'DC', 'dc')='{name}']/@content"
    for key, name in (
        ("property", "article:published_time"), ("name", "citation_publication_date"), ("name", "dc.date"),
        ("name", "dcterms.date"), ("name", "dc.date.issued"), ("name", "date"),
    )
)  # fmt: skip
END_OF_PAGE = re.compile(rb"</(?:body|html)\s*>", re.IGNORECASE)
CHARSET = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,200}encoding=["']([\w.:-]+)""", re.IGNORECASE
)
# Pages that say Latin-1 or ASCII are in Windows-1252: the WHATWG's rule, which browsers follow.
AS_BROWSERS_DO = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def read_html(file: Path, options: ReadOptions, log: ReadLog) -> Iterator[Document]:
    """A page is a document: its <main> if it has one, else its body, or what the XPaths of `options` find."""
    page = read_page(file, options, log)
    if page is None:
        return
    count_without_field(page, options, log)
    main = page.findall(".//main")
    text = texts(page, options.text, PAGE) if options.text else lines_of(main[0] if len(main) == 1 else page, PAGE)
    title = page.find(".//title")
    metadata = {"title": "" if title is None else line_of(title, PAGE), "language": page.get("lang", "")}
    metadata |= {name: " ".join(texts(page, [path], PAGE)) for name, path in options.metadata.items()}
    metadata[PATIENT] = "".join(texts(page, [options.patient], PAGE)[:1])
    metadata = {key: value for key, value in metadata.items() if value}
    name, date = ("".join(texts(page, [path], PAGE)[:1]) for path in (options.id, options.date or DATES))
    yield Document(name or options.name, options.default_source, text, "", iso_date(date), metadata)


def read_page(file: Path, options: ReadOptions, log: ReadLog) -> etree._Element | None:
    """The tree of a page; None when it is empty, or refused."""
    with open_bytes(file, log) as handle:
        data = handle.read(LONGEST)
    check_text(file, data[:LOOKED_AT])
    with log.refusing(options, file, "the page"):
        text = decode_page(data, options)
        if nuls := text.count("\0"):
            log.note("NUL characters removed from HTML", nuls)
        page, fault = parse_page(text)
        if fault:
            raise fault
        return page
    return None


def decode_page(data: bytes, options: ReadOptions) -> str:
    """The characters of a page. The first that speaks decides: byte order mark, --encoding, what the page says of
    itself; a page that says nothing is UTF-8, or else Windows-1252. Raises Fault."""
    if len(data) == LONGEST:
        raise Fault(f"a page of more than {LONGEST // 1_000_000} MB", "divide it")
    mark = "utf-8" if data.startswith(codecs.BOM_UTF8) else wide_encoding(data[:LOOKED_AT])
    named = mark or (options.encoding and options.decoded_as("auto")) or _charset(data) or "auto"
    for encoding in ("utf-8", "cp1252") if named == "auto" else (named,):
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            last = error
    reason, detail = NAMES.get(last.encoding, last.encoding), f"byte {last.start + 1} is 0x{data[last.start]:02x}"
    raise Fault(f"not {reason}", "say which encoding it is with --encoding", detail)


def parse_page(text: str) -> tuple[etree._Element | None, Fault | None]:
    """The tree of a page or of a piece of one, None if there is nothing in it."""
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    data = END_OF_PAGE.sub(b"", text.replace("\0", "").encode("utf-8", "replace"))
    try:
        page = lxml_html.document_fromstring(data, parser=parser) if data.strip() else None
    except etree.ParserError:  # only comments
        page = None
    fatal = [entry.message for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL]
    return page, Fault("HTML that the parser gives up", "repair it", fatal[0].strip()) if fatal else None


def lines_of_page(text: str) -> list[str]:
    """The lines of a page, or of a piece of one, that another file holds. Raises Fault."""
    page, fault = parse_page(text)
    if fault:
        raise fault
    return [] if page is None else lines_of(page, PAGE)


def _charset(data: bytes) -> str:
    match = CHARSET.search(data[:4096])
    try:
        name = codecs.lookup((match[1] or match[2]).decode()).name if match else ""
        "a".encode(name or "utf-8")  # some codecs are of no text
    except (LookupError, UnicodeError):
        return ""
    if name in ("idna", "punycode"):  # of names of hosts, not of text
        return ""
    name = "utf-8" if name.startswith("utf-16") else name  # it could not have been read if it were UTF-16
    return AS_BROWSERS_DO.get(name, name)
