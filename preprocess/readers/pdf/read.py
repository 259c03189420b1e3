"""Reads PDF files with pypdfium2: the text of each page, and which pages are scans.

Memory is that of one page, and of the text. Embedded files are counted, scripts are never run.
"""

import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from preprocess.readers.content import Content, Scan
from preprocess.readers.pdf.hyphenation import LineJoiner
from preprocess.readers.pdf.layout import Page, columns_of
from preprocess.readers.pdf.paragraphs import paragraphs
from preprocess.readers.pdf.repeats import without_repeats
from preprocess.readers.pdf.runs import PageText
from preprocess.readers.read_log import CommandError, Fault

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

MISSING = "PDF files are read with pypdfium2; install it with `pip install 'alibert_fairseq[pdf]'`."
PASSWORD = ("a PDF with a password", "save it without one")
DAMAGED = ("a damaged PDF", "get the file again")
UNKNOWN_LOCK = ("a PDF with a protection that pypdfium2 does not know", "save it without protection")
WITHOUT_TEXT = ("a PDF without text (scanned)", "read its pictures with --ocr")
SCAN = ("a page without text (scanned)", "read its picture with --ocr")
BROKEN = ("a damaged page", "get the file again")
REPEATED = "repeated lines of headers and footers left out"
EMBEDDED = "files inside PDF files left out"

FEW = 50  # characters: a page with a large picture and no more is a scan with a stamp, as of a fax
LARGE = 0.5  # of the page: a picture that may be a scan
DRAWN = 300  # shapes on a page without text, whose letters may be among them
DOTS_PER_INCH, MOST_DOTS = 300, 20_000_000  # of the picture of a page; A4 has 8,700,000
POINTS_PER_INCH = 72


def read_pdf(data: bytes, with_scans: bool = False) -> Content:
    """The paragraphs, headings, items and table rows of a PDF in reading order; `with_scans` lists pages without text.

    Raises Fault when it has no text or cannot be read, CommandError without pypdfium2.
    """
    notes: Counter[str] = Counter()
    pages: list[Page] = []
    scans: list[int] = []
    unread: dict[int, tuple[str, str]] = {}
    with _opened(data) as document:
        notes[EMBEDDED] = max(0, document.count_attachments())
        for number, page in enumerate(_pages(document, range(len(document)))):
            text = _columns(page, notes) if page else []
            if page is None:
                unread[number] = BROKEN
            elif _is_scan(page, text) and with_scans:
                scans.append(number)
                text = []  # which is in the picture too
            elif _is_scan(page, text):
                unread[number] = SCAN
            pages.append(text)
    if len(unread) == len(pages) or not scans and not any(pages):
        raise Fault(*(DAMAGED if set(unread.values()) == {BROKEN} else WITHOUT_TEXT))
    content = _content(pages, notes, [(number, data) for number in scans])
    content.unread = [(f"page {number + 1}", *why) for number, why in unread.items()]
    return content


def picture_of(scan: Scan) -> bytes:
    """A page without text as PNG, in shades of grey. Raises Fault."""
    with _opened(scan.pdf) as document:
        for page in _pages(document, [scan.page]):
            if page:
                return _picture(page)
    raise Fault(*BROKEN)


def _content(pages: list[Page], notes: Counter[str], scanned: list[tuple[int, bytes]]) -> Content:
    joiner = LineJoiner([line.text for page in pages for column in page for line in column])
    kept, notes[REPEATED] = without_repeats(pages)
    found = paragraphs(kept)
    scans = [Scan(sum(paragraph.page < number for paragraph in found), number, pdf) for number, pdf in scanned]
    lines = [paragraph.text(joiner) for paragraph in found]
    return Content(lines, notes={kind: number for kind, number in notes.items() if number}, scans=scans)


@contextmanager
def _opened(data: bytes) -> Iterator["PdfDocument"]:
    try:
        import pypdfium2
        import pypdfium2.raw as pdfium
    except ImportError as error:
        raise CommandError(MISSING) from error
    faults = {pdfium.FPDF_ERR_PASSWORD: PASSWORD, pdfium.FPDF_ERR_SECURITY: UNKNOWN_LOCK}
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Fault(*faults.get(error.err_code, DAMAGED)) from error
    with closing(document):
        if not len(document):
            raise Fault(*DAMAGED)
        yield document


def _pages(document: "PdfDocument", numbers: Iterable[int]) -> Iterator["PdfPage | None"]:
    """The pages with these numbers, one open at a time; None for one that cannot be read."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    has_fields = document.get_formtype() == pdfium.FORMTYPE_ACRO_FORM
    if has_fields:
        document.init_forms()  # pdfium draws the values that the file does not show by itself
    for number in numbers:
        try:
            if has_fields:
                with closing(document[number]) as page:
                    page.flatten()  # the values of fields become text of the page
            page = document[number]
        except pypdfium2.PdfiumError:
            yield None
            continue
        with closing(page):
            yield page


def _columns(page: "PdfPage", notes: Counter[str]) -> Page:
    bounds = page.get_bbox()  # get_mediabox does not know the box that all pages share
    with closing(page.get_textpage()) as text:
        groups = PageText(text.raw, bounds, notes).runs(lambda: _has_large_picture(page))
    return [column for runs in groups for column in columns_of(runs)]


def _is_scan(page: "PdfPage", text: Page) -> bool:
    characters = sum(len(line.text) for column in text for line in column)
    if characters < FEW and _has_large_picture(page):
        return True
    return not characters and sum(1 for _ in islice(page.get_objects(), DRAWN)) == DRAWN


def _has_large_picture(page: "PdfPage") -> bool:
    import pypdfium2.raw as pdfium

    kinds = [pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM]
    size = page.get_width() * page.get_height()
    for drawn in page.get_objects(kinds, max_depth=1):
        left, bottom, right, top = drawn.get_bounds()
        if (right - left) * (top - bottom) > LARGE * size:
            return any(page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE]))
    return False


def _picture(page: "PdfPage") -> bytes:
    size = page.get_width() * page.get_height()
    scale = min(DOTS_PER_INCH / POINTS_PER_INCH, math.sqrt(MOST_DOTS / size))
    file = io.BytesIO()
    with closing(page.render(scale=scale, grayscale=True)) as bitmap:
        bitmap.to_pil().save(file, "PNG", compress_level=1)  # in a third of the time
    return file.getvalue()
